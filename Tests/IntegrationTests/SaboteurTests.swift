import Foundation
import ProcessTesting
import Testing

@testable import Stories

/// A story in which a program misbehaves in exactly the way that a promise is about.
struct Saboteur: Sendable, CustomStringConvertible {
  var promise: String
  /// Which program does what.
  var what: String
  var steps: String
  /// Shell scripts that replace programs; `$REAL` is the folder of the real ones.
  var scripts: [String: String] = [:]
  /// The app that the saboteur replaces, and how it misbehaves.
  var rogue: (app: String, way: String)?
  /// A second door beside the first, at which it happens.
  var garden = false

  var description: String { "\(promise): \(what)\(garden ? ", at one of two doors" : "")" }
}

extension Saboteur {
  private static let atHome = """
      - wait for: {event: lock.started, machine: door, within: 1min}
      - open app: {machine: phone, app: agent}
      - wait for: {event: subscribed, machine: phone, within: 2min}
      - pass: 30s
      - turn bolt: {machine: door, to: unlocked}
      - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked}}
      - leave app: {machine: phone, app: agent}
      - wait for: {event: app.suspended, machine: phone, fields: {app: org.latchkey.agent}}

    """
  /// The result of an agent that sends nothing to the lock: the lock knows of no owner, and stays as it is. Its links and
  /// offers do not let the agent rest until it is away.
  private static let rogueAtHome = """
      - wait for: {event: lock.started, machine: door, within: 1min}
      - open app: {machine: phone, app: agent}
      - wait for: {event: subscribed, machine: phone, within: 2min}
      - pass: 30s
      - leave app: {machine: phone, app: agent}
      - move: {machine: phone, to: [400, 0], as: departure}
      - wait for: {event: app.suspended, machine: phone, fields: {app: org.latchkey.agent}}
      - pass: 1min

    """
  private static let leaving = """
      - move: {machine: phone, to: [400, 0], as: departure}
      - wait for: {event: bolt.moved, machine: door, fields: {to: locked}, within: 1min}

    """
  private static let killed = "  - kill app: {machine: phone, app: agent}\n"
  /// Suddenly at the door: enough for anything that is not about the opening.
  private static let back = """
      - day: 2
        move: {machine: phone, to: [1, 0], as: arrival}
      - pass: 2min

    """
  private static let walkingBack = """
      - day: 2
        move: {machine: phone, to: [1, 0], over: 45s, as: arrival}
      - pass: 3min

    """

  private static func sabotage(_ words: String) -> String { "  - pass: 1s\n    note: sabotage \(words)\n" }

  /// A program that works once, and then does nothing any more.
  private static func once(_ program: String, on machine: String) -> String {
    """
    if [ "$LATCHKEY_MACHINE" = \(machine) ]; then
      [ -e "$0.ran" ] && exec sleep 1000000
      : > "$0.ran"
    fi
    exec $REAL/\(program) "$@"
    """
  }

  private static let hung = """
      - hang app: {machine: door, app: lock}

    """ + sabotage("signal 19 latchkeyd door")

