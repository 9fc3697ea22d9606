import AppLink
import AppLinkBus
import BusTesting
import BusValue
import Foundation
import Glibc
import Logging
import ProcessTesting
import Synchronization
import SystemBus
import Testing

/// `latchkey alerts`, beside a latchkeyd and notification services that a test plays.
@Suite("Alerts that a person sees", .serialized, .timeLimit(.minutes(20)))
struct AlertsCommandTests {
  private static func alert(_ number: UInt64, _ text: String) -> UserAlert {
    UserAlert(identifier: number, app: "org.example.thermo", title: "Thermo", text: text, unixSeconds: 1_767_225_600)
  }

  /// A latchkeyd that has these alerts.
  private final class System: Sendable {
    let asked = Inbox<ControlRequest>()
    private let alerts: Mutex<[UserAlert]>
    private let changes = Mutex<UInt64>(0)
    private let server = Mutex<AppLinkServer?>(nil)

    init(on bus: PrivateBus, _ alerts: [UserAlert]) throws {
      self.alerts = Mutex(alerts)
      let server = AppLinkServer(
        address: bus.address.text, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      ) { [weak self] in self?.take($0) }
      self.server.withLock { $0 = server }
      try server.start()
    }

    private func take(_ event: AppLinkServerEvent) {
      guard case .control(let request, let credentials, let token) = event, let server = server.withLock({ $0 }) else {
        return
      }
      if request == .watchStatus { return server.watch(token, credentials) }
      let status = SystemStatus(bluetooth: .poweredOn, apps: [], alerts: alerts.withLock { $0 })
      server.reply(to: token, .success(request == .status ? status : nil))
      asked.put(request)
    }

    func change(_ alerts: [UserAlert]) {
      self.alerts.withLock { $0 = alerts }
      let number = changes.withLock { number in
        number += 1
        return number
      }
      server.withLock { $0 }?.statusChanged(number)
    }

    func close() { server.withLock { $0 }?.close() }
  }

  /// A notification service. It answers with growing numbers, or never.
  private final class Service: Sendable {
    let calls = Inbox<IncomingCall>()
    private let bus: Bus

    init(on bus: PrivateBus, isSilent: Bool = false) throws {
      self.bus = try Bus(address: bus.address, name: "org.freedesktop.Notifications")
      let last = Mutex<UInt32>(100)
      let calls = calls
      try self.bus.start(
        BusHandlers(onCall: { bus, call in
          calls.put(call)
          guard !isSilent, call.expectsReply else { return }
          let number = last.withLock { last in
            last += 1
            return last
          }
          bus.reply(to: call, with: .success(call.member == "Notify" ? [.uint32(number)] : []))
        }))
    }

    func click(_ number: UInt32) {
      bus.enqueue { bus in
        try? bus.emit(
          OutgoingSignal(
            path: ObjectPath(unchecked: "/org/freedesktop/Notifications"), interface: "org.freedesktop.Notifications",
            member: "ActionInvoked", arguments: [.uint32(number), .string("default")]))
      }
    }

    func close() { bus.closeAndWait() }
  }

  private static func start(_ bus: PrivateBus, _ arguments: String...) async throws -> TestProcess {
    try await TestProcess(
      latchkey, ["alerts"] + arguments, environment: environment(bus), mergesErrors: true)
  }

  private static let latchkey = LatchkeyCommand.programs + "/latchkey"

  private static func environment(_ bus: PrivateBus) -> [String: String] {
    TestProcess.inherited.merging([
      "DBUS_SYSTEM_BUS_ADDRESS": bus.address.text, "DBUS_SESSION_BUS_ADDRESS": bus.address.text, "TZ": "UTC",
    ]) { $1 }
  }

  @Test("F5: latchkey alerts prints what there is, and each new alert once, over a restart of latchkeyd")
  func printed() async throws {
    let bus = try PrivateBus()
    let system = try System(on: bus, [Self.alert(1, "Kitchen is connected.")])
    let command = try await Self.start(bus)
    try await command.hear("Thermo (org.example.thermo): Kitchen is connected.")
    system.change([Self.alert(1, "Kitchen is connected."), Self.alert(2, "Kitchen has sent a value.")])
    let next = try await command.hear("Kitchen has sent a value.")
    #expect(!next.contains("is connected"))
    system.close()
    let second = try System(on: bus, [Self.alert(1, "Cellar is connected.")])
    try await command.hear("Cellar is connected.")
    command.signal(SIGTERM)
    _ = try await command.finish()
    second.close()
  }

  @Test("F5: latchkey alerts prints the alerts of a restarted latchkeyd, even if it could print nothing in between")
  func printedLate() async throws {
    let bus = try PrivateBus()
    // More than the pipe holds, so the command waits for its reader when it has printed a part of it.
    let long = String(repeating: "o", count: 4000)
    let first = try System(on: bus, (1...40).map { Self.alert($0, "Kitchen \($0) is l\(long)ng gone.") })
    let shell = try await TestProcess(
      "/bin/sh",
      [
        "-c", "exec 3<&0; \"$0\" alerts </dev/null | { read -r line; echo begun; read -r go <&3; cat; }", Self.latchkey,
      ],
      environment: Self.environment(bus), mergesErrors: true)
    try await shell.hear("begun")
    first.close()
    let second = try System(on: bus, [Self.alert(1, "Cellar is connected.")])
    #expect(try await second.asked.next() == .status)
    // It asks again when it has the first answer.
    second.change([Self.alert(1, "Cellar is connected."), Self.alert(2, "Attic is connected.")])
    #expect(try await second.asked.next() == .status)
    shell.say("go")
    try await shell.hear("Cellar is connected.")
    try await shell.hear("Attic is connected.")
    bus.stop()
    _ = try await shell.finish()
    second.close()
  }

