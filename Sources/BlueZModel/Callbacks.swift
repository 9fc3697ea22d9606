import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// Calls that bluetoothd made on clients' objects and that have no answer yet.
struct Callbacks: Sendable {
  private var next: UInt64 = 1
  private var open: [UInt64: Open] = [:]

  struct Open: Sendable {
    var client: ClientIdentifier
    var purpose: Purpose
    var deadline: Instant
    /// The peer whose request this serves has left.
    var isOrphaned = false
  }

  enum Purpose: Sendable {
    /// A peer's read or write.
    case attribute(LinkIdentifier, opcode: UInt8, AttributeHandle)
    /// An application's socket for its values to one peer, or for what that peer writes. Values that are written wait
    /// for it.
    case acquireNotify(AttributeHandle, LinkIdentifier)
    case acquireWrite(AttributeHandle, LinkIdentifier)
    /// An agent's decision on a pairing.
    case agent(LinkIdentifier)

    /// The attribute that the call is about.
    var handle: AttributeHandle? {
      switch self {
      case .attribute(_, _, let handle), .acquireNotify(let handle, _), .acquireWrite(let handle, _): handle
      case .agent: nil
      }
    }
  }

  func add(to deadlines: inout Deadlines) {
    for (identifier, call) in all(where: { _ in true }) { deadlines.add(call.deadline, .callback(identifier)) }
  }

