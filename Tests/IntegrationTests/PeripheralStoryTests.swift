import Foundation
import Testing

@testable import Stories

/// The peripheral role under the rules of the background, and the flow of values, shown by apps that are processes.
@Suite("Peripheral apps, with real processes", .serialized, .timeLimit(.minutes(20)))
struct PeripheralStoryTests {
  private func keeps(_ story: AppStory) async throws -> AppStory.Told {
    let told = try await story.tell()
    #expect(told.report.problem == nil, "\(told.output)")
    let unkept = told.report.promises.filter { !$0.kept }.map { "\($0.scope): \($0.name): \($0.reason)" }
    #expect(unkept.isEmpty, "\(told.output)")
    return told
  }

  /// A sensor that others read; it has a characteristic to read, to write and to subscribe to.
  private static let sensor = AppStory.App(
    name: "sensor", modes: "bluetooth-peripheral",
    arguments: ["peripheral:sensor", "service=181A", "characteristic=2A6E:read+write+notify", "name=Sensor"])
  /// Always in the foreground, because nobody leaves it.
  private static func reader(_ arguments: [String]) -> AppStory.App {
    AppStory.App(
      name: "reader", modes: "bluetooth-central", arguments: ["central", "connect=181A"] + arguments, keepAlive: true)
  }

  @Test("B4, S5, S11: a read wakes a suspended peripheral app, and relaunches a dead one, which gets its services back")
  func read() async throws {
    _ = try await keeps(
      AppStory(
        app: Self.sensor, other: Self.reader(["read=2A6E", "every=600"]),
        chapters: """
            - name: open, and left
              steps:
          \(AppStory.left("sensor", until: "read"))
                - pass: 1s
            - name: suspended
              steps:
                - pass: 1h
              promises:
                - woken: {app: sensor, by: readRequested, at least: 4}
                - recorded: {app: reader, event: value, fields: {error: none}, at least: 4}
                - on the air: {machine: phone, name: absent, omits: [181A]}
            - name: dead
              steps:
                - reclaim app: {machine: phone, app: sensor}
                - pass: 1h
              promises:
                - relaunched: {app: sensor, restoring: [sensor], exactly: 1}
                - restored in order: {app: sensor}
                - recorded: {app: sensor, event: restored, fields: {services: 1, advertising: Sensor}, exactly: 1}
          """))
  }

  @Test("B4: a write wakes a suspended peripheral app, and a subscription does")
  func write() async throws {
    _ = try await keeps(
      AppStory(
        app: Self.sensor, other: Self.reader(["notify=2A6E", "write=2A6E", "every=600"]), place: "[400, 0]",
        chapters: """
            - name: nobody is there
              steps:
          \(AppStory.left("sensor", until: "advertises"))
            - name: somebody comes
              steps:
                - move: {machine: wrist, to: [0, 0]}
                - wait for: {event: written, machine: phone, process: sensor, within: 5min}
                - pass: 1h
              promises:
                - woken: {app: sensor, by: writeRequested, at least: 4}
                - recorded: {app: sensor, event: subscriber, exactly: 1}
                - recorded: {app: reader, event: wrote, fields: {error: none}, at least: 4}
          """))
  }

  @Test("C6: two machines with one app, central and peripheral to each other over one link, get each other's values")
  func bothRoles() async throws {
    func peer(_ name: String) -> AppStory.App {
      AppStory.App(
        name: name, modes: "bluetooth-central, bluetooth-peripheral",
        arguments: [
          "peripheral", "service=181A", "characteristic=2A6E:read+write+notify", "name=\(name)", "push=3", "central",
          "connect=181A", "notify=2A6E",
        ], keepAlive: true)
    }
    let told = try await keeps(
      AppStory(
        app: peer("left"), other: peer("right"),
        chapters: """
            - name: they meet
              steps:
                - pass: 1min
              promises:
                - recorded: {app: left, event: subscriber, exactly: 1}
                - recorded: {app: right, event: subscriber, exactly: 1}
                - recorded: {app: left, event: value, exactly: 3}
                - recorded: {app: right, event: value, exactly: 3}
          """))
    let start = told.records("started", of: "left").first?["at"].flatMap { Double($0) } ?? 0
    let world = Date(timeIntervalSince1970: 1_767_225_600).timeIntervalSinceReferenceDate
    #expect(abs(start - world) < 60, "the time that didDisconnectPeripheral gives is the story's as well")
  }

