import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// The server half of a link.
struct ATTServing: Sendable {
  /// The request that an application has not answered yet.
  var pending: PendingRequest?
  /// The queue of Prepare Write.
  var prepared: [Piece] = []
  var indications = Indications()

  struct PendingRequest: Sendable {
    var callback: UInt64
    var opcode: UInt8
    var handle: AttributeHandle
    /// For a Prepare Write.
    var piece: Piece?
  }

  struct Piece: Sendable {
    var handle: AttributeHandle
    var offset: Int
    var value: [UInt8]
  }

  /// More pieces than any value needs.
  static let preparedLimit = 64
}

extension BlueZModel {
  mutating func serve(_ pdu: ATTPDU, on identifier: LinkIdentifier) {
    guard let link = links[identifier] else { return }
    // A peer that sends a request before the last one is answered breaks the protocol and gets no second answer.
    guard link.server.pending == nil else {
      outbox.append(.diagnostic(.malformedPDU(device: link.device)))
      return
    }
    switch pdu {
    case .exchangeMTURequest(let mtu):
      send(.exchangeMTUResponse(UInt16(manners.mtu)), on: identifier)
      setMTU(mtu, on: identifier)
    case .readByGroupTypeRequest, .readByTypeRequest, .findInformationRequest:
      let reader = DatabaseReader(
        database: server.database, mtu: link.mtu, name: adapterName,
        configurations: server.configurations[link.device] ?? [:])
      send(reader.answer(pdu), on: identifier)
    case .readRequest(let handle): serveRead(pdu, handle, offset: 0, on: identifier)
    case .readBlobRequest(let handle, let offset): serveRead(pdu, handle, offset: offset, on: identifier)
    case .writeRequest(let handle, let value): serveWrite(pdu, handle, value, on: identifier)
    case .prepareWriteRequest(let handle, let offset, let value):
      servePrepare(pdu, handle, Int(offset), value, on: identifier)
    case .executeWriteRequest(let commit): serveExecute(pdu, commit, on: identifier)
    default: refuse(pdu, 0, .requestNotSupported, on: identifier)
    }
  }

  private mutating func refuse(_ pdu: ATTPDU, _ handle: AttributeHandle, _ error: ATTError, on link: LinkIdentifier) {
    send(pdu.refused(handle, error), on: link)
  }

  private func security(of identifier: LinkIdentifier) -> LinkSecurity? {
    guard let link = links[identifier] else { return nil }
    let bond = devices[link.device]?.bond
    let isAuthenticated = link.pairing?.isAuthenticated ?? bond?.isAuthenticated ?? link.isAuthenticated
    return LinkSecurity(isEncrypted: link.isEncrypted, isAuthenticated: link.isEncrypted && isAuthenticated)
  }

  // MARK: Values

  private mutating func serveRead(
    _ pdu: ATTPDU, _ handle: AttributeHandle, offset: UInt16, on link: LinkIdentifier
  ) {
    guard let attribute = server.database.attribute(handle) else {
      return refuse(pdu, handle, .invalidHandle, on: link)
    }
    if let error = attribute.readError(security(of: link)) ?? chosenError(attribute, .read) {
      return refuse(pdu, handle, error, on: link)
    }
    guard case .application(let client, let path) = attribute.source else {
      let reader = DatabaseReader(
        database: server.database, mtu: links[link]?.mtu ?? ATTLimits.defaultMTU, name: adapterName,
        configurations: links[link].flatMap { server.configurations[$0.device] } ?? [:])
      let value = reader.builtInValue(attribute) ?? []
      guard Int(offset) <= value.count else { return refuse(pdu, handle, .invalidOffset, on: link) }
      return sendRead(pdu.opcode, Array(value.dropFirst(Int(offset))), on: link)
    }
    let request = remoteRequest(on: link, offset: offset)
    ask(client, path, .readValue(request), for: pdu.opcode, handle, on: link)
  }

  mutating func sendRead(_ opcode: UInt8, _ value: [UInt8], on link: LinkIdentifier) {
    let piece = Array(value.prefix((links[link]?.mtu ?? ATTLimits.defaultMTU) - 1))
    send(opcode == 0x0C ? .readBlobResponse(piece) : .readResponse(piece), on: link)
  }

  private mutating func serveWrite(
    _ pdu: ATTPDU, _ handle: AttributeHandle, _ value: [UInt8], on link: LinkIdentifier
  ) {
    guard let attribute = server.database.attribute(handle) else {
      return refuse(pdu, handle, .invalidHandle, on: link)
    }
    if let error = attribute.writeError(security(of: link)) ?? chosenError(attribute, .write) {
      return refuse(pdu, handle, error, on: link)
    }
    guard value.count <= ATTLimits.maximumValueLength else {
      return refuse(pdu, handle, .invalidAttributeValueLength, on: link)
    }
    switch attribute.source {
    case .application(let client, let path):
      let request = remoteRequest(on: link)
      if attribute.givesWriteChannel {
        return writeThroughChannel(
          attribute, AwaitingWrite(link: link, value: value, request: request, opcode: pdu.opcode))
      }
      // Seen on bluetoothd: if the value may also be written without a response, bluetoothd does not wait for the
      // application, so the write can't be refused.
      if attribute.properties.contains(.writeWithoutResponse) {
        send(.writeResponse, on: link)
        callWithoutAnswer(client, path, .writeValue(value, request))
      } else {
        ask(client, path, .writeValue(value, request), for: pdu.opcode, handle, on: link)
      }
    case .configuration(let of):
      guard value.count == 2 else { return refuse(pdu, handle, .invalidAttributeValueLength, on: link) }
      send(.writeResponse, on: link)
      configure(of, UInt16(value[1]) << 8 | UInt16(value[0]), on: link)
    case .clientFeatures: send(.writeResponse, on: link)
    case .fixed, .deviceName, .databaseHash: refuse(pdu, handle, .writeNotPermitted, on: link)
    }
  }

