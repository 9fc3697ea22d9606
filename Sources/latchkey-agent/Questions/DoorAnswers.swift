import AgentQuestions
import Foundation
import LockFirmware
import LockProtocol

/// Answers about the bolt and the door.
extension QuestionDesk {
  func lock(_ question: DoorQuestion) async throws -> BoltAnswer {
    let door = app.name
    return try BoltAnswer(door: door, ofLocking: try await errand(.lock))
  }

  func door(_ question: DoorQuestion) async throws -> DoorAnswer {
    let door = app.name
    try await beginConversation()
    let report: LockStateReport
    do { report = try LockStateReport(decoding: try await ask(.state).body) } catch is LockMessageError {
      throw NoAnswer.unreadable
    }
    app.log.compare(report.head)
    if report.lastMovement != nil { try await learnNames() }
    let mode = try await mode()
    let alarms = try await alarms()
    let last = report.lastMovement.flatMap { try? LockRecord(decoding: $0) }
    return DoorAnswer(
      door: door, bolt: report.lockState.word, position: report.doorState.word, battery: report.battery.map(Int.init),
      lastMovement: last.map { RecordAnswer($0, own: app.publicKey, names) }, records: report.head.index,
      troubles: app.log.troubles, troubleTimes: app.log.troubleTimes, mode: mode, alarms: alarms)
  }

  /// The lock's operating mode, in the present conversation; `nil` if the lock, of an earlier version, does not tell it.
  private func mode() async throws -> String? {
    let reply = try await exchange(.mode)
    guard reply.status == .done, reply.body.count == 1 else { return nil }
    return OperatingMode(rawValue: reply.body[0]).map { "\($0)" } ?? "unknown"
  }

  /// What the lock raises the alarm about, in the present conversation; `nil` if the lock, of an earlier version, does not
  /// tell it.
  private func alarms() async throws -> [String]? {
    let reply = try await exchange(.alarms)
    guard reply.status == .done else { return nil }
    // An alarm that only a later version knows is reported as unknown, so that nobody is told that all is well.
    return reply.body.map { number in LockAlarm(rawValue: number).map { "\($0)" } ?? "unknown" }
  }
}

extension BoltAnswer {
  /// What a person is told who asked for the door to be locked.
  init(door: String, ofLocking answer: LockAnswer) throws(NoAnswer) {
    switch answer.result {
    case .done, .notNeeded: break
    case let result:
      throw NoAnswer(result.refusal ?? "\(answer.failure) Look at the door, and try again.")
    }
    guard answer.lockState != .notFullyLocked else {
      throw NoAnswer("The bolt stopped on its way; look at the door, and try again.")
    }
    guard answer.lockState == .locked else {
      throw NoAnswer("The lock locked the door as you asked, and the door has been unlocked since.")
    }
    self.init(door: door, answer)
  }

  init(door: String, _ answer: LockAnswer) {
    self.init(
      door: door, bolt: answer.lockState.word, position: answer.doorState.word, result: "\(answer.result)")
  }
}

extension RecordAnswer {
  /// A record that this phone can't read, for example of a newer lock, is reported as unknown, so that no record can be
  /// hidden.
  init(decoding bytes: [UInt8], own: [UInt8], _ names: [[UInt8]: String]) {
    if let record = try? LockRecord(decoding: bytes) {
      self.init(record, own: own, names)
    } else {
      let number = { bytes.count < $0 + 8 ? 0 : bytes[$0..<$0 + 8].reduce(0) { $0 << 8 | UInt64($1) } }
      self.init(
        index: number(8), unixSeconds: Int64(bitPattern: number(16)), kind: "unknown", bolt: "unknown",
        cause: "unknown", result: "unknown", by: nil, key: nil)
    }
  }

  /// - Parameters:
  ///   - own: this phone's public key.
  ///   - names: the names of other phones, by key.
  init(_ record: LockRecord, own: [UInt8], _ names: [[UInt8]: String]) {
    let isOfPhone = record.phone != LockRecord.nobody
    let key = record.phone.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let name = record.phone == own ? "this phone" : names[record.phone] ?? "phone \(key.prefix(8))"
    self.init(
      index: record.index, unixSeconds: record.unixSeconds, kind: "\(record.kind)", bolt: "\(record.target)",
      cause: Self.cause(record), result: "\(record.result)", by: isOfPhone ? name : nil,
      key: isOfPhone ? key : nil,
      clock: record.change == .clockSet ? Int64(bitPattern: record.operation) : nil)
  }
}

extension RecordAnswer {
  /// Why, or what the record is about.
  private static func cause(_ record: LockRecord) -> String {
    switch record.kind {
    case .movement, .outcome, .command: "\(record.cause)"
    case .alarm, .alarmCleared: LockAlarm(rawValue: record.detail).map { "\($0)" } ?? "unknown"
    case .mode: OperatingMode(rawValue: record.detail).map { "\($0)" } ?? "unknown"
    case .access: record.change.map { "\($0)" } ?? "unknown"
    }
  }
}

extension LockResult {
  /// Why the bolt did not move, for a person; `nil` if the lock knows no more than that.
  var refusal: String? {
    switch self {
    case .doorOpen: "The door is open: shut it first."
    case .busy: "The lock is busy; try again."
    case .insufficientBattery:
      "The lock's battery is too low to turn the bolt: change it, and use the key until then."
    case .restricted: "The lock's operating mode does not allow it; change the mode at the lock."
    case .outsideSchedule: "Your invitation does not count at this time."
    case .expired: "Your invitation is over."
    case .revoked: "Your invitation was revoked."
    case .usedUp: "Your invitation has been used as often as it may."
    case .clockUnknown:
      "The lock does not know the time, and your invitation depends on it: an owner's phone has to come by."
    case .notPermitted: "Your invitation does not allow that."
    case .tooManyGrants:
      "The lock counts the uses of as many invitations as it can: ask its owner for one with an end and no count."
    case .tooManyGuests:
      "As many guests are at the lock as it has room for: try again when one of them has gone."
    case .unrecognised:
      "The lock refuses that, for a reason that this phone does not know: the lock has a newer firmware."
    case .done, .notNeeded, .unknownOperation, .failed, .lockedAtHome, .somebodyInside: nil
    }
  }
}

extension LockAnswer {
  /// What a person is told about a turn that failed, of which the lock says where the bolt is now.
  var failure: String {
    switch lockState {
    case .notFullyLocked: "The lock says that its bolt stopped on its way: the door is neither locked nor unlocked."
    case .locked: "The lock says that it could not turn its bolt: the door is locked."
    case .unlocked: "The lock says that it could not turn its bolt: the door is unlocked."
    }
  }
}

extension LockState {
  /// As the command shows it.
  var word: String {
    switch self {
    case .locked: "locked"
    case .unlocked: "unlocked"
    case .notFullyLocked: "between"
    }
  }
}

extension DoorState {
  /// As the command shows it.
  var word: String { self == .closed ? "shut" : "open" }
}
