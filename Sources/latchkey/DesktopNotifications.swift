import AppLink
import AppLinkBus
import BusValue
import ConsoleOutput
import Glibc
import Synchronization
import SystemBus

/// Shows alerts through the notification service of the user's session (Desktop Notifications Specification 1.2). The
/// service may be missing, come later, be replaced, or never answer: the alerts are then only printed.
final class DesktopNotifications: Sendable {
  private static let service = "org.freedesktop.Notifications"
  private static let path = ObjectPath(unchecked: "/org/freedesktop/Notifications")
  /// The service has this long to answer.
  private static let patience: Duration = .seconds(10)
  /// The most calls that wait for its answer.
  private static let callLimit = 4
  private static let openAction = "default"

  private struct State {
    /// The service's name on the bus.
    var owner: String?
    /// The alerts to be shown, by their identifiers.
    var wanted: [UInt64: UserAlert] = [:]
    /// The alerts that are shown or are being shown, with the service's numbers once these are known.
    var shown: [UInt64: UInt32?] = [:]
    var open = 0
    var hasComplained = false
  }

  private let bus: Bus
  private let state = Mutex(State())

  /// Connects to the session's bus. Throws `BusError` if there is none.
  init() throws(BusError) {
    bus = try Bus(address: .session)
    try bus.start(
      BusHandlers(
        onSignal: { [weak self] _, signal in self?.receive(signal) },
        onClose: { _, _ in
          Console.complain("latchkey: the session has ended")
          exit(1)
        }))
    bus.enqueue { [weak self] bus in
      bus.addMatch(
        MatchRule(sender: Self.service, interface: Self.service, member: "ActionInvoked", firstArgument: nil))
      bus.watchOwner(of: Self.service) { [weak self] _, owner in self?.ownerChanged(owner) }
    }
  }

  func close() { bus.close() }

  /// These are the present alerts. Shows the new ones, and closes those that are gone.
  func show(_ alerts: [UserAlert]) {
    let gone = state.withLock { state -> [UInt32] in
      state.wanted = Dictionary(alerts.map { ($0.identifier, $0) }, uniquingKeysWith: { $1 })
      let gone = state.shown.filter { state.wanted[$0.key] == nil }
      for identifier in gone.keys { state.shown[identifier] = nil }
      return gone.values.compactMap(\.self)
    }
    bus.enqueue { bus in
      for number in gone { try? bus.callWithoutReply(Self.call("CloseNotification", [.uint32(number)])) }
    }
    showNext()
  }

  private func showNext() {
    let alerts = state.withLock { state -> [UserAlert] in
      let waiting = state.wanted.values.filter { state.shown[$0.identifier] == nil }
        .sorted { $0.identifier < $1.identifier }
      let alerts = Array(waiting.prefix(max(0, Self.callLimit - state.open)))
      for alert in alerts { state.shown[alert.identifier] = .some(nil) }
      state.open += alerts.count
      return alerts
    }
    guard !alerts.isEmpty else { return }
    bus.enqueue { [weak self] bus in
      for alert in alerts {
        bus.call(Self.call("Notify", Self.arguments(alert)), timeout: Self.patience) { [weak self] result in
          self?.answered(alert, result)
        }
      }
    }
  }

  private func answered(_ alert: UserAlert, _ result: Result<[Value], BusError>) {
    var isUnwanted: UInt32?
    let complaint = state.withLock { state -> String? in
      state.open -= 1
      switch result {
      case .success(let values):
        guard case .uint32(let number)? = values.first else { return nil }
        // The alert may have gone while the service was asked. Another latchkeyd may also have given its identifier to
        // another alert.
        let isWanted = state.wanted[alert.identifier] == alert
        if isWanted { state.shown[alert.identifier] = number } else { isUnwanted = number }
        state.hasComplained = false
        return nil
      case .failure(let error):
        defer { state.hasComplained = true }
        return state.hasComplained ? nil : Self.complaint(error)
      }
    }
    if let isUnwanted {
      bus.enqueue { try? $0.callWithoutReply(Self.call("CloseNotification", [.uint32(isUnwanted)])) }
    }
    if let complaint { Console.complain("latchkey: \(complaint); alerts are only printed here") }
    showNext()
  }

  private static func complaint(_ error: BusError) -> String {
    switch error.name {
    case BusError.Name.serviceUnknown, BusError.Name.nameHasNoOwner: "this session has no notification service"
    case BusError.Name.noReply, "org.freedesktop.DBus.Error.Timeout": "the notification service does not answer"
    default: "the notification service refuses (\(error.message))"
    }
  }

  /// A new service knows nothing of what an earlier one showed.
  private func ownerChanged(_ owner: String?) {
    let isNew = state.withLock { state in
      defer { state.owner = owner }
      guard owner != nil else {
        state.shown = state.shown.filter { $0.value == nil }
        return false
      }
      if !state.hasComplained { return true }
      // The service came late.
      state.hasComplained = false
      state.shown = [:]
      return true
    }
    if isNew { showNext() }
  }

  private func receive(_ signal: IncomingSignal) {
    guard signal.interface == Self.service, signal.member == "ActionInvoked", signal.arguments.count == 2,
      case .uint32(let number) = signal.arguments[0], signal.arguments[1].stringValue == Self.openAction
    else { return }
    let app = state.withLock { state -> String? in
      guard signal.sender == state.owner else { return nil }
      return state.shown.first { $0.value == number }.flatMap { state.wanted[$0.key]?.app }
    }
    guard let app else { return }
    Task {
      do {
        try await ControlClient().perform(.openApp(bundleIdentifier: app))
      } catch {
        Console.complain("latchkey: \(app) is not opened: \(Complaint.words(for: error))")
      }
    }
  }

  private static func call(_ member: String, _ arguments: [Value]) -> MethodCall {
    MethodCall(to: service, path: path, interface: service, member: member, arguments: arguments)
  }

  private static func arguments(_ alert: UserAlert) -> [Value] {
    [
      .string("Latchkey"), .uint32(0), .string("bluetooth"), .string(alert.title), .string(escaped(alert.text)),
      .strings([openAction, "Open"]), .properties([:]), .int32(-1),
    ]
  }

  /// A service may take the text for markup.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      default: result.append(character)
      }
    }
    return result
  }
}