  /// The calls that match a rule, in the order in which they were made.
  func all(where rule: (Open) -> Bool) -> [(identifier: UInt64, open: Open)] {
    open.filter { rule($0.value) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// An identifier for another call.
  mutating func draw() -> CallbackIdentifier {
    defer { next += 1 }
    return CallbackIdentifier(next)
  }

  /// Registers a call that is about to be made.
  mutating func await(_ client: ClientIdentifier, _ purpose: Purpose, until deadline: Instant) -> CallbackIdentifier {
    let identifier = draw()
    open[identifier.rawValue] = Open(client: client, purpose: purpose, deadline: deadline)
    return identifier
  }

  /// The call that a client answers. `nil` if it was not made to this client, or is no longer open.
  mutating func answered(_ identifier: CallbackIdentifier, by client: ClientIdentifier) -> Open? {
    guard let call = open[identifier.rawValue], call.client == client,
      // bluetoothd 5.82 does not accept an answer for a peer that left, and crashes when it is overdue (seen in
      // virtual machines).
      !call.isOrphaned
    else { return nil }
    return close(identifier.rawValue)
  }

  @discardableResult
  mutating func close(_ identifier: UInt64) -> Open? { open.removeValue(forKey: identifier) }

  /// The peer that a call was made for has left.
  mutating func orphan(_ identifier: UInt64) { open[identifier]?.isOrphaned = true }
}

/// A call on a client's object whose answer does not matter.
struct Notice: Sendable {
  var client: ClientIdentifier
  var path: ObjectPath
  var callback: Callback
}

extension BlueZModel {
  /// A call whose answer does not matter.
  mutating func callWithoutAnswer(_ client: ClientIdentifier, _ path: ObjectPath, _ callback: Callback) {
    flushChanges()
    outbox.append(.send(to: client, .callback(callbacks.draw(), path: path, callback)))
  }

  mutating func tell(_ notices: [Notice]) {
    for notice in notices { callWithoutAnswer(notice.client, notice.path, notice.callback) }
  }

  mutating func call(
    _ client: ClientIdentifier, _ path: ObjectPath, _ callback: Callback, _ purpose: Callbacks.Purpose,
    within limit: Duration
  ) -> UInt64 {
    flushChanges()
    let identifier = callbacks.await(client, purpose, until: now + limit)
    outbox.append(.send(to: client, .callback(identifier, path: path, callback)))
    return identifier.rawValue
  }

  /// Asks an application on behalf of a peer.
  mutating func ask(
    _ client: ClientIdentifier, _ path: ObjectPath, _ callback: Callback, for opcode: UInt8,
    _ handle: AttributeHandle, on link: LinkIdentifier
  ) {
    let identifier = call(
      client, path, callback, .attribute(link, opcode: opcode, handle), within: configuration.timings.application)
    links[link]?.server.pending = ATTServing.PendingRequest(callback: identifier, opcode: opcode, handle: handle)
  }

  mutating func callbackAnswered(
    _ callback: CallbackIdentifier, _ result: Result<CallbackReply, BlueZError>, by client: ClientIdentifier
  ) {
    guard let open = callbacks.answered(callback, by: client) else {
      // A socket that comes too late is closed.
      if case .success(.channel(let descriptor, _)) = result {
        outbox.append(.channel(.close(ChannelIdentifier(given: descriptor))))
      }
      return
    }
    settle(open, result)
  }

  /// - Parameter isOverdue: there was no answer in time.
  private mutating func settle(
    _ open: Callbacks.Open, _ result: Result<CallbackReply, BlueZError>, isOverdue: Bool = false
  ) {
    switch open.purpose {
    case .agent(let link): agentAnswered(link, result)
    case .acquireNotify(let handle, let link): notifyAcquired(handle, link, result)
    case .acquireWrite(let handle, let link): writeAcquired(handle, link, result, isOverdue: isOverdue)
    case .attribute(let link, let opcode, let handle):
      guard links[link] != nil else { return }
      let piece = links[link]?.server.pending?.piece
      links[link]?.server.pending = nil
      switch result {
      case .failure(let error):
        send(.errorResponse(request: opcode, handle: handle, error: error.attError(forRead: opcode < 0x12)), on: link)
      case .success(let reply):
        switch opcode {
        case 0x12: send(.writeResponse, on: link)
        case 0x16: if let piece { preparationAllowed(piece, on: link) }
        case 0x18: send(.executeWriteResponse, on: link)
        default:
          guard case .bytes(let value) = reply else {
            return send(.errorResponse(request: opcode, handle: handle, error: .requestNotSupported), on: link)
          }
          // bluetoothd cuts what is too long.
          sendRead(opcode, Array(value.prefix(ATTLimits.maximumValueLength)), on: link)
        }
      }
    }
  }

  mutating func callbackTimedOut(_ callback: CallbackIdentifier) {
    guard let open = callbacks.close(callback.rawValue) else { return }
    if open.isOrphaned {
      stop(.crashed)
    } else {
      settle(open, .failure(BlueZError(.noReply, "")), isOverdue: true)
    }
  }

  /// The peer left before its request was answered. With the quirk, bluetoothd crashes when the answer is overdue.
  mutating func peerLeft(waitingFor callback: UInt64) {
    if configuration.quirks.crashesOnUnansweredRequest {
      callbacks.orphan(callback)
    } else {
      callbacks.close(callback)
    }
  }

  /// A client left, so its open calls are answered on its behalf.
  mutating func dropCallbacks(of client: ClientIdentifier) {
    for (identifier, open) in callbacks.all(where: { $0.client == client }) {
      callbacks.close(identifier)
      settle(open, .failure(.notSupported))
    }
  }

  /// A service leaves the database while peers wait for its values.
  mutating func answerPeers(waitingFor service: LocalService) {
    for (identifier, open) in callbacks.all(where: { $0.purpose.handle.map(service.range.contains) ?? false }) {
      callbacks.close(identifier)
      settle(open, .failure(.notSupported))
    }
  }
}

extension BlueZError {
  /// The ATT error that bluetoothd derives from an application's D-Bus error (src/gatt-database.c).
  func attError(forRead isRead: Bool) -> ATTError {
    switch name {
    case "org.bluez.Error.Failed":
      // An application may name an application error code in the message. Any other number is an error of its own.
      guard let code = message.integer else { return ATTError(rawValue: 0x80) }
      return (0x80...0x9F).contains(code) ? ATTError(rawValue: UInt8(code)) : .unlikelyError
    case "org.bluez.Error.InProgress": return .procedureAlreadyInProgress
    case "org.bluez.Error.ImproperlyConfigured": return .improperlyConfigured
    case "org.bluez.Error.NotSupported": return .requestNotSupported
    case "org.bluez.Error.NotAuthorized": return .insufficientAuthorization
    case "org.bluez.Error.InvalidValueLength": return .invalidAttributeValueLength
    case "org.bluez.Error.InvalidOffset": return .invalidOffset
    case "org.bluez.Error.NotPermitted": return isRead ? .readNotPermitted : .writeNotPermitted
    default: return .unlikelyError
    }
  }
}

extension String {
  /// The text as C's `strtol` reads it, with any base, if it is a number as a whole. An empty text is 0.
  fileprivate var integer: Int64? {
    var digits = self[...].drop { $0.isWhitespace && $0.isASCII }
    let isNegative = digits.first == "-"
    if isNegative || digits.first == "+" { digits = digits.dropFirst() }
    guard !digits.isEmpty else { return isEmpty ? 0 : nil }
    var radix = 10
    if digits.hasPrefix("0x") || digits.hasPrefix("0X") {
      radix = 16
      digits = digits.dropFirst(2)
    } else if digits.first == "0" {
      radix = 8
    }
    guard digits.allSatisfy({ $0.isASCII && Int(String($0), radix: radix) != nil }), !digits.isEmpty else { return nil }
    // A number that is too large is out of every range.
    let number = Int64(digits, radix: radix) ?? .max
    return isNegative ? -number : number
  }
}
