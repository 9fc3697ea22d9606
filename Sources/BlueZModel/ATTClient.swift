import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// The client half of a link: one transaction at a time (Bluetooth Core, Vol 3, Part F, 3.3.2).
struct ATTClient: Sendable {
  var queue: [Operation] = []
  var current: Operation?
  /// When an unanswered transaction ends the link.
  var deadline: Instant?
  /// The current operation was refused for lack of security, and will be repeated once the link is secure.
  var awaitsSecurity = false
  var exploration: Exploration?
  /// What the peer said has changed while an exploration was running. It is explored next.
  var pendingExploration: ClosedRange<AttributeHandle>?
  /// Whether a request repeated after pairing was refused again.
  var hasRetried = false

  enum Operation: Sendable {
    case exchangeMTU(Int)
    case readServerFeatures
    case readDatabaseHash
    case refreshDatabaseHash
    case writeClientFeatures(AttributeHandle)
    case subscribeToServiceChanged(AttributeHandle)
    case explore(Exploration.Step)
    case readName(AttributeHandle)
    case readPlugAndPlay(AttributeHandle)
    case readBattery(AttributeHandle)
    case read(ReadOperation)
    case write(WriteOperation)
    case configure(ConfigureOperation)

    /// Whether a client on the bus waits for it.
    var isOfClient: Bool {
      switch self {
      case .read, .write: true
      default: false
      }
    }
  }

  struct ReadOperation: Sendable {
    /// The calls that asked for the same bytes before the answer came. The answer goes to all of them.
    var callers: [PendingCall]
    var path: ObjectPath
    var handle: AttributeHandle
    var offset: Int
    var collected: [UInt8] = []
    var isContinued = false
  }

  struct WriteOperation: Sendable {
    var caller: PendingCall
    var path: ObjectPath
    var handle: AttributeHandle
    var value: [UInt8]
    /// A long write goes out in pieces. This is the offset of the next one, within the attribute.
    var offset: Int
    var isLong: Bool
    /// The bytes of the present piece. bluetoothd makes the first piece when the write is queued.
    var piece: Int
    var written = 0
    var isExecuting = false
    var failure: ATTError?
  }

  /// Writes a Client Characteristic Configuration.
  struct ConfigureOperation: Sendable {
    var path: ObjectPath
    var valueHandle: AttributeHandle
    var handle: AttributeHandle
    var value: UInt16
  }
}

/// The rules of the queue.
extension ATTClient {
  mutating func enqueue(_ operations: [Operation], first: Bool) {
    queue.insert(contentsOf: operations, at: first ? 0 : queue.count)
  }

  /// The next operation to begin, or `nil` if one is under way or none is waiting.
  mutating func startNext() -> Operation? {
    guard current == nil, !queue.isEmpty else { return nil }
    current = queue.removeFirst()
    hasRetried = false
    return current
  }

  /// The current operation needs another request. bluetoothd lets clients' requests in between the steps of its own
  /// discovery, instead of queueing them behind all of it. Returns the operation to send next.
  mutating func goOn(with step: Operation) -> Operation? {
    current = step
    if case .explore = step, let index = queue.firstIndex(where: { $0.isOfClient }) {
      current = queue.remove(at: index)
      queue.insert(step, at: 0)
      hasRetried = false
    }
    return current
  }

  /// The operation that was refused for lack of security, to be repeated, or `nil`.
  mutating func retry() -> Operation? {
    guard awaitsSecurity, let current else { return nil }
    awaitsSecurity = false
    hasRetried = true
    return current
  }

  /// Gives up the operation that waits for security, because a pairing has failed.
  mutating func giveUpOnSecurity() {
    guard awaitsSecurity else { return }
    current = nil
    awaitsSecurity = false
  }

  var all: [Operation] { [current].compactMap(\.self) + queue }

  /// Adds the caller to a read of this attribute that is under way, if that read is of the same bytes. The caller then
  /// gets its answer as well.
  mutating func joinRead(_ path: ObjectPath, offset: Int, _ caller: PendingCall) -> JoinedRead {
    func joined(_ operation: Operation) -> (JoinedRead, Operation) {
      guard case .read(var read) = operation, read.path == path else { return (.none, operation) }
      guard read.offset == offset else { return (.ofOtherBytes, operation) }
      read.callers.append(caller)
      return (.joined, .read(read))
    }
    if let current {
      let (found, operation) = joined(current)
      if found != .none {
        self.current = operation
        return found
      }
    }
    for index in queue.indices {
      let (found, operation) = joined(queue[index])
      if found != .none {
        queue[index] = operation
        return found
      }
    }
    return .none
  }

