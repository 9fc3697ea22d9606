import AppLink
import BluetoothSystem
import DequeModule
import TimeTypes
import Timekeeping

/// The system with its store: one event at a time, and promises are on disk before they are made.
///
/// If the store can't be written, what is on disk is still served, and what happens is carried out and written later.
/// Whatever asks for a promise waits. An app's request stays in its place in the queue, and is neither answered nor
/// sent to the radio before it is durable. (CoreBluetooth's requests have no such failure, so an app could not react
/// to one, and the order of its requests would be lost.) A user's request is refused, because a person can do
/// something about it.
final class DurableTurns {
  /// An app's request that waits for the disk.
  private struct Waiting {
    let link: AppLinkIdentifier
    let event: BluetoothSystem.Event
    let whenDone: (@Sendable () -> Void)?
  }

  /// What the loop is to do.
  struct Actions {
    var carryOut: ([BluetoothSystem.Effect]) -> Void
    /// For the journal: a new problem, or `nil` when it is over.
    var tell: (_ trouble: String?) -> Void
    var refuse: (AnswerToken, AppLinkError) -> Void
    /// An app has left that had asked for something and was never answered.
    var drop: (_ count: Int, AppLinkIdentifier) -> Void
  }

  /// Effects that are carried out before the disk has the turn's changes. This applies only to turns that are carried
  /// out whether or not the changes can be written.
  enum Early {
    /// Launches. Starting a process takes about as long as a write, so both are done at the same time.
    case launches
    /// Journal records, in a simulated world. Time stands still there while the disk works. If a process was started
    /// early, its first lines could come before or after what the turn records, depending on how fast the disk is.
    case records
  }

  private(set) var system: BluetoothSystem
  private let store: any StateStore
  private let time: any TimeSource
  private let actions: Actions
  private let early: Early
  private var ledger = StoreLedger()
  private var waiting: Deque<Waiting> = []

  init(
    _ system: consuming BluetoothSystem, store: any StateStore, time: any TimeSource, early: Early = .launches,
    actions: Actions
  ) {
    self.early = early
    self.system = system
    self.store = store
    self.time = time
    self.actions = actions
  }

  /// When `retry` is due, or `nil` if everything is on disk.
  var retryAt: Instant? { ledger.retryAt }

  /// For people: why the store can't be written, and what that means. `nil` if all is well.
  var trouble: String? {
    guard let trouble = ledger.trouble else { return nil }
    return "\(trouble) What was promised before is served; \(waiting.count) requests of apps wait until it can be "
      + "written, and are not promised yet."
  }

  /// Handles one event. `whenDone` is called when the event is finished, which takes longer for an app's request that
  /// waits for the disk.
  func handle(_ event: BluetoothSystem.Event, whenDone: (@Sendable () -> Void)?) {
    if case .request(let link, let request) = event, !request.isAnswer, waiting.contains(where: { $0.link == link }) {
      // The request stays behind the app's earlier ones.
      waiting.append(Waiting(link: link, event: event, whenDone: whenDone))
      return
    }
    if case .detached(let link) = event { forget(link) }
    if turn(event) { whenDone?() } else { postpone(event, whenDone) }
  }

  /// Tries to write what waits, and then handles the requests that wait.
  func retry() {
    guard let retryAt, time.now >= retryAt, write([]) else { return }
    while let next = waiting.popFirst() {
      guard turn(next.event) else {
        waiting.prepend(next)
        return turnAgain()
      }
      next.whenDone?()
    }
    settle()
  }

  /// The last attempt of this process.
  /// - Returns: how many changes were not written.
  func finish() -> Int {
    guard ledger.count > 0 else { return 0 }
    do { try store.write(ledger.changes) } catch { return ledger.count }
    return 0
  }

  // MARK: One turn

  /// - Returns: whether the turn was carried out. If not, the system is unchanged.
  private func turn(_ event: BluetoothSystem.Event) -> Bool {
    let before = event.asksForPromise ? system : nil
    var effects = system.handle(event, at: time.now, unixSeconds: time.unixSeconds)
    if before == nil { carryOutEarly(&effects) }
    let changes = effects.compactMap { if case .store(let change) = $0 { change } else { nil } }
    if !changes.isEmpty, !write(changes, atOnce: event.isOfUser) {
      if let before, changes.contains(where: { $0.isOfPromise || event.isOfUser }) {
        system = before
        return false
      }
      ledger.keep(changes)
    }
    actions.carryOut(effects)
    return true
  }

  private func carryOutEarly(_ effects: inout [BluetoothSystem.Effect]) {
    let kind = early
    let first = effects.filter { $0.is(kind) }
    guard !first.isEmpty else { return }
    effects.removeAll { $0.is(kind) }
    actions.carryOut(first)
  }

  private func postpone(_ event: BluetoothSystem.Event, _ whenDone: (@Sendable () -> Void)?) {
    switch event {
    case .request(let link, _):
      waiting.append(Waiting(link: link, event: event, whenDone: whenDone))
    case .control(_, let token):
      let reason = ledger.trouble ?? "The state can't be written."
      actions.refuse(token, AppLinkError(.unavailable, "\(reason) Nothing was changed; then try again."))
      whenDone?()
    default: whenDone?()
    }
    turnAgain()
  }

  /// Runs a turn for the time alone, because whatever was due in the undone turn is still due.
  private func turnAgain() { _ = turn(.timePassed) }

  private func forget(_ link: AppLinkIdentifier) {
    let gone = waiting.filter { $0.link == link }
    guard !gone.isEmpty else { return }
    waiting.removeAll { $0.link == link }
    actions.drop(gone.count, link)
    for request in gone { request.whenDone?() }
  }

  // MARK: Writing

  /// Writes these changes after all that wait. With no changes at all, it only tries to write.
  /// - Parameter atOnce: try even before the next attempt is due, because a person may just have made room.
  /// - Returns: whether everything is on disk. If not, these changes are not kept.
  private func write(_ changes: [StoreChange], atOnce: Bool = false) -> Bool {
    guard atOnce || ledger.mayWrite(at: time.now) else { return false }
    do {
      try store.write(ledger.changes + changes)
    } catch {
      if ledger.failed(error.description, at: time.now) { actions.tell(error.description) }
      return false
    }
    // The problem is not over until the waiting requests have been handled, too.
    if waiting.isEmpty { settle() } else { ledger.written(at: time.now) }
    return true
  }

  private func settle() {
    if ledger.succeeded() != nil { actions.tell(nil) }
  }
}

extension BluetoothSystem.Event {
  fileprivate var isOfUser: Bool { if case .control = self { true } else { false } }
}

extension BluetoothSystem.Effect {
  fileprivate func `is`(_ kind: DurableTurns.Early) -> Bool {
    switch (self, kind) {
    case (.launch, .launches), (.record, .records): true
    default: false
    }
  }
}