  static let all: [Saboteur] = [
    Saboteur(
      promise: "link-lost-on-leaving", what: "a radio that lets nobody out of its range",
      steps: atHome + "  - move: {machine: phone, to: [400, 0], as: departure}\n  - pass: 1min\n" + back,
      scripts: ["bluez-simulator": #"sed -u -e 's/"x":400/"x":2/' | exec $REAL/bluez-simulator "$@""#]),
    Saboteur(
      promise: "locked-on-leaving", what: "a lock that takes its time",
      steps: atHome + "  - move: {machine: phone, to: [400, 0], as: departure}\n  - pass: 5min\n",
      scripts: ["latchkey-lock": #"exec $REAL/latchkey-lock --leaving-delay 3600 "$@""#]),
    Saboteur(
      promise: "request-held", what: "somebody opens the agent, which can then ask anew",
      steps: atHome + leaving + killed + sabotage("open org.latchkey.agent phone") + back),
    Saboteur(
      promise: "request-held", what: "a latchkeyd that forgets what it promised when it is killed",
      steps: atHome + leaving + killed + "  - kill daemon: phone\n" + back,
      scripts: ["latchkeyd": forgetful]),
    Saboteur(
      promise: "agent-not-running-while-away", what: "somebody starts the agent",
      steps: atHome + leaving + killed + sabotage("open org.latchkey.agent phone") + back),
    Saboteur(
      promise: "daemon-came-back", what: "a latchkeyd that does not start a second time",
      steps: "  - pass: 1min\n  - kill daemon: phone\n  - pass: 1min\n",
      scripts: ["latchkeyd": once("latchkeyd", on: "phone")]),
    Saboteur(
      promise: "lock-relaunched", what: "a lock that does not start a second time",
      steps: "  - pass: 1min\n  - kill app: {machine: door, app: lock}\n  - pass: 1min\n",
      scripts: ["latchkey-lock": once("latchkey-lock", on: "door")]),
    Saboteur(
      promise: "away-long-enough", what: "somebody sets the clock back",
      steps: atHome + leaving + "  - day: 1.5\n    pass: 1s\n    note: sabotage rewind phone\n  - pass: 1s\n" + back),
    Saboteur(
      promise: "relaunched-in-background", what: "a latchkeyd that forgets what it promised when it is killed",
      steps: atHome + leaving + killed + "  - kill daemon: phone\n" + back,
      scripts: ["latchkeyd": forgetful]),
    Saboteur(
      promise: "restored-in-order", what: "an agent that makes its manager anew when it was to restore it",
      steps: rogueAtHome + killed + back, rogue: ("latchkey-agent", "unordered")),
    Saboteur(
      promise: "services-restored", what: "an agent that discovers services at every connection",
      steps: rogueAtHome + killed + back, rogue: ("latchkey-agent", "discovers")),
    Saboteur(
      promise: "subscription-alive", what: "an agent that subscribes at every connection",
      steps: rogueAtHome + back, rogue: ("latchkey-agent", "resubscribes")),
    Saboteur(
      promise: "woken-on-arrival", what: "somebody kills the suspended agent",
      steps: atHome + leaving + sabotage("signal 9 latchkey-agent phone") + back),
    Saboteur(
      promise: "unlocked-once", what: "an agent that writes an unlock for every offer",
      steps: rogueAtHome + walkingBack, rogue: ("latchkey-agent", "unlocks")),
    Saboteur(
      promise: "opened-once", what: "a bolt that opens twice",
      steps: """
          - wait for: {event: lock.started, machine: door, within: 1min}
          - turn bolt: {machine: door, to: locked}
          - move: {machine: phone, to: [400, 0], as: departure}

        """ + walkingBack + "  - turn bolt: {machine: door, to: unlocked}\n  - pass: 10s\n",
      rogue: ("latchkey-lock", "twice")),
    Saboteur(
      promise: "unlock-answered", what: "an agent that never hears the answer",
      steps: rogueAtHome + walkingBack, rogue: ("latchkey-agent", "deaf")),
    Saboteur(
      promise: "never-unlocked-while-away", what: "a hand turns the bolt",
      steps: atHome + leaving + sabotage("turn unlocked door") + back),
    Saboteur(
      promise: "every-movement-recorded", what: "a lock that moves without a record",
      steps:
        "  - wait for: {event: lock.started, machine: door}\n  - turn bolt: {machine: door, to: unlocked}\n  - pass: 10s\n",
      rogue: ("latchkey-lock", "without a record")),
    Saboteur(
      promise: "every-movement-recorded", what: "a lock that uses one record again",
      steps: """
          - wait for: {event: lock.started, machine: door}
          - turn bolt: {machine: door, to: unlocked}
          - turn bolt: {machine: door, to: locked}
          - pass: 10s

        """, rogue: ("latchkey-lock", "one record for all")),
    Saboteur(
      promise: "nothing-refused", what: "an agent that writes what no lock can read",
      steps: "  - open app: {machine: phone, app: agent}\n  - pass: 1min\n", rogue: ("latchkey-agent", "garbage")),
    Saboteur(
      promise: "opened-only-on-arrival", what: "an agent that opens the door to whoever is near",
      steps: "  - open app: {machine: phone, app: agent}\n  - pass: 1min\n", rogue: ("latchkey-agent", "unlocks")),
    Saboteur(
      promise: "opened only for: []", what: "an agent that opens the door to whoever is near",
      steps: "  - open app: {machine: phone, app: agent}\n  - pass: 1min\n", rogue: ("latchkey-agent", "unlocks")),
    Saboteur(
      promise: "refusals-logged", what: "a phone that is told of refusals, of which the log has nothing",
      steps: "  - open app: {machine: phone, app: agent}\n  - pass: 1min\n", rogue: ("latchkey-agent", "refused")),
    Saboteur(
      promise: "asked-without-evidence", what: "an agent that neither opens nor asks",
      steps: rogueAtHome + back, rogue: ("latchkey-agent", "is idle")),
    Saboteur(
      promise: "death-unseen", what: "a lock that does not start a second time",
      steps: atHome + "  - kill app: {machine: door, app: lock}\n  - pass: 1min\n",
      scripts: ["latchkey-lock": once("latchkey-lock", on: "door")]),
    Saboteur(
      promise: "answered-for-the-app", what: "a latchkeyd that hangs as well",
      steps: atHome + leaving + hung + back),
    Saboteur(
      promise: "closed-with-its-link", what: "a latchkeyd that hangs as well",
      steps: atHome + leaving + hung + """
          - day: 2
            move: {machine: phone, to: [1, 0], as: arrival}
          - wait for: {event: offer.asked, machine: phone, within: 2min}
          - pass: 500ms
          - move: {machine: phone, to: [400, 0]}
          - pass: 1min

        """),
    Saboteur(
      promise: "nothing-crashed", what: "the lock crashes (A3)",
      steps: atHome + sabotage("signal 11 latchkey-lock door")),
    Saboteur(
      promise: "nothing-crashed", what: "somebody kills the agent",
      steps: atHome + sabotage("signal 9 latchkey-agent phone")),
    Saboteur(
      promise: "nothing-crashed", what: "latchkeyd crashes", steps: atHome + sabotage("signal 9 latchkeyd phone")),
    Saboteur(
      promise: "nothing-crashed", what: "the bus crashes", steps: atHome + sabotage("signal 9 dbus-daemon phone")),
    Saboteur(
      promise: "nothing-crashed", what: "Bluetooth crashes", steps: atHome + sabotage("signal 9 bluez-simulator")),
    Saboteur(
      promise: "told-nothing-twice", what: "an agent that is told of its one link by two managers",
      steps: "  - open app: {machine: phone, app: agent}\n  - pass: 1min\n", rogue: ("latchkey-agent", "doubled")),
    Saboteur(
      promise: "no-errors-logged", what: "an agent that logs an error",
      steps: "  - open app: {machine: phone, app: agent}\n  - pass: 1min\n", rogue: ("latchkey-agent", "errors")),
  ]

  /// Its second run behaves as if there had been no first.
  private static let forgetful = """
    if [ "$LATCHKEY_MACHINE" = phone ] && [ -e "$0.ran" ]; then
      mkdir -p "$2.new"
      state="$2.new"
      shift 2
      set -- --state "$state" "$@"
    fi
    [ "$LATCHKEY_MACHINE" = phone ] && : > "$0.ran"
    exec $REAL/latchkeyd "$@"
    """
}

@Suite("Promises are seen broken by real processes", .serialized, .timeLimit(.minutes(20)))
struct SaboteurTests {
  @Test("H7: promise X is seen broken by a process that misbehaves in that way", arguments: Saboteur.all)
  func broken(_ saboteur: Saboteur) async throws {
    // Short, because the world's sockets are in it.
    var template = Array("/tmp/sabotage-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
    let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    try FileManager.default.createDirectory(atPath: folder + "/programs", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let real = LatchkeyCommand.programs
    for (program, script) in saboteur.scripts {
      let path = "\(folder)/programs/\(program)"
      try "#!/bin/sh\nREAL='\(real)'\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
    if let rogue = saboteur.rogue {
      // A separate copy, because its name determines which app it is.
      try FileManager.default.copyItem(atPath: real + "/saboteur", toPath: "\(folder)/programs/\(rogue.app)")
    }
    try """
    name: sabotage
    days: 2
    machines:
      door: {position: [0, 0], apps: [lock]}
      phone: {position: [1, 0], apps: [agent]}\(saboteur.garden ? "\n  garden: {position: [8, 0], apps: [lock]}" : "")
    steps:
    \(saboteur.steps)
    promises: [\(saboteur.promise)]
    """.write(toFile: folder + "/story.yaml", atomically: true, encoding: .utf8)
    let outcome = try await TestProcess(
      real + "/saboteur", [folder + "/story.yaml", folder + "/programs", folder + "/report.json"],
      environment: TestProcess.inherited.merging(["TMPDIR": folder, "SABOTAGE": saboteur.rogue?.way ?? ""]) { $1 }
    ).finish()
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    let report = try JSONDecoder().decode(
      Report.self, from: Data(contentsOf: URL(fileURLWithPath: folder + "/report.json")))
    let result = try #require(report.promises.first)
    #expect(result.judgement == .broken, "\(result.reason)\n\(outcome.output)")
    #expect(!saboteur.garden || result.reason.hasPrefix("garden: "), "\(result.reason)")
    #expect(!report.kept)
  }

  @Test("H7: every promise has a saboteur")
  func complete() {
    #expect(Set(Saboteur.all.map(\.promise).filter { !$0.contains(":") }) == Set(Promise.all.map(\.name)))
  }
}
