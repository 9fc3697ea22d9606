import Foundation
import ProcessTesting
import Testing

@testable import Stories
@testable import Worlds

@Suite("Apps that a scenario describes")
struct AppReaderTests {
  /// A folder with a scenario's files.
  private final class Folder {
    let path = NSTemporaryDirectory() + "/latchkey-apps-\(UUID().uuidString)"
    init(_ files: [String: String] = [:]) throws {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      for (name, text) in files { try text.write(toFile: path + "/" + name, atomically: true, encoding: .utf8) }
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func parse(_ yaml: String) throws(ScenarioError) -> Scenario {
      try ScenarioParser.parse(yaml, file: path + "/story.yaml")
    }
  }

  private static func story(_ apps: String, machine: String = "apps: [collector]", steps: String = "- pass: 1s")
    -> String
  {
    """
    name: small
    apps:
    \(apps)
    machines:
      phone: {position: [0, 0], \(machine)}
    steps:
      \(steps)
    """
  }

  private static let plist = """
    <plist version="1.0"><dict><key>CFBundleIdentifier</key><string>org.example.collector</string>
    <key>UIBackgroundModes</key><array><string>bluetooth-central</string></array></dict></plist>
    """

  private static let inline = "{CFBundleIdentifier: org.example.collector, UIBackgroundModes: [bluetooth-central]}"

  @Test("H1: an app is read with its Info.plist, its program, its arguments, its environment and its clock")
  func read() throws {
    let folder = try Folder(["Info.plist": Self.plist])
    let scenario = try folder.parse(
      Self.story(
        """
          collector:
            info plist: Info.plist
            executable: bin/collector
            arguments: ["--data", "{home}/values"]
            environment: {REGION: de, EMPTY: ""}
            clock: machine
        """,
        steps: "- hang app: {machine: phone, app: collector}"))
    let app = try #require(scenario.machines.first?.apps.first)
    #expect(app.name == "collector")
    #expect(app.bundleIdentifier == "org.example.collector")
    #expect(app.executable == (folder.path + "/bin/collector").replacing("//", with: "/"))
    #expect(app.arguments == ["--data", "{home}/values"])
    #expect(app.environment == ["REGION": "de", "EMPTY": ""])
    #expect(app.clock == .machine)
    #expect(app.isDescribed)
    #expect(scenario.chapters.first?.steps.map(\.action) == [.hangApp(machine: "phone", app: app)])
  }

