import AppLink
import BusValue
import Synchronization
import SystemBus

/// Follows the system's status, also over restarts of latchkeyd, for a program that shows it. It waits for signals of
/// the bus and never polls.
package final class StatusFollower: Sendable {
  package enum News: Sendable {
    case status(SystemStatus)
    /// latchkeyd is not on the bus. It may come back.
    case away
    /// Nothing more comes.
    case ended(AppLinkError)
  }

  private struct State {
    /// latchkeyd's name on the bus.
    var owner: String?
    /// The status was asked for, and the answer has not come.
    var isAsking = false
    /// The status has changed since it was asked for.
    var isOutdated = false
    var hasEnded = false
  }

  private let bus: Bus
  private let onNews: @Sendable (News) -> Void
  private let state = Mutex(State())

  /// Connects. Throws `unavailable` if there is no bus.
  /// - Parameter onNews: called on the bus's thread.
  package init(address: String? = nil, onNews: @escaping @Sendable (News) -> Void) throws(AppLinkError) {
    self.onNews = onNews
    bus = try ControlCall.connected { () throws(BusError) in
      try Bus(address: address.map { BusAddress($0) } ?? .system)
    }
    let handlers = BusHandlers(
      onSignal: { [weak self] bus, signal in self?.receive(signal, bus) },
      onClose: { [weak self] _, _ in
        self?.end(AppLinkError(.unavailable, "the bus on which latchkeyd is has ended"))
      })
    try ControlCall.connected { () throws(BusError) in try bus.start(handlers) }
    bus.enqueue { [weak self] bus in
      bus.watchOwner(of: AppLinkName.busName) { [weak self] bus, owner in self?.ownerChanged(owner, bus) }
    }
  }

  deinit { bus.close() }

  package func close() { bus.close() }

  private func ownerChanged(_ owner: String?, _ bus: isolated Bus) {
    let hasEnded = state.withLock { state in
      state.owner = owner
      (state.isAsking, state.isOutdated) = (false, false)
      return state.hasEnded
    }
    guard !hasEnded else { return }
    if let owner { ask(.watchStatus, owner, bus) } else { onNews(.away) }
  }

  private func receive(_ signal: IncomingSignal, _ bus: isolated Bus) {
    guard signal.interface == AppLinkName.controlInterface, signal.member == ControlCoding.statusChanged.shape.name
    else { return }
    let owner = state.withLock { state -> String? in
      guard let owner = state.owner, signal.sender == owner, !state.hasEnded else { return nil }
      if state.isAsking { state.isOutdated = true }
      return state.isAsking ? nil : owner
    }
    if let owner { ask(.status, owner, bus) }
  }

  private func ask(_ request: ControlRequest, _ owner: String, _ bus: isolated Bus) {
    state.withLock { $0.isAsking = true }
    bus.call(ControlCall.call(request, to: owner)) { [weak self] result in
      guard let self else { return }
      self.bus.assumeIsolated { self.answered(result, from: owner, $0) }
    }
  }

  private func answered(_ result: Result<[Value], BusError>, from owner: String, _ bus: isolated Bus) {
    let isOutdated = state.withLock { state -> Bool? in
      guard state.owner == owner, !state.hasEnded else { return nil }
      state.isAsking = false
      defer { state.isOutdated = false }
      return state.isOutdated
    }
    guard let isOutdated else { return }
    do throws(BusError) {
      let reply = try result.get()
      onNews(.status(try ControlCall.status(reply)))
      if isOutdated { ask(.status, owner, bus) }
    } catch {
      switch error.name {
      // latchkeyd is leaving, and the bus will report that next.
      case BusError.Name.noReply, BusError.Name.nameHasNoOwner, BusError.Name.serviceUnknown,
        BusError.Name.disconnected:
        break
      default: end(ControlCall.error(error))
      }
    }
  }

  private func end(_ error: AppLinkError) {
    let isFirst = state.withLock { state in
      defer { state.hasEnded = true }
      return !state.hasEnded
    }
    if isFirst { onNews(.ended(error)) }
  }
}
