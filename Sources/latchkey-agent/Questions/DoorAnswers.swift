import AgentQuestions
import Foundation
import LockFirmware
import LockProtocol

/// Answers about the bolt and the door.
extension QuestionDesk {
  func lock(_ question: DoorQuestion) async throws -> BoltAnswer {
    let door = try app.door(named: question.door)
    let answer = try await errand(.lock)
    switch answer.result {
    case .done, .notNeeded: break
    case .doorOpen: throw NoAnswer("The door is open: shut it first.")
    case .busy: throw NoAnswer("The lock is busy; try again.")
    case .insufficientBattery:
      throw NoAnswer("The lock's battery is too low to turn the bolt: change it, and lock by hand until then.")
    case .restricted:
      throw NoAnswer("The lock's operating mode does not allow it; change the mode at the lock.")
    case .failed, .unknownOperation, .lockedAtHome, .somebodyInside:
      throw NoAnswer("The lock says that its bolt did not move; look at the door, and try again.")
    }
    guard answer.lockState != .notFullyLocked else {
      throw NoAnswer("The bolt stopped on its way; look at the door, and try again.")
    }
    return BoltAnswer(door: door, answer)
  }

  func door(_ question: DoorQuestion) async throws -> DoorAnswer {
    let door = try app.door(named: question.door)
    try await beginConversation()
    let report: LockStateReport
    do { report = try LockStateReport(decoding: try await ask(.state).body) } catch is LockMessageError {
      throw NoAnswer.olderLock
    }
    app.log.compare(report.head)
    let last = report.lastMovement.flatMap { try? LockRecord(decoding: $0) }
    return DoorAnswer(
      door: door, bolt: report.lockState.word, position: report.doorState.word, battery: report.battery.map(Int.init),
      lastMovement: last.map { RecordAnswer($0, own: app.publicKey) }, records: report.head.index,
      troubles: app.log.troubles)
  }
}

extension BoltAnswer {
  init(door: String, _ answer: LockAnswer) {
    self.init(
      door: door, bolt: answer.lockState.word, position: answer.doorState.word, result: "\(answer.result)")
  }
}

extension RecordAnswer {
  /// - Parameter own: this phone's public key.
  init(_ record: LockRecord, own: [UInt8]) {
    let isOfPhone = record.phone != LockRecord.nobody
    let key = record.phone.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let name = record.phone == own ? "this phone" : "phone \(key.prefix(8))"
    self.init(
      index: record.index, unixSeconds: record.unixSeconds, kind: "\(record.kind)", bolt: "\(record.target)",
      cause: "\(record.cause)", result: "\(record.result)", by: isOfPhone ? name : nil, key: isOfPhone ? key : nil)
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
