import CoreBluetooth
import Foundation
import Journal
import JournalEvents
import LockProtocol
import Logging

/// What this phone has seen of its lock's log. It is stored so that a log that was cut or changed is noticed, whoever
/// did that and whenever.
struct SeenLogState: Equatable {
  /// The newest end that was seen.
  var head: LogHead?
  /// The log's length according to the lock's latest answer; 0 if there was none.
  var answered: UInt64 = 0
  /// What was found to be wrong, each with its time, oldest first.
  var troubles: [Trouble] = []

  struct Trouble: Equatable {
    var text: String
    var unixSeconds: Double
  }

  static let troubleLimit = 8
}

/// Compares what the lock says of its log with what was seen of it.
@MainActor final class SeenLog {
  private let store: AgentStore
  private let logger: Logger
  private let alert: AgentAlert
  private let now: () -> Double

  init(_ store: AgentStore, logger: Logger, door: String = AgentApp.doorName, now: @escaping () -> Double) {
    self.store = store
    alert = AgentAlert(door: door, reason: .log)
    self.logger = logger
    self.now = now
  }

  var seen: LogHead? { store.state.log.head }

  /// What is wrong, for a person.
  var troubles: [String] { store.state.log.troubles.map(\.text) }
  /// When each was found.
  var troubleTimes: [Double] { store.state.log.troubles.map(\.unixSeconds) }

  /// Every answer says how long the log is.
  func compare(index: UInt64) {
    let before = store.state.log.answered
    // An arrival does not wait for the disk.
    store.note { $0.log.answered = index }
    if isShorter(index) || index >= before { return }
    isBroken("it ends with record \(index), and this phone has heard of record \(before): its end was cut off")
  }

  /// - Returns: whether the log is shorter than this phone has seen it. If so, the user is told.
  private func isShorter(_ index: UInt64) -> Bool {
    guard let seen, index < seen.index else { return false }
    isBroken("it ends with record \(index), and this phone has seen record \(seen.index): its end was cut off")
    return true
  }

  /// Compares the log's end, or an earlier point of it, with what was seen. The lock may have reported it before its
  /// latest answer.
  func compare(_ head: LogHead) {
    if isShorter(head.index) { return }
    guard let seen, seen.index == head.index, seen.hash != head.hash else { return }
    isBroken("record \(seen.index) or one before it is not the one that this phone has seen: the log was changed")
  }

  /// Reports records that were lost because the lock keeps only a limited number.
  func noteGap(oldest: UInt64) {
    guard let seen, seen.index > 0, oldest > seen.index + 1 else { return }
    isBroken("records \(seen.index + 1) to \(oldest - 1) were not read in time, and are not in the lock any more")
  }

  /// From now on the log has to continue this end.
  func see(_ head: LogHead) {
    guard head != seen else { return }
    write { $0.head = head }
  }

  /// Tells the user what is wrong, once until the user accepts it. The log is followed anew from where it is now.
  func isBroken(_ trouble: String) {
    let text = "The lock's log is not what it was: \(trouble)."
    guard !store.state.log.troubles.contains(where: { $0.text == text }) else { return write { $0.head = nil } }
    logger.record(Recorded.Agent.logTrouble, [.text: text], level: .error)
    alert.show(text)
    write { state in
      state.head = nil
      state.troubles.append(SeenLogState.Trouble(text: text, unixSeconds: now()))
      state.troubles = Array(state.troubles.suffix(SeenLogState.troubleLimit))
    }
  }

  func forgetTroubles() { write { $0.troubles = [] } }

  /// Stores how long the log was in the lock's latest answer, at a time when nobody waits for the disk.
  func writeAnswered() {
    do { try store.writeNoted() } catch {
      logger.error("what was seen of the lock's log can't be stored: \(error)")
    }
  }

  private func write(_ change: (inout SeenLogState) -> Void) {
    var state = store.state
    change(&state.log)
    do { try store.write(state) } catch {
      logger.error("what was seen of the lock's log can't be stored: \(error)")
    }
  }
}