  @Test("H1: the keys of an Info.plist may stand in the scenario, and name the program")
  func inlineKeys() throws {
    let app = try #require(
      Folder().parse(
        Self.story(
          """
            collector:
              info plist: {CFBundleIdentifier: org.example.c, CFBundleExecutable: collector, LatchkeyKeepAlive: true}
          """)
      ).machines.first?.apps.first)
    #expect(app.executable == "collector")
    #expect(app.clock == .world)
    let keys = try #require(
      try PropertyListSerialization.propertyList(from: app.propertyList, format: nil) as? [String: Any])
    #expect(keys["LatchkeyKeepAlive"] as? Bool == true)
  }

  @Test(
    "H1: an app that is described wrongly is refused, with the line and what would be right",
    arguments: [
      ("lock: {info plist: {CFBundleIdentifier: org.example.a}, executable: a}", "one of Latchkey's own programs"),
      ("latchkeyd: {info plist: {CFBundleIdentifier: org.example.a}, executable: a}", "one of Latchkey's own programs"),
      ("Collector: {info plist: {CFBundleIdentifier: org.example.a}, executable: a}", "at most 32 of a-z, 0-9 and '-'"),
      ("collector: {executable: a}", "app 'collector' has no 'info plist'"),
      ("collector: {info plist: none.plist, executable: a}", "none.plist can't be read"),
      ("collector: {info plist: text.plist, executable: a}", "is not a property list with a dictionary"),
      ("collector: {info plist: {CFBundleExecutable: a}}", "needs a CFBundleIdentifier"),
      ("collector: {info plist: {CFBundleIdentifier: a/b}, executable: a}", "needs a CFBundleIdentifier"),
      ("collector: {info plist: {CFBundleIdentifier: org.latchkey.agent}, executable: a}", "Latchkey's own agent"),
      ("collector: {info plist: {CFBundleIdentifier: org.example.a}}", "no 'executable'"),
      (
        "collector: {info plist: {CFBundleIdentifier: org.example.a, CFBundleExecutable: b}, executable: bin/a}",
        "'executable' of app 'collector' is 'a', and its Info.plist names 'b'"
      ),
      (
        "collector: {info plist: {CFBundleIdentifier: org.example.a, UIBackgroundModes: [bluetooth-centrl]}, executable: a}",
        "'bluetooth-centrl', which is no background mode (valid: bluetooth-central"
      ),
      (
        "collector: {info plist: {CFBundleIdentifier: org.example.a, UIBackgroundModes: voip}, executable: a}",
        "not an array of strings"
      ),
      (
        "collector: {info plist: {CFBundleIdentifier: org.example.a, LatchkeyKeepAlive: always}, executable: a}",
        "LatchkeyKeepAlive of app 'collector' is not true or false"
      ),
      (
        "collector: {info plist: {CFBundleIdentifier: org.example.a, LatchkeyWakeBudgetSeconds: 0}, executable: a}",
        "LatchkeyWakeBudgetSeconds of app 'collector' is not a number from 1 to 600"
      ),
      (
        "collector: {info plist: {CFBundleIdentifier: org.example.a, LatchkeyAdvertisingIntervalMilliseconds: 5}, executable: a}",
        "is not a whole number from 20 to 10240"
      ),
      (
        "collector: {info plist: {CFBundleIdentifier: org.example.a, UIBackgroundMode: [voip]}, executable: a}",
        "the key 'UIBackgroundMode', which nothing reads (valid: UIBackgroundModes"
      ),
      (
        "collector: {info plist: {CFBundleIdentifier: org.example.a, LatchkeyKeepalive: true}, executable: a}",
        "(valid: LatchkeyKeepAlive"
      ),
      ("collector: {info plist: INLINE, executable: a, clok: world}", "unknown key 'clok'"),
      ("collector: {info plist: INLINE, executable: a, clock: sun}", "(valid: world, machine)"),
      ("collector: {info plist: INLINE, executable: a, arguments: a}", "must be a list"),
      ("collector: {info plist: INLINE, executable: a, arguments: [\"{hom}\"]}", "'{hom}', which stands for nothing"),
      ("collector: {info plist: INLINE, executable: a, environment: {LATCHKEY_CLOCK: x}}", "the world's own"),
      ("collector: {info plist: INLINE, executable: a, environment: {\"A B\": x}}", "letters, digits and '_'"),
      ("[collector]", "'apps' must be a mapping"),
      ("{}", "'apps' describes 1 to 32 apps"),
    ])
  func refused(_ apps: String, _ reason: String) throws {
    let folder = try Folder(["text.plist": "hello"])
    let error = #expect(throws: ScenarioError.self) {
      _ = try folder.parse(Self.story("  " + apps.replacing("INLINE", with: Self.inline)))
    }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "not refused")")
    #expect(error?.line == 3, "\(error?.description ?? "")")
  }

  @Test("H7: an Info.plist that is no file is refused, without waiting for somebody who writes to it")
  func noFile() throws {
    let folder = try Folder()
    func refusal(_ path: String) -> String {
      #expect(throws: ScenarioError.self) {
        _ = try folder.parse(Self.story("  collector: {info plist: \(path), executable: a}"))
      }?.description ?? "not refused"
    }
    for path in ["/dev/zero", "/dev/null", "."] {
      try #require(refusal(path).contains("is not a file"), "\(path): \(refusal(path))")
    }
    #expect(mkfifo(folder.path + "/pipe", 0o600) == 0)
    #expect(refusal("pipe").contains("is not a file"))
    #expect(refusal("missing").contains("can't be read: No such file or directory"))
  }

  @Test("H1: machines, steps and promises name only apps that are there")
  func names() throws {
    let app = "  collector: {info plist: \(Self.inline), executable: a}"
    func refusal(_ yaml: String) throws -> String {
      let folder = try Folder()
      return #expect(throws: ScenarioError.self) { _ = try folder.parse(yaml) }?.description ?? "not refused"
    }
    #expect(
      try refusal(Self.story(app, machine: "apps: [colector]")).contains(
        "unknown app 'colector' on machine 'phone' (valid: agent, lock, collector)"))
    #expect(try refusal(Self.story(app, machine: "apps: []")).contains("the app 'collector' is on no machine"))
    #expect(
      try refusal(
        Self.story(
          app + "\n  twin: {info plist: \(Self.inline), executable: b}", machine: "apps: [collector, twin]")
      ).contains("two apps with the CFBundleIdentifier 'org.example.collector': 'collector' and 'twin'"))
    #expect(
      try refusal(Self.story(app, steps: "- kill app: {machine: phone, app: agent}")).contains(
        "machine 'phone' has no app 'agent' (valid: collector)"))
    #expect(
      try refusal(Self.story(app, steps: "- wait for: {event: value, process: colector}")).contains(
        "(valid: collector)"))
    #expect(
      try refusal(Self.story(app, steps: "- wait for: {event: told, process: collector, fields: {cal: x}}"))
        .contains("no field 'cal'"))
  }

  @Test(
    "H1: a wait for a call of a delegate that there is never is refused",
    arguments: [
      ("call: didConnect", "'call' of 'told' can't be 'didConnect'"), ("call: mtuChanged", "can't be 'mtuChanged'"),
      ("role: Central", "'role' of 'told' can't be 'Central' (valid: central, peripheral)"),
      ("call: stateChanged, state: on", "'state' of 'told' can't be 'on'"), ("error: no", "(valid: yes)"),
      ("asked: true", "(valid: yes)"),
      ("call: channelOpened, role: peripheral, state: poweredOn, asked: yes", nil),
    ])
  func callsOfDelegates(_ fields: String, _ reason: String?) throws {
    let app = "  collector: {info plist: \(Self.inline), executable: a}"
    let yaml = Self.story(app, steps: "- wait for: {event: told, process: collector, fields: {\(fields)}}")
    let folder = try Folder()
    guard let reason else {
      _ = try folder.parse(yaml)
      return
    }
    let error = #expect(throws: ScenarioError.self) { _ = try folder.parse(yaml) }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "not refused")")
  }

  @Test(
    "H1: promises about any app are read, and refused if they are about something that is not there",
    arguments: [
      ("woken: {app: collector, by: valueUpdated, at least: 3}", nil),
      ("relaunched: {app: collector, restoring: [main], exactly: 1}", nil),
      ("recorded: {app: collector, event: value, fields: {n: 1}, at most: 2}", nil),
      ("on the air: {machine: phone, name: absent, lists: [180D], interval at least: 200ms}", nil),
      ("woken: {app: colector}", "no machine has an app 'colector' (valid: collector)"),
      ("wokn: {app: collector}", "unknown promise 'wokn'"),
      ("told nothing twice", "needs what it is about, as in 'told nothing twice: {app: NAME}'"),
      ("recorded", "needs what it is about, as in 'recorded: {app: NAME, event: NAME}'"),
      (
        "'opened only for: alice'",
        "is one word because of its quotes; without them it is 'opened only for: [MACHINE]'"
      ),
      ("told-nothing-twice: {app: collector}", "unknown promise 'told-nothing-twice' (valid: told nothing twice)"),
      ("restored_in_order: {app: collector}", "unknown promise 'restored_in_order' (valid: restored in order)"),
      ("nothing-crashed: {app: collector}", "the promise 'nothing-crashed' is one word, without anything after it"),
      ("nothing crashed", "unknown promise 'nothing crashed' (valid: nothing-crashed)"),
      ("woken: {app: collector, by: valueUpdatd}", "(valid: valueUpdated)"),
      ("told: {app: collector, event: channelOpened}", nil),
      ("told: {app: collector, event: mtuChanged}", "an app is told of no 'mtuChanged'"),
      ("not told: {app: collector, event: updateCredit}", "an app is told of no 'updateCredit'"),
      ("woken: {app: collector, machine: wrist}", "machine 'wrist' has no app 'collector'"),
      ("woken: {app: collector, exactly: many}", "whole number from 0 to 1000000, not 'many'"),
      ("woken: {app: collector, exactly: 1, at least: 1}", "leaves no room"),
      ("woken: {app: collector, at least: 3, at most: 2}", "is more than its 'at most'"),
      ("not woken: {app: collector, at least: 3}", "unknown key 'at least'"),
      ("recorded: {app: collector}", "has no 'event'"),
      ("scanned: {machine: phone, percent at most: 101}", "a whole number from 0 to 100"),
      ("scanned: {machine: phone, percent at least: 9, percent at most: 2}", "is more than its 'percent at most'"),
      ("not scanned: {machine: phone, percent at most: 1}", "unknown key 'percent at most'"),
      ("on the air: {machine: wrist}", "unknown machine 'wrist' (valid: phone)"),
      ("on the air: {machine: phone, lists: [heart]}", "lists service UUIDs"),
      (
        "on the air: {machine: phone, interval at least: 5s, interval at most: 1s}",
        "is more than its 'interval at most'"
      ),
      ("recorded: {app: collector, event: told, fields: {cal: x}}", "the event 'told' has no field 'cal'"),
      ("{woken: {app: collector}, relaunched: {app: collector}}", "a promise is one word, or one key"),
    ])
  func promises(_ promise: String, _ reason: String?) throws {
    let app = "  collector: {info plist: \(Self.inline), executable: a}"
    let yaml = Self.story(app) + "\npromises:\n  - \(promise)"
    let folder = try Folder()
    guard let reason else {
      let scenario = try folder.parse(yaml)
      #expect(scenario.promises.first?.promise != nil)
      #expect(scenario.concernsAir == promise.contains("on the air"))
      return
    }
    let error = #expect(throws: ScenarioError.self) { _ = try folder.parse(yaml) }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "not refused")")
    #expect(error?.line == 9, "\(error?.description ?? "")")
  }
}