  enum JoinedRead { case none, joined, ofOtherBytes }

  func isWriting(_ path: ObjectPath) -> Bool {
    all.contains { if case .write(let write) = $0 { write.path == path } else { false } }
  }
}

extension ATTClient.Operation {
  var question: ATTPDU {
    switch self {
    case .exchangeMTU(let mtu): .exchangeMTURequest(UInt16(mtu))
    case .readServerFeatures: .readByTypeRequest(start: 1, end: 0xFFFF, type: WellKnownUUID.serverFeatures)
    case .readDatabaseHash, .refreshDatabaseHash:
      .readByTypeRequest(start: 1, end: 0xFFFF, type: WellKnownUUID.databaseHash)
    // Robust caching (Vol 3, Part G, 7.2).
    case .writeClientFeatures(let handle): .writeRequest(handle, [0x01])
    case .subscribeToServiceChanged(let handle): .writeRequest(handle, [0x02, 0x00])
    case .explore(let step): step.question
    case .readName(let handle), .readPlugAndPlay(let handle), .readBattery(let handle): .readRequest(handle)
    case .read(let read):
      read.offset == 0 && !read.isContinued
        ? .readRequest(read.handle)
        : .readBlobRequest(read.handle, offset: UInt16(truncatingIfNeeded: read.offset + read.collected.count))
    case .write(let write):
      if !write.isLong {
        .writeRequest(write.handle, write.value)
      } else if write.isExecuting {
        .executeWriteRequest(commit: write.failure == nil)
      } else {
        .prepareWriteRequest(
          write.handle, offset: UInt16(truncatingIfNeeded: write.offset + write.written),
          Array(write.value.dropFirst(write.written).prefix(write.piece)))
      }
    case .configure(let configure): .writeRequest(configure.handle, [UInt8(configure.value), 0])
    }
  }
}

extension ATTError {
  fileprivate var asksForSecurity: Bool { self == .insufficientAuthentication || self == .insufficientEncryption }
}

extension BlueZModel {
  mutating func enqueue(_ operations: [ATTClient.Operation], on link: LinkIdentifier, first: Bool = false) {
    links[link]?.client.enqueue(operations, first: first)
    startNextTransaction(link)
  }

  mutating func startNextTransaction(_ identifier: LinkIdentifier) {
    guard let operation = links[identifier]?.client.startNext() else { return }
    ask(operation, on: identifier)
  }

  private mutating func ask(_ operation: ATTClient.Operation, on identifier: LinkIdentifier) {
    guard links[identifier] != nil else { return }
    links[identifier]?.client.deadline = now + configuration.timings.transaction
    send(operation.question, on: identifier)
  }

  mutating func transactionAnswered(_ pdu: ATTPDU, on identifier: LinkIdentifier) {
    guard let client = links[identifier]?.client, let operation = client.current, !client.awaitsSecurity else { return }
    links[identifier]?.client.deadline = nil
    if case .errorResponse(_, _, .insufficientAuthentication) = pdu, links[identifier]?.isEncrypted == true,
      operation.isOfClient
    {
      return failAuthentication(identifier)
    }
    if case .errorResponse(_, _, let error) = pdu, error.asksForSecurity, !client.hasRetried,
      raiseSecurity(identifier)
    {
      links[identifier]?.client.awaitsSecurity = true
      return
    }
    let again = finish(operation, with: pdu, on: identifier)
    guard links[identifier] != nil else { return }
    if let again {
      if let next = links[identifier]?.client.goOn(with: again) { ask(next, on: identifier) }
    } else {
      links[identifier]?.client.current = nil
      startNextTransaction(identifier)
    }
  }

  /// The peer requires an authenticated key, and the link's key was made by Just Works. bluetoothd has the kernel
  /// pair again, which fails if no user can compare numbers: the link ends, and the caller is never answered.
  private mutating func failAuthentication(_ identifier: LinkIdentifier) {
    links[identifier]?.client.current = nil
    tell(.disconnect(configuration.controller, identifier, .authenticationFailure))
    endLink(identifier, .authenticationFailure)
  }

