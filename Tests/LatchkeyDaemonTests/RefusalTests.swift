import AppLink
import BluetoothSystem
import BusTesting
import BusValue
import Foundation
import Logging
import Synchronization
import SystemBus
import Testing

@testable import LatchkeyDaemon

@Suite("One app's faults are its own")
struct RefusalTests {
  @Test("M10: an invalid unit name excludes only its app, with the reason")
  func badUnitName() throws {
    let folder = try TemporaryFolder()
    func plist(_ name: String, _ unit: String) -> String {
      TemporaryFolder.plist(
        "<key>CFBundleIdentifier</key><string>org.example.\(name)</string><key>CFBundleExecutable</key><string>sh</string>"
          + "<key>LatchkeySystemdUnit</key><string>\(unit)</string>")
    }
    let bad = ["x y", "", ".service", "app", "app.socket", "app@.service", "../app.service", "\u{e4}.service"]
    for (number, unit) in bad.enumerated() {
      try folder.write(plist("bad\(number)", unit), to: "apps/\(number)/Info.plist")
    }
    try folder.write(plist("good", "my-app@1.service"), to: "apps/good/Info.plist")
    let registry = try AppRegistry(folder: folder.path + "/apps", programFolder: "/bin")
    #expect(Array(registry.apps.keys) == ["org.example.good"])
    #expect(registry.leftOut.count == bad.count)
    #expect(registry.leftOut.allSatisfy { $0.reason.contains("LatchkeySystemdUnit") })
  }

  @Test("H3: a systemd that can't be asked for an app's unit now is asked again, and the app is not left out for good")
  func systemdIsAway() throws {
    let bus = try PrivateBus()
    let app = InstalledApp(
      declaration: AppDeclaration(bundleIdentifier: "org.example.app"), executable: "/bin/sh", arguments: [],
      infoPlist: "", systemdUnit: "app.service")
    let error = #expect(throws: DaemonError.self) {
      try SystemdSupervisor(
        apps: [app], address: bus.address, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }
    #expect(error.map { "\($0)".contains("app.service") } == true)
  }

  @Test("M9: if systemd can't identify a process now, the process is not refused for good")
  func systemdCannotSay() {
    let unit = ObjectPath(unchecked: "/org/freedesktop/systemd1/unit/app")
    #expect(UnitAnswer(.success([.path(unit)]), unit: unit).refusal("Process 1", unit: "app.service") == nil)
    let elsewhere: [Result<[Value], BusError>] = [
      .success([.path(.root)]), .success([]),
      .failure(BusError(name: "org.freedesktop.systemd1.NoUnitForPID", message: "")),
    ]
    for answer in elsewhere {
      guard case .notThatApp = UnitAnswer(answer, unit: unit).refusal("Process 1", unit: "app.service") else {
        Issue.record("\(answer)")
        continue
      }
    }
    for name in [BusError.Name.noReply, BusError.Name.disconnected, BusError.Name.accessDenied] {
      let answer = UnitAnswer(.failure(BusError(name: name, message: "")), unit: unit)
      guard case .unavailable = answer.refusal("Process 1", unit: "app.service") else {
        Issue.record("\(name)")
        continue
      }
    }
  }

  @Test("M6: an app that sends a lot delays only itself; its own order is kept")
  func linesOfTheirOwn() {
    typealias Taken = (link: UInt64, sequence: UInt64, done: @Sendable () -> Void)
    let taken = Mutex<[Taken]>([])
    let lines = Lines { event, whenDone in
      guard case .request(let link, .handled(let sequence)) = event else { return }
      taken.withLock { $0.append((link.rawValue, sequence.rawValue, whenDone)) }
    }
    func say(_ link: UInt64, _ sequence: UInt64) {
      lines.enter(
        AppLinkIdentifier(link), .request(AppLinkIdentifier(link), .handled(through: EventSequence(sequence))))
    }
    for number in UInt64(1)...1000 { say(1, number) }
    say(2, 1)
    // Four requests of the first app are in the loop; then it is the second app's turn.
    #expect(taken.withLock { $0.map(\.link) } == [1, 1, 1, 1, 2])
    var next = 0
    while let done = taken.withLock({ $0.count > next ? $0[next].done : nil }) {
      done()
      next += 1
      #expect(taken.withLock { $0.count } - next <= Lines.limit + 1)
    }
    #expect(taken.withLock { $0.filter { $0.link == 1 }.map(\.sequence) } == Array(1...1000))
  }
}