  @Test("F5: a notification is shown for each alert; a click opens the app, and what is over is closed")
  func notified() async throws {
    let bus = try PrivateBus()
    let service = try Service(on: bus)
    let system = try System(on: bus, [Self.alert(1, "<b>&Kitchen is connected.")])
    let command = try await Self.start(bus, "--notify")
    let shown = try await service.calls.next()
    #expect(shown.member == "Notify")
    #expect(shown.signature == "susssasa{sv}i")
    #expect(shown.arguments[3] == .string("Thermo"))
    #expect(shown.arguments[4] == .string("&lt;b&gt;&amp;Kitchen is connected."), "no app writes the service's markup")
    #expect(shown.arguments[5] == .strings(["default", "Open"]))
    service.click(7)
    service.click(101)
    while true {
      let request = try await system.asked.next()
      if request == .status { continue }
      #expect(request == .openApp(bundleIdentifier: "org.example.thermo"))
      break
    }
    system.change([])
    let closed = try await service.calls.next()
    #expect(closed.member == "CloseNotification")
    #expect(closed.arguments == [.uint32(101)])
    command.signal(SIGTERM)
    _ = try await command.finish()
    system.close()
    service.close()
  }

  @Test("F5: without a notification service alerts are printed, one line says so, and a service that comes is used")
  func noService() async throws {
    let bus = try PrivateBus()
    let system = try System(on: bus, [Self.alert(1, "Kitchen is connected.")])
    let command = try await Self.start(bus, "--notify")
    try await command.hear("has no notification service; alerts are only printed here")
    let service = try Service(on: bus)
    let shown = try await service.calls.next()
    #expect(shown.arguments[4] == .string("Kitchen is connected."))
    command.signal(SIGTERM)
    _ = try await command.finish()
    system.close()
    service.close()
  }

  @Test("F5: a notification service that never answers delays no alert")
  func silentService() async throws {
    let bus = try PrivateBus()
    let service = try Service(on: bus, isSilent: true)
    let system = try System(on: bus, (1...20).map { Self.alert($0, "Kitchen \($0) is connected.") })
    let command = try await Self.start(bus, "--notify")
    try await command.hear("Kitchen 20 is connected.")
    for _ in 0..<4 { #expect(try await service.calls.next().member == "Notify") }
    try await command.hear("the notification service does not answer; alerts are only printed here")
    system.change([Self.alert(30, "Cellar is connected.")])
    try await command.hear("Cellar is connected.")
    command.signal(SIGTERM)
    _ = try await command.finish()
    system.close()
    service.close()
  }

  private static let isDesktopThere =
    ["/usr/bin/dunst", "/usr/bin/dunstctl", "/usr/bin/Xvfb"].allSatisfy {
      FileManager.default.isExecutableFile(atPath: $0)
    }

  @Test(
    "F5: a real notification service shows the alert on a real screen, and its user opens the app from there",
    .enabled(if: isDesktopThere, "dunst or Xvfb is not installed (scripts/install-dependencies.sh tests)"))
  func realService() async throws {
    let bus = try PrivateBus()
    let screen = try await TestProcess(
      "/usr/bin/Xvfb", ["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"])
    let number = try await screen.hear("\n").trimmingCharacters(in: .whitespacesAndNewlines)
    let variables = [
      "DISPLAY": ":\(number)", "DBUS_SESSION_BUS_ADDRESS": bus.address.text, "XDG_CONFIG_HOME": "/nowhere/at/all",
    ]
    let dunst = try await TestProcess(
      "/usr/bin/dunst", environment: TestProcess.inherited.merging(variables) { $1 }, mergesErrors: true)
    let system = try System(on: bus, [Self.alert(1, "Kitchen is connected.")])
    let command = try await Self.start(bus, "--notify")
    // dunst shows it when it has drawn it.
    func displayed() async throws -> String {
      try await TestProcess.run("/usr/bin/dunstctl", ["count", "displayed"], adding: variables).output
    }
    while try await displayed() != "1\n" { try Task.checkCancellation() }
    let action = try await TestProcess.run("/usr/bin/dunstctl", ["action"], adding: variables)
    #expect(action.status == 0, "\(action)")
    var request = try await system.asked.next()
    while request == .status { request = try await system.asked.next() }
    #expect(request == .openApp(bundleIdentifier: "org.example.thermo"))
    for process in [command, dunst, screen] {
      process.signal(SIGTERM)
      _ = try await process.finish()
    }
    system.close()
  }

  @Test("F5: without a session, --notify says what it lacks")
  func noSession() async throws {
    let outcome = try await TestProcess.run(
      LatchkeyCommand.programs + "/latchkey", ["alerts", "--notify"],
      adding: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere/at/all"])
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("/nowhere/at/all"))
  }
}
