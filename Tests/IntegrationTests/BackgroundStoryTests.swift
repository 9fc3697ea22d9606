import Foundation
import Testing

@testable import Stories

/// The rules of the background, shown by apps that are processes of their own.
@Suite("The rules of the background, with real processes", .serialized, .timeLimit(.minutes(20)))
struct BackgroundStoryTests {
  private func keeps(_ story: AppStory) async throws -> AppStory.Told {
    let told = try await story.tell()
    #expect(told.report.problem == nil, "\(told.output)")
    let unkept = told.report.promises.filter { !$0.kept }.map { "\($0.scope): \($0.name): \($0.reason)" }
    #expect(unkept.isEmpty, "\(told.output)")
    return told
  }

  // MARK: Central

  @Test("B1, S9, S10: a suspended app is woken by values, and a dead one is relaunched and restored in order")
  func collects() async throws {
    let told = try await keeps(
      AppStory(
        app: AppStory.collector, other: AppStory.band,
        chapters: """
            - name: suspended
              steps:
          \(AppStory.left("collector", until: "value"))
                - pass: 10min
              promises:
                - woken: {app: collector, by: valueUpdated, at least: 3}
                - not relaunched: {app: collector}
                - told nothing twice: {app: collector}
            - name: dead
              steps:
                - reclaim app: {machine: phone, app: collector}
                - pass: 10min
              promises:
                - relaunched: {app: collector, restoring: [main], exactly: 1}
                - restored in order: {app: collector}
                - recorded: {app: collector, event: restored, fields: {peripherals: 1, states: connected}}
                - not told: {app: collector, event: connected}
          """))
    let values = told.records("value", of: "collector").compactMap { $0["value"].flatMap { Int($0) } }
    #expect(values.count > 15)
    #expect(values == values.sorted() && Set(values).count == values.count, "\(values)")
  }

  @Test("S10, C3: an app that is relaunched by its connection and asks for it again is told of it once")
  func asksAgain() async throws {
    _ = try await keeps(
      AppStory(
        app: AppStory.collector, other: AppStory.band,
        chapters: """
            - name: away, and dead
              steps:
          \(AppStory.left("collector", until: "value"))
                - move: {machine: wrist, to: [300, 0]}
                - pass: 1h
                - reclaim app: {machine: phone, app: collector}
                - move: {machine: wrist, to: [0, 0]}
                - pass: 10min
              promises:
                - relaunched: {app: collector, restoring: [main], exactly: 1}
                - restored in order: {app: collector}
                - told nothing twice: {app: collector}
          """))
  }

  @Test("F1, F4: without a background mode a suspended app learns nothing, and hears it all in order when it is opened")
  func modeless() async throws {
    let told = try await keeps(
      AppStory(
        app: AppStory.collector.with(modes: "", ["central", "connect=180D", "notify=2A37"]), other: AppStory.band,
        chapters: """
            - name: left
              steps:
          \(AppStory.left("collector", until: "value"))
            - name: away
              steps:
                - pass: 1h
              promises:
                - not woken: {app: collector}
                - not told: {app: collector}
            - name: opened again
              steps:
                - open app: {machine: phone, app: collector}
                - wait for: {event: value, machine: phone, process: collector, within: 1min}
                - pass: 2s
              promises:
                - told: {app: collector, event: valueUpdated, at least: 50}
          """))
    let values = told.records("value", of: "collector").compactMap { $0["value"].flatMap { Int($0) } }
    #expect(values.count > 50)
    #expect(values == Array((values.first ?? 0)..<(values.first ?? 0) + values.count), "\(values)")
  }

  @Test("F2: without a background mode the scan of a suspended app rests, and goes on when it is opened")
  func modelessScan() async throws {
    _ = try await keeps(
      AppStory(
        app: AppStory.collector.with(modes: "", ["central", "scan=180D"]), other: AppStory.band, place: "[400, 0]",
        chapters: """
            - name: left
              steps:
          \(AppStory.left("collector", until: "state"))
                - pass: 1s
            - name: a band comes by
              steps:
                - move: {machine: wrist, to: [0, 0]}
                - pass: 1h
              promises:
                - not told: {app: collector}
                - not scanned: {machine: phone}
            - name: opened again
              steps:
                - open app: {machine: phone, app: collector}
                - wait for: {event: discovered, machine: phone, process: collector, within: 1min}
              promises:
                - scanned: {machine: phone}
          """))
  }

  @Test("B1, B2: a scan in the background discovers, wakes the app, and tells it of each peripheral once")
  func backgroundScan() async throws {
    _ = try await keeps(
      AppStory(
        app: AppStory.collector.with(["central:main", "scan=180D", "duplicates=yes"]), other: AppStory.band,
        place: "[400, 0]",
        chapters: """
            - name: left
              steps:
          \(AppStory.left("collector", until: "state"))
            - name: a band comes by
              steps:
                - move: {machine: wrist, to: [0, 0]}
                - wait for: {event: discovered, machine: phone, process: collector, within: 10min}
                - pass: 1h
              promises:
                - woken: {app: collector, by: discovered, exactly: 1}
                - told: {app: collector, event: discovered, exactly: 1}
          """))
  }

