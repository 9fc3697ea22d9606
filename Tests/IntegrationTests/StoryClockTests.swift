import Foundation
import Testing

@testable import Stories

/// Stories that set the clocks of their machines.
@Suite("Clocks that a story sets, with real processes", .serialized, .timeLimit(.minutes(10)))
struct StoryClockTests {
  @Test("H6: an app on a machine whose clock a story sets sees the other date, and waits as long as before")
  func appsDate() async throws {
    let told = try await AppStory(
      app: AppStory.collector, other: AppStory.band,
      chapters: """
          - name: before
            steps:
        \(AppStory.left("collector", until: "value"))
              - quit app: {machine: phone, app: collector}
          - name: a day behind
            steps:
              - set clock: {machine: phone, by: -1d}
              - open app: {machine: phone, app: collector}
              - wait for: {event: value, machine: phone, process: collector, within: 2min}
              - reboot: {machine: phone, for: 10s}
              - open app: {machine: phone, app: collector}
              - wait for: {event: value, machine: phone, process: collector, within: 2min}
              - quit app: {machine: phone, app: collector}
          - name: a year ahead
            steps:
              - set clock: {machine: phone, by: +366d}
              - open app: {machine: phone, app: collector}
              - wait for: {event: value, machine: phone, process: collector, within: 2min}
        """
    ).tell()
    #expect(told.promises(.broken) == [] && told.report.problem == nil, "\(told.output)")
    let dates = told.records("started", of: "collector").compactMap { $0["at"].flatMap { Int($0) } }
    let day = 86400
    try #require(dates.count == 4, "\(dates)")
    // The story itself takes some minutes.
    #expect((-day..<(-day + 600)).contains(dates[1] - dates[0]), "\(dates)")
    #expect((-day..<(-day + 900)).contains(dates[2] - dates[0]), "a reboot keeps the date: \(dates)")
    #expect((365 * day..<(365 * day + 1200)).contains(dates[3] - dates[0]), "\(dates)")
    // Values come every minute, whatever the date.
    #expect(told.report.virtualSeconds < 1200)
  }

  @Test("L7 L8: a phone's wrong clock opens no door, and guests come by the clock that the owner has set")
  func guestsClock() async throws {
    let (report, outcome) = try await LatchkeyCommand.prove(
      """
      name: clocks
      days: 1
      radio: clear
      machines:
        door: {position: [0, 0], apps: [lock]}
        alice: {position: [1, 0], apps: [agent]}
        ben: {position: [2, 0], apps: [agent], enrolled: no}
      steps:
        - open app: {machine: alice, app: agent}
        - wait for: {event: status.answered, machine: alice, within: 2min}
        - open app: {machine: ben, app: agent}
        - invite guest: {machine: alice, guest: Ben, from: 0.5, until: 0.9}
        - accept invitation: {machine: ben, guest: Ben}
        - wait for: {event: status.answered, machine: ben, within: 2min}
        - set clock: {machine: ben, by: +14h}
        - unlock: {machine: ben, expect: refused, saying: does not count at this time}
        - set clock: {machine: door, by: +14h}
        - unlock: {machine: ben, expect: refused, saying: does not count at this time}
        - set clock: {machine: alice, by: +14h}
        - pass: 2h
        - unlock: {machine: ben, expect: refused, saying: does not count at this time}
        - set lock clock: alice
        - unlock: {machine: ben, saying: The door is unlocked}
        - lock: ben
        - set clock: {machine: alice, by: -14h}
        - set lock clock: alice
        - unlock: {machine: ben, expect: refused, saying: does not count at this time}
      promises:
        - opened only for: [ben]
        - opened-only-on-arrival
        - nothing-crashed
        - no-errors-logged
      """)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    #expect(report.kept, "\(report.problem ?? "")")
  }
}