  /// The link is now encrypted, so the refused operation is repeated.
  mutating func askAgain(_ identifier: LinkIdentifier) {
    if let operation = links[identifier]?.client.retry() { ask(operation, on: identifier) }
  }

  /// Handles an answer. Returns the next step of the same operation, if there is one.
  private mutating func finish(
    _ operation: ATTClient.Operation, with pdu: ATTPDU, on identifier: LinkIdentifier
  ) -> ATTClient.Operation? {
    switch operation {
    case .exchangeMTU:
      if case .exchangeMTUResponse(let mtu) = pdu {
        setMTU(mtu, on: identifier)
      } else {
        setMTU(UInt16(ATTLimits.defaultMTU), on: identifier)
      }
      mtuExchanged(on: identifier)
    case .readServerFeatures, .writeClientFeatures, .subscribeToServiceChanged: break
    case .readDatabaseHash: databaseHashArrived(pdu, on: identifier)
    case .refreshDatabaseHash: refreshedHashArrived(pdu, on: identifier)
    case .explore(let step): return explored(step, pdu, on: identifier)
    case .readName: nameArrived(pdu, on: identifier)
    case .readPlugAndPlay: plugAndPlayArrived(pdu, on: identifier)
    case .readBattery: batteryArrived(pdu, on: identifier)
    case .read(let read): return readAnswered(read, pdu, on: identifier)
    case .write(let write): return writeAnswered(write, pdu, on: identifier)
    case .configure(let configure): configured(configure, pdu, on: identifier)
    }
    return nil
  }

  mutating func setMTU(_ peer: UInt16, on identifier: LinkIdentifier) {
    let mtu = min(max(Int(peer), ATTLimits.defaultMTU), manners.mtu)
    links[identifier]?.isOfAnotherKind = mtu < ATTLimits.maximumMTU
    guard let link = links[identifier], link.mtu != mtu else { return }
    links[identifier]?.mtu = mtu
    linkShowsMTU(link.device)
  }

  /// The property MTU of a peer's characteristics has changed. Real bluetoothd never sends a signal for this change
  /// (seen on 247 links of 247): it registers for changes only once, when it makes the object, with the link that
  /// exists then. So the change is `unannounced`.
  mutating func linkShowsMTU(_ device: ObjectPath) {
    guard isRunning, let database = devices[device]?.database, devices[device]?.isExported == true else { return }
    var shown = PropertyValues<GattCharacteristic1>()
    shown.mtu = attachedLink(of: device).flatMap { links[$0]?.mtu }
    let gone = shown.mtu == nil ? [GattCharacteristic1.name(\.mtu)] : []
    for service in database.services {
      for characteristic in service.characteristics {
        outbox.append(
          .unannounced(
            .propertiesChanged(
              path: characteristic.path(under: service.path(under: device)), interface: GattCharacteristic1.interface,
              changed: shown.all, invalidated: gone)))
      }
    }
  }

  /// The link is gone. Every open read, write and subscription fails as it does in bluetoothd.
  mutating func failTransactions(of link: Link) {
    for operation in link.client.all {
      switch operation {
      case .read(let read): for caller in read.callers { reply(to: caller, .failure(.attError(.unlikelyError))) }
      case .write(let write): reply(to: write.caller, .failure(.attError(.unlikelyError)))
      case .configure(let configure): failSubscription(configure, of: link.device, .attError(.unlikelyError))
      default: break
      }
    }
  }
}

extension BlueZError {
  /// bluetoothd's D-Bus error for a peer's ATT error (src/gatt-client.c).
  static func fromATT(_ error: ATTError) -> BlueZError {
    switch error {
    case .readNotPermitted: notPermitted("Read not permitted")
    case .writeNotPermitted: notPermitted("Write not permitted")
    case .insufficientAuthentication, .insufficientEncryption, .insufficientEncryptionKeySize:
      notPermitted("Not paired")
    case .invalidOffset: invalidArguments("Invalid offset")
    case .invalidAttributeValueLength: invalidArguments("Invalid Length")
    case .insufficientAuthorization: notAuthorized
    case .requestNotSupported: notSupported
    default: attError(error)
    }
  }
}
