import Foundation
import Testing

/// The worst moment for a process to die is during the arrival, between the link and the bolt.
@Suite("Killed on arrival, with real processes", .serialized, .timeLimit(.minutes(20)))
struct KilledOnArrivalTests {
  /// A moment of the arrival: this long after an event of the phone's or the door's.
  struct Death: Sendable, CustomStringConvertible {
    let step: String
    let event: String
    let machine: String
    let milliseconds: Int
    init(_ step: String, _ event: String, at machine: String, _ milliseconds: Int = 0) {
      self.step = step
      self.event = event
      self.machine = machine
      self.milliseconds = milliseconds
    }
    var description: String { "\(step), \(milliseconds) ms after \(event)" }
  }

  /// Once the owner walks in, a link takes up to two minutes to come up, and the way to the door as long again. The
  /// unlock is written at the door. Its way to the lock, the lock's acceptance, the answer's way back and the turn of
  /// the bolt take 30 to 600 ms from then on. So each death waits for the event it is to hit.
  static let moments: [(event: String, machine: String, milliseconds: [Int])] = [
    ("didConnect", "phone", [0, 140]), ("approach.began", "phone", [0, 200]),
    ("unlock.written", "phone", [0, 15, 45, 100]), ("command.accepted", "door", [0, 15, 300]),
    ("bolt.moved", "door", [0]), ("unlock.answered", "phone", [0]),
  ]
  static let deaths: [Death] = moments.flatMap { moment in
    moment.milliseconds.flatMap { milliseconds in
      ["kill daemon: {machine: phone}", "kill daemon: {machine: door}"].map {
        Death($0, moment.event, at: moment.machine, milliseconds)
      }
    }
  }

  @Test("L3: latchkeyd dies at any moment of the arrival, on either side, and the door opens, once", arguments: deaths)
  func daemon(death: Death) async throws { try await tell(death) }

  /// Between the stored decision and the write, between the write and its answer, and between the record and the
  /// turn.
  static let appDeaths: [Death] = [0, 15, 45, 100].flatMap { milliseconds in
    [
      Death("kill app: {machine: phone, app: agent}", "unlock.written", at: "phone", milliseconds),
      Death("kill app: {machine: door, app: lock}", "unlock.written", at: "phone", milliseconds),
    ]
  }

  @Test("L3, L4: the agent or the lock dies around the unlock, and the door opens, once", arguments: appDeaths)
  func app(death: Death) async throws { try await tell(death) }

  private func tell(_ death: Death) async throws {
    let file = NSTemporaryDirectory() + "/latchkey-arrival-\(UUID().uuidString).yaml"
    defer { try? FileManager.default.removeItem(atPath: file) }
    try Self.story(death).write(toFile: file, atomically: true, encoding: .utf8)
    let outcome = try await LatchkeyCommand.run(["prove", file])
    #expect(outcome.status == 0, "\(death)\n\(outcome.output)\n\(outcome.errors)")
  }

  private static func story(_ death: Death) -> String {
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
          - wait for: {event: \(death.event), machine: \(death.machine), within: 4min}
          - pass: \(death.milliseconds)ms
          - \(death.step)
          - pass: 5min
        promises: [locked-on-leaving, never-unlocked-while-away, opened-once]
    promises: [every-movement-recorded, told-nothing-twice, nothing-refused]
    """
  }
}
