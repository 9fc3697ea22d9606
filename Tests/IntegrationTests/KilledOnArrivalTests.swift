import Foundation
import Testing

/// The worst moment for a process to die is the arrival: between the link and the bolt.
@Suite("Killed on arrival, with real processes", .serialized, .timeLimit(.minutes(10)))
struct KilledOnArrivalTests {
  /// Whom to kill, and how long after the link came up, in milliseconds. From the link-up to the bolt it takes about
  /// 1,200 ms: the offer, the unlock write, its answer, and the bolt's turn lie between these moments.
  static let deaths: [(step: String, milliseconds: Int)] = [0, 110, 140, 300, 560, 800, 1200].flatMap {
    [("kill daemon: phone", $0), ("kill daemon: door", $0)]
  }

  @Test("L3: latchkeyd dies at any moment of the arrival, on either side, and the door opens, once", arguments: deaths)
  func daemon(death: (step: String, milliseconds: Int)) async throws {
    let file = NSTemporaryDirectory() + "/latchkey-arrival-\(UUID().uuidString).yaml"
    defer { try? FileManager.default.removeItem(atPath: file) }
    try Self.story(death).write(toFile: file, atomically: true, encoding: .utf8)
    let outcome = try await LatchkeyCommand.run(["prove", file])
    #expect(outcome.status == 0, "\(death)\n\(outcome.output)\n\(outcome.errors)")
  }

  private static func story(_ death: (step: String, milliseconds: Int)) -> String {
    """
    name: killed on arrival
    days: 2
    machines:
      door: {position: [0, 0], apps: [lock]}
      phone: {position: [1, 0], apps: [agent]}
    chapters:
      - name: away
        steps:
          - open app: {machine: phone, app: agent}
          - wait for: {event: subscribed, machine: phone, within: 2min}
          - pass: 30s
          - turn bolt: {machine: door, to: unlocked}
          - leave app: {machine: phone, app: agent}
          - wait for: {event: app.suspended, machine: phone, fields: {app: org.latchkey.agent}, within: 2min}
          - at: +10min
            move: {machine: phone, to: [200, 0], over: 140s, as: departure}
          - wait for: {event: bolt.moved, machine: door, fields: {to: locked}, within: 5min}
          - at: +3h
            kill app: {machine: phone, app: agent}
          - day: 2
            move: {machine: phone, to: [1, 0], over: 140s, as: arrival}
          - wait for: {event: link.up, within: 4min}
          - pass: \(death.milliseconds)ms
          - \(death.step)
          - pass: 5min
        promises: [locked-on-leaving, never-unlocked-while-away, opened-once]
    promises: [every-movement-recorded, told-nothing-twice]
    """
  }
}
