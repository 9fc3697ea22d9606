import AppLink
import AppLinkBus
import BusValue
import Synchronization
import SystemBus

/// An app that sends anything that its interface has, as often as it can.
final class Attacker: Sendable {
  private static let name = "org.latchkey.System1"
  private static let path = ObjectPath(unchecked: "/org/latchkey/System1")
  /// How many calls are under way at a time: fewer than the limit at which it is cut off.
  private static let window = 48

  private struct State {
    var values: HostileValues
    /// Methods and their argument signatures.
    var methods: [(name: String, signature: String)] = []
    var left = 0
    var accepted = 0
    var refused = 0
    var attachments = 0
    var isAttaching = false
    var said: Int { accepted + refused }
  }

  private let bus: Bus
  private let bundle: String
  private let control: ControlClient
  private let state: Mutex<State>

  init(address: String, bundle: String, seed: UInt64) throws {
    self.bundle = bundle
    bus = try Bus(address: BusAddress(address))
    control = try ControlClient(address: address)
    state = Mutex(State(values: HostileValues(seed: seed)))
    try bus.start(
      BusHandlers(onSignal: { [weak self] _, signal in
        self?.state.withLock { state in for argument in signal.arguments { state.values.learn(argument) } }
      }))
  }

  func run(_ count: Int) async {
    do {
      let text = try await bus.call(
        MethodCall(
          to: Self.name, path: Self.path, interface: "org.freedesktop.DBus.Introspectable", member: "Introspect"))
      let methods = Self.methods(text.first?.stringValue ?? "")
      state.withLock { state in
        state.methods = methods
        state.left = count
      }
    } catch { fail("no system: \(error)") }
    await attach()
    // An app in the foreground is not suspended.
    _ = try? await control.perform(.openApp(bundleIdentifier: bundle))
    await withTaskGroup { group in
      for _ in 0..<Self.window { group.addTask { await self.work() } }
    }
    let end = state.withLock { "accepted \($0.accepted), refused \($0.refused), attached \($0.attachments) times" }
    say("end: \(end)")
  }

  private func attach() async {
    let isMine = state.withLock { state in
      guard !state.isAttaching else { return false }
      state.isAttaching = true
      return true
    }
    guard isMine else { return }
    let arguments: [Value] = [.uint32(Attachment.currentProtocolVersion), .string(bundle), .array(of: "t", [])]
    let isDone = (try? await bus.call(call("Attach", arguments))) != nil
    state.withLock { state in
      state.isAttaching = false
      if isDone { state.attachments += 1 }
    }
  }

  private func call(_ member: String, _ arguments: [Value]) -> MethodCall {
    MethodCall(to: Self.name, path: Self.path, interface: Self.name, member: member, arguments: arguments)
  }

  private func work() async {
    while let (next, isBurst) = state.withLock({ state -> (MethodCall, Bool)? in
      guard state.left > 0, !state.methods.isEmpty else { return nil }
      state.left -= 1
      let method = state.values.pick(state.methods)
      // Sometimes with another method's arguments.
      let signature = state.values.chance(200) ? state.values.pick(state.methods).signature : method.signature
      return (call(method.name, state.values.values(signature)), state.values.chance(5000))
    }) {
      if isBurst {
        // More than it may send without waiting: it is cut off, and starts again.
        for _ in 0..<400 { _ = try? await bus.callWithoutReply(next) }
      }
      do {
        let reply = try await bus.call(next)
        for value in reply { state.withLock { $0.values.learn(value) } }
        count(isAccepted: true)
      } catch {
        count(isAccepted: false)
        if error.name.hasSuffix("NotAttached") || error.name.hasSuffix("LimitReached") { await attach() }
        if error.name == BusError.Name.disconnected { fail("the bus has ended") }
      }
    }
  }

  private func count(isAccepted: Bool) {
    let said = state.withLock { state in
      if isAccepted { state.accepted += 1 } else { state.refused += 1 }
      return state.said
    }
    if said.isMultiple(of: 500) { say("said \(said)") }
  }

  /// The methods of the app's interface except the first, with their argument signatures.
  private static func methods(_ text: String) -> [(name: String, signature: String)] {
    var result: [(name: String, signature: String)] = []
    var isOurs = false
    for tag in text.split(separator: "<") {
      func attribute(_ name: String) -> String? {
        guard let start = tag.firstRange(of: " \(name)=\"")?.upperBound else { return nil }
        return String(tag[start...].prefix { $0 != "\"" })
      }
      if tag.hasPrefix("interface") { isOurs = attribute("name") == Self.name }
      guard isOurs else { continue }
      if tag.hasPrefix("method"), let name = attribute("name") { result.append((name, "")) }
      if tag.hasPrefix("signal") { isOurs = false }
      if tag.hasPrefix("arg"), attribute("direction") != "out", !result.isEmpty, let type = attribute("type") {
        result[result.count - 1].signature += type
      }
    }
    return result.filter { $0.name != "Attach" }
  }
}