  mutating func serveCommand(_ pdu: ATTPDU, on link: LinkIdentifier) {
    // bluetoothd does not check whether the characteristic allows commands.
    guard case .writeCommand(let handle, let value) = pdu, let attribute = server.database.attribute(handle),
      attribute.writeError(security(of: link)) == nil, chosenError(attribute, .write) == nil,
      value.count <= ATTLimits.maximumValueLength, case .application(let client, let path) = attribute.source
    else { return }
    let request = remoteRequest(on: link)
    if attribute.givesWriteChannel {
      return writeThroughChannel(attribute, AwaitingWrite(link: link, value: value, request: request))
    }
    callWithoutAnswer(client, path, .writeValue(value, request))
  }

  func remoteRequest(on link: LinkIdentifier, offset: UInt16 = 0) -> RemoteRequest {
    RemoteRequest(
      device: links[link]?.device ?? adapterPath, offset: offset,
      mtu: UInt16(links[link]?.mtu ?? ATTLimits.defaultMTU))
  }

  // MARK: Long writes

  private mutating func servePrepare(
    _ pdu: ATTPDU, _ handle: AttributeHandle, _ offset: Int, _ value: [UInt8], on link: LinkIdentifier
  ) {
    guard let attribute = server.database.attribute(handle) else {
      return refuse(pdu, handle, .invalidHandle, on: link)
    }
    if let error = attribute.writeError(security(of: link)) ?? chosenError(attribute, .write) {
      return refuse(pdu, handle, error, on: link)
    }
    guard let prepared = links[link]?.server.prepared, prepared.count < ATTServing.preparedLimit else {
      return refuse(pdu, handle, .prepareQueueFull, on: link)
    }
    guard offset + value.count <= ATTLimits.maximumValueLength else {
      return refuse(pdu, handle, .invalidAttributeValueLength, on: link)
    }
    guard attribute.permissions.contains(.preparationAuthorized), !server.authorizedPreparations.contains(handle),
      case .application(let client, let path) = attribute.source,
      links[link].flatMap({ devices[$0.device] })?.isTrusted == false
    else { return prepare(handle, offset, value, on: link) }
    var request = remoteRequest(on: link, offset: UInt16(offset))
    request.isPreparation = true
    // The application is asked without the value. The whole value follows when all pieces have arrived.
    if attribute.properties.contains(.writeWithoutResponse) {
      callWithoutAnswer(client, path, .writeValue([], request))
      prepare(handle, offset, value, on: link)
    } else {
      ask(client, path, .writeValue([], request), for: pdu.opcode, handle, on: link)
      links[link]?.server.pending?.piece = ATTServing.Piece(handle: handle, offset: offset, value: value)
    }
  }

  private mutating func prepare(_ handle: AttributeHandle, _ offset: Int, _ value: [UInt8], on link: LinkIdentifier) {
    links[link]?.server.prepared.append(ATTServing.Piece(handle: handle, offset: offset, value: value))
    send(.prepareWriteResponse(handle, offset: UInt16(offset), value), on: link)
  }

  /// The application accepts a long write to this value: this piece, and the pieces that follow.
  mutating func preparationAllowed(_ piece: ATTServing.Piece, on link: LinkIdentifier) {
    server.authorizedPreparations.insert(piece.handle)
    prepare(piece.handle, piece.offset, piece.value, on: link)
  }

  private mutating func serveExecute(_ pdu: ATTPDU, _ commit: Bool, on link: LinkIdentifier) {
    guard let prepared = links[link]?.server.prepared else { return }
    links[link]?.server.prepared = []
    for piece in prepared { server.authorizedPreparations.remove(piece.handle) }
    guard commit, let first = prepared.first else { return send(.executeWriteResponse, on: link) }
    // Pieces must belong to one value and join without gaps.
    var value: [UInt8] = []
    for piece in prepared {
      guard piece.handle == first.handle, piece.offset == first.offset + value.count else {
        return refuse(pdu, piece.handle, .invalidOffset, on: link)
      }
      value += piece.value
    }
    guard let attribute = server.database.attribute(first.handle),
      case .application(let client, let path) = attribute.source
    else { return refuse(pdu, first.handle, .writeNotPermitted, on: link) }
    if attribute.givesWriteChannel {
      // The offset of the first piece gets lost here, even if the application then gives no socket and gets a method
      // call (`acquire_write`).
      return writeThroughChannel(
        attribute, AwaitingWrite(link: link, value: value, request: remoteRequest(on: link), opcode: pdu.opcode))
    }
    let request = remoteRequest(on: link, offset: UInt16(first.offset))
    // The application is not waited for, as with a write in one piece.
    if attribute.properties.contains(.writeWithoutResponse) {
      send(.executeWriteResponse, on: link)
      callWithoutAnswer(client, path, .writeValue(value, request))
    } else {
      ask(client, path, .writeValue(value, request), for: pdu.opcode, first.handle, on: link)
    }
  }

  /// The link is gone. If an application still owes an answer and the quirk is on, bluetoothd crashes when that answer
  /// is overdue (`peerLeft`).
  mutating func endServing(_ link: Link) {
    if let pending = link.server.pending { peerLeft(waitingFor: pending.callback) }
    if devices[link.device]?.bond == nil {
      server.configurations[link.device] = nil
      refreshServerSubscriptions(hasLeft: true)
    }
    closeChannels(ofPeer: link.identifier)
  }
}