  @Test("S2, S11, S13: the scan of a dead app goes on, relaunches it, and is restored with its services")
  func restoredScan() async throws {
    _ = try await keeps(
      AppStory(
        app: AppStory.collector.with(["central:main", "scan=180D"]), other: AppStory.band, place: "[400, 0]",
        chapters: """
            - name: dead
              steps:
          \(AppStory.left("collector", until: "state"))
                - reclaim app: {machine: phone, app: collector}
                - wait for: {event: app.ended, machine: phone, fields: {app: org.example.collector}}
            - name: a band comes by
              steps:
                - move: {machine: wrist, to: [0, 0]}
                - wait for: {event: discovered, machine: phone, process: collector, within: 10min}
              promises:
                - relaunched: {app: collector, restoring: [main], exactly: 1}
                - restored in order: {app: collector}
                - recorded: {app: collector, event: restored, fields: {scan: 180D}, exactly: 1}
          """))
  }

  @Test("S1: an app whose manager has no restore identifier is not relaunched")
  func notPreserved() async throws {
    _ = try await keeps(
      AppStory(
        app: AppStory.collector.with(["central", "connect=180D", "notify=2A37"]), other: AppStory.band,
        chapters: """
            - name: dead
              steps:
          \(AppStory.left("collector", until: "value"))
                - reclaim app: {machine: phone, app: collector}
                - pass: 1h
              promises:
                - not relaunched: {app: collector}
          """))
  }

  @Test("S9: all managers of a relaunched app are restored, each by its identifier")
  func severalManagers() async throws {
    _ = try await keeps(
      AppStory(
        app: AppStory.collector.with([
          "central:one", "connect=180D", "notify=2A37", "central:two", "connect=180D", "read=2A37",
        ]), other: AppStory.band,
        chapters: """
            - name: dead
              steps:
                - open app: {machine: phone, app: collector}
                - wait for: {event: value, machine: phone, process: collector, fields: {manager: one}, within: 2min}
                - wait for: {event: connected, machine: phone, process: collector, fields: {manager: two}, within: 2min}
                - leave app: {machine: phone, app: collector}
                - reclaim app: {machine: phone, app: collector}
                - wait for: {event: restored, machine: phone, process: collector, fields: {manager: two}, within: 5min}
                - pass: 2s
              promises:
                - relaunched: {app: collector, restoring: [one, two], exactly: 1}
                - restored in order: {app: collector}
          """))
  }

  @Test("W1, S13: an app that the user quit is not relaunched until it is opened, and keeps its managers' state")
  func quit() async throws {
    _ = try await keeps(
      AppStory(
        app: AppStory.collector, other: AppStory.band,
        chapters: """
            - name: quit
              steps:
          \(AppStory.left("collector", until: "value"))
                - quit app: {machine: phone, app: collector}
                - pass: 1h
              promises:
                - not relaunched: {app: collector}
            - name: opened again
              steps:
                - open app: {machine: phone, app: collector}
                - wait for: {event: started, machine: phone, process: collector}
                - pass: 10s
          """))
  }

  @Test("S13: an app that died is not relaunched after the user has switched Bluetooth off and on in the settings")
  func settings() async throws {
    _ = try await keeps(
      AppStory(
        app: AppStory.collector, other: AppStory.band,
        chapters: """
            - name: dead
              steps:
          \(AppStory.left("collector", until: "value"))
                - move: {machine: wrist, to: [400, 0]}
                - wait for: {event: link.down, within: 1min}
                - pass: 1min
                - reclaim app: {machine: phone, app: collector}
                - pass: 1min
            - name: switched off and on
              steps:
                - bluetooth: {machine: phone, to: off}
                - pass: 1min
                - bluetooth: {machine: phone, to: on}
                - move: {machine: wrist, to: [0, 0]}
                - pass: 1h
              promises:
                - not relaunched: {app: collector}
          """))
  }

  @Test("F5: the user is alerted of a connection that an app wants to be told of while it is suspended")
  func alert() async throws {
    _ = try await keeps(
      AppStory(
        app: AppStory.collector.with(modes: "", ["central", "connect=180D", "notify=2A37", "alert=connection"]),
        other: AppStory.band,
        chapters: """
            - name: left
              steps:
          \(AppStory.left("collector", until: "value"))
                - move: {machine: wrist, to: [400, 0]}
                - wait for: {event: link.down, within: 1min}
                - pass: 1min
              promises:
                - not alerted: {app: collector}
          """))
  }
}