  @Test("C7: a peripheral that takes its service away keeps the link of its central, which finds what is left")
  func takenAway() async throws {
    _ = try await keeps(
      AppStory(
        app: Self.sensor.with(Self.sensor.arguments + ["retract=30"], keepAlive: true),
        other: Self.reader(["notify=2A6E"]),
        chapters: """
            - name: it does
              steps:
                - wait for: {event: retracted, machine: phone, process: sensor, within: 5min}
                - pass: 5min
              promises:
                - recorded: {app: reader, event: services, fields: {wanted: true}, exactly: 1}
                - recorded: {app: reader, event: modified, exactly: 1}
                - recorded: {app: reader, event: services, fields: {wanted: false, error: none}, exactly: 1}
                - not told: {app: reader, event: disconnected}
          """))
  }

  @Test("C2: a peripheral that the app let go of, and whose signal stays as it is, is discovered again")
  func discoveredAgain() async throws {
    _ = try await keeps(
      AppStory(
        app: Self.sensor.with(keepAlive: true), other: Self.reader(["cancels=yes"]),
        chapters: """
            - name: it comes, goes, and is still there
              steps:
                - wait for: {event: disconnected, machine: wrist, process: reader, within: 5min}
                - pass: 5min
              promises:
                - recorded: {app: reader, event: connected, exactly: 1}
                - recorded: {app: reader, event: discovered, fields: {name: Sensor}, exactly: 2}
          """))
  }

  @Test("F3: without a background mode a suspended app advertises nothing, and its peers get an error")
  func modeless() async throws {
    let told = try await keeps(
      AppStory(
        app: Self.sensor.with(
          modes: "",
          [
            "peripheral", "service=181A", "characteristic=2A6E:read", "name=Sensor",
          ]), other: Self.reader(["read=2A6E", "every=600"]),
        chapters: """
            - name: left
              steps:
          \(AppStory.left("sensor", until: "read"))
                - pass: 1s
            - name: suspended
              steps:
                - pass: 1h
              promises:
                - not woken: {app: sensor}
                - not told: {app: sensor, event: readRequested}
                - not on the air: {machine: phone}
          """))
    let late = told.records("value", of: "reader").dropFirst()
    #expect(late.count >= 4 && late.allSatisfy { $0["error"] != "none" }, "\(late)")
  }

  @Test(
    "C5, C6: writes without response wait for room, and all of them arrive in order, answered or, as on iOS, not",
    arguments: ["no", "yes"])
  func backPressure(mute: String) async throws {
    let told = try await keeps(
      AppStory(
        app: AppStory.collector.with(["central", "connect=181A", "write=2A6E", "response=no", "count=300"]),
        other: AppStory.App(
          name: "sink", modes: "bluetooth-peripheral",
          arguments: [
            "peripheral:sink", "service=181A", "characteristic=2A6E:writeWithoutResponse", "name=Sink", "mute=\(mute)",
          ],
          keepAlive: true),
        chapters: """
            - name: all at once
              steps:
                - open app: {machine: phone, app: collector}
                - wait for: {event: sent, machine: phone, process: collector, within: 5min}
                - pass: 1min
              promises:
                - recorded: {app: collector, event: full}
                - recorded: {app: collector, event: ready}
                - recorded: {app: sink, event: written, exactly: 300}
          """))
    let values = told.records("written", of: "sink").compactMap { $0["value"].flatMap { Int($0) } }
    #expect(values == Array(1...300))
  }

  @Test("C5, C6: more indications than there is room for wait, and all of them arrive in order")
  func indications() async throws {
    let told = try await keeps(
      AppStory(
        app: AppStory.collector.with(["central", "connect=181A", "notify=2A6E"]),
        other: AppStory.App(
          name: "source", modes: "bluetooth-peripheral",
          arguments: [
            "peripheral:source", "service=181A", "characteristic=2A6E:indicate", "name=Source", "push=200",
          ], keepAlive: true),
        chapters: """
            - name: all at once
              steps:
                - open app: {machine: phone, app: collector}
                - wait for: {event: pushed, machine: wrist, process: source, within: 5min}
                - pass: 1min
              promises:
                - recorded: {app: source, event: full}
                - recorded: {app: collector, event: value, exactly: 200}
          """))
    let values = told.records("value", of: "collector").compactMap { $0["value"].flatMap { Int($0) } }
    #expect(values == Array(1...200))
  }
}
