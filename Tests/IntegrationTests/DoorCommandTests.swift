import AgentQuestions
import Foundation
import MachinePresentation
import ProcessTesting
import Testing

@testable import Worlds

/// What a person types about a door, with the lock, the agent, and a latchkeyd for each, in real processes.
@Suite("Commands about a door", .serialized, .timeLimit(.minutes(20)))
struct DoorCommandTests {
  private func read<Answer: Decodable>(_ type: Answer.Type, _ outcome: TestProcess.Outcome) throws -> Answer {
    try JSONDecoder().decode(type, from: Data(outcome.output.utf8))
  }

  @Test("L8, W2: at a lock that has a link and answers nothing, the agent waits to the end, and says so")
  func silentLock() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    home.freeze(Household.door)
    for command in ["unlock", "door"] {
      let asked = try await home.latchkey("alice", command)
      #expect(asked.status == 1, "\(asked)")
      #expect(
        asked.errors.contains("The lock did not answer") || asked.errors.contains("The link to the lock was lost"),
        "\(asked)")
    }
    #expect(try !home.journalText().contains("app.overran"))
  }

  @Test("L8: a word whose person gives up is taken back if it can be, and the person is told what is known")
  func givenUp() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    home.freeze(Household.door)
    for (word, number) in [("unlock", SIGINT), ("lock", SIGTERM)] {
      let asked = try await home.latchkeyToEnd("alice", word)
      try await home.hear(word == "unlock" ? "word.given" : "question.asked", on: "alice")
      asked.signal(number)
      let outcome = try await asked.finish()
      #expect(outcome.status == 128 + number, "\(outcome)")
      #expect(outcome.errors.contains("taking that back") && outcome.output.isEmpty, "\(outcome)")
      #expect(outcome.errors.contains("given up") || outcome.errors.contains("link to the lock was lost"), "\(outcome)")
    }
    // Nobody hears what becomes of the word of a command that is killed, but it is taken back as well.
    let killed = try await home.latchkeyToEnd("alice", "unlock")
    try await home.hear("word.given", on: "alice")
    killed.signal(SIGKILL)
    _ = try await killed.finish()
    try await home.hear("word.answered", on: "alice")
    let outcomes = try home.journalText().split(separator: "\n").filter { $0.contains("word.answered") }
    #expect(outcomes.allSatisfy { $0.contains("takenBack") || $0.contains("sentAlready") || $0.contains("linkLost") })
  }

  @Test("L8: a person at a terminal is told that their command still waits; a program is told nothing before the end")
  func patience() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    home.freeze("alice")
    async let piped = home.latchkey("alice", "door")
    let terminal = try await home.latchkeyAtTerminal("alice", "door")
    let note = "org.latchkey.agent has not answered yet"
    _ = try await terminal.hear(note)
    home.thaw("alice")
    let answer = try await terminal.finish()
    #expect(answer.status == 0, "\(answer)")
    let program = try await piped
    #expect(program.status == 0 && program.errors.isEmpty, "\(program)")
  }

  @Test("L8: a person unlocks, locks and looks at a door by command, and reads who did what in its log")
  func commands() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    let first = try await home.latchkey("alice", "door", "--json")
    #expect(first.status == 0, "\(first)")
    let before = try read(DoorAnswer.self, first)
    #expect(before.bolt == "locked" && before.position == "shut" && before.lastMovement == nil && before.battery == nil)
    #expect(before.records == 0 && before.troubles.isEmpty)

    let unlocked = try await home.latchkey("alice", "unlock")
    #expect(unlocked.status == 0 && unlocked.output == "The door is unlocked.\n", "\(unlocked)")
    let looked = try await home.latchkey("alice", "door")
    #expect(
      looked.status == 0 && looked.output.hasPrefix("door: unlocked, shut\nbattery: not measured\nlast: "), "\(looked)")
    #expect(looked.output.contains("unlocked, by this phone\nlog: 2 records\n"), "\(looked)")

    try home.hardware.moveDoor(isOpen: true)
    let refused = try await home.latchkey("alice", "lock")
    #expect(refused.status == 1 && refused.errors.contains("The door is open: shut it first."), "\(refused)")
    try home.hardware.moveDoor(isOpen: false)
    let locked = try await home.latchkey("alice", "lock", "--json")
    let bolt = try read(BoltAnswer.self, locked)
    #expect(bolt == BoltAnswer(door: "door", bolt: "locked", position: "shut", result: "done"))
    let status = try await home.latchkey("alice", "status").output
    let told = status.split(separator: "\n").filter { $0.contains("  Door: ") }.map {
      $0.split(separator: ": ").dropFirst().joined(separator: ": ")
    }
    #expect(told == ["locked, as you asked", "not locked: the door is open", "unlocked, as you asked"], "\(status)")
    let again = try await home.latchkey("alice", "lock", "door")
    #expect(again.status == 0 && again.output == "The door was locked already.\n", "\(again)")
    let unknown = try await home.latchkey("alice", "lock", "shed")
    #expect(
      unknown.status == 1 && unknown.errors.contains("There is no door \"shed\" here; there is: door."), "\(unknown)")

    try home.hardware.turnBolt(isLocked: false)
    let log = try await home.latchkey("alice", "log")
    #expect(log.status == 0, "\(log)")
    let lines = log.output.split(separator: "\n").map { $0.split(separator: "  ").last.map(String.init) }
    #expect(
      lines == [
        "begins to unlock, by this phone", "unlocked, by this phone", "asked to lock, by this phone: the door was open",
        "begins to lock, by this phone", "locked, by this phone", "asked to lock, by this phone: it was locked already",
        "unlocked by hand",
      ], "\(log)")
    let all = try read(LogAnswer.self, try await home.latchkey("alice", "log", "--all", "--json"))
    #expect(all.records.map(\.index) == Array(1...7) && all.first == 1 && all.last == 7 && all.end.index == 7)
    let last = try read(LogAnswer.self, try await home.latchkey("alice", "log", "--last", "2", "--json"))
    #expect(last.records.map(\.index) == [6, 7] && last.end == all.end)
  }

  @Test(
    "L7, L8: a person measures the rooms of the home, is shown and forgets them, and out of range nothing is measured")
  func rooms() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    let near = try await home.latchkey("alice", "room", "--json")
    #expect(near.status == 0, "\(near)")
    let hall = try read(RoomAnswer.self, near)
    let signal = try #require(hall.signal)
    #expect(hall.door == "door" && (-70 ... -30).contains(signal) && hall.weakest == signal && hall.limit == -86)

    try await home.world("{\"move\":{\"machine\":\"alice\",\"x\":-14,\"y\":0}}")
    let far = try await home.latchkey("alice", "room", "door")
    #expect(far.status == 0, "\(far)")
    let known = try read(RoomAnswer.self, try await home.latchkey("alice", "room", "--show", "--json"))
    let weakest = try #require(known.weakest)
    #expect(known.signal == nil && weakest < -80 && known.limit == min(-86, weakest - 4))
    #expect(
      far.output.hasPrefix(
        "this room: \(weakest) dBm\nweakest room: \(weakest) dBm\n"
          + "coming home: a link that comes up at \(known.limit) dBm or weaker\n"), "\(far)")
    // What was measured outlives the agent.
    try await home.startDaemon("alice")
    let again = try read(RoomAnswer.self, try await home.latchkey("alice", "room", "--show", "--json"))
    #expect(again == known)

    let forgotten = try await home.latchkey("alice", "room", "--forget")
    #expect(
      forgotten.output
        == "weakest room: none was measured\ncoming home: a link that comes up at -86 dBm or weaker\n", "\(forgotten)")
    let both = try await home.latchkey("alice", "room", "--forget", "--show")
    #expect(both.status == 64 && both.errors.contains("--forget and --show exclude each other."), "\(both)")

    try await home.carryAway("alice")
    var away = try await home.latchkey("alice", "room")
    // The link may be lost only now.
    if away.errors.contains("was lost before") { away = try await home.latchkey("alice", "room") }
    #expect(away.status == 1 && away.errors.contains("There is no link to the lock here"), "\(away)")
  }

  @Test("L8: on a machine without an agent, what asks one says so, and what to do; other apps are named as ever")
  func noAgent() async throws {
    let home = try await Household(phones: [])
    let commands = [["door"], ["unlock"], ["lock"], ["log"], ["owners"], ["room"], ["guests", "list"], ["enroll"]]
    for command in commands {
      let outcome = try await home.latchkey(Household.door, command, input: try home.lockCode().words)
      #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
      #expect(
        outcome.errors
          == "latchkey: this is the lock's machine, and it has no agent, which has the keys: run this on the phone's "
          + "machine. `latchkey status` shows the lock here\n", "\(outcome)")
    }
    let other = try await home.latchkey(Household.door, "door", "--app", "org.example.keys")
    #expect(
      other.status == 1 && other.errors.contains("no app \"org.example.keys\" here; there are: org.latchkey.lock."),
      "\(other)")
  }

  @Test("L8: a log of many records is shown as any other, in answers of more than a short text's length")
  func longLog() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    for number in 1...40 { try home.hardware.turnBolt(isLocked: number % 2 == 0) }
    let log = try await home.latchkey("alice", "log", "--last", "40")
    #expect(log.status == 0 && log.output.split(separator: "\n").count == 40, "\(log)")
    let all = try read(LogAnswer.self, try await home.latchkey("alice", "log", "--all", "--json"))
    #expect(all.records.map(\.index) == Array(1...40))
  }

  @Test("L5: a log that was cut or changed while the lock was off is found out by the phone, and told once")
  func cutLog() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    for command in ["unlock", "lock", "unlock", "lock"] {
      let outcome = try await home.latchkey("alice", command)
      #expect(outcome.status == 0, "\(outcome)")
    }
    let seen = try await home.latchkey("alice", "log")
    #expect(seen.status == 0 && seen.errors.isEmpty, "\(seen)")
    // Somebody takes the last unlocking out of the log, with all that the lock itself checks.
    let state = home.stateFolder(Household.door, .lock)
    try await home.stop(Household.door)
    let file = URL(fileURLWithPath: state + "/records.log")
    let bytes = try Data(contentsOf: file)
    try bytes.dropLast(4 * 68).write(to: file)
    try FileManager.default.removeItem(atPath: state + "/records.count")
    try await home.startDaemon(Household.door)
    try await home.hear("lock.started", on: Household.door)
    try await home.hear("status.answered", on: "alice")
    let found = try await home.latchkey("alice", "log")
    #expect(found.status == 1, "\(found)")
    #expect(
      found.errors.contains("it ends with record 4, and this phone has seen record 8: its end was cut off"), "\(found)")
    // By the same clock as the records: twelve hours apart in two zones.
    let answer = try read(LogAnswer.self, try await home.latchkey("alice", "log", "--json"))
    let moment = try #require(answer.troubleTimes?.first)
    let zone = try #require(TimeZone(identifier: "Etc/GMT-12"))
    let east = try await home.bash("alice", "TZ=Etc/GMT-12 $latchkey log")
    let text = LocalClock(timeZone: zone).second(moment, now: Date().timeIntervalSince1970)
    #expect(east.errors.contains("(found \(text))"), "\(east)")
    let accepted = try await home.latchkey("alice", "log", "--accept")
    #expect(accepted.status == 0 && accepted.errors.contains("was cut off"), "\(accepted)")
    let after = try await home.latchkey("alice", "log")
    #expect(after.status == 0 && after.errors.isEmpty, "\(after)")

    // A record is exchanged for another, with the right check sum.
    try await home.stop(Household.door)
    var changed = try Data(contentsOf: file)
    changed[changed.count - 68 + 30] ^= 1
    let record = [UInt8](changed.suffix(68).dropLast(4))
    changed.replaceSubrange((changed.count - 4)..., with: checkSum(record))
    try changed.write(to: file)
    try await home.startDaemon(Household.door)
    try await home.hear("lock.started", on: Household.door)
    try await home.hear("status.answered", on: "alice")
    let exchanged = try await home.latchkey("alice", "log")
    #expect(exchanged.status == 1 && exchanged.errors.contains("the log was changed"), "\(exchanged)")
  }

  @Test(
    "L5: a cut log is found out at the lock's next answer, also if the phone never read it and its agent is another")
  func cutUnread() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    for command in ["unlock", "lock"] {
      let outcome = try await home.latchkey("alice", command)
      #expect(outcome.status == 0, "\(outcome)")
    }
    try await home.stop(Household.door)
    try await home.stop("alice")
    let state = home.stateFolder(Household.door, .lock)
    let file = URL(fileURLWithPath: state + "/records.log")
    let bytes = try Data(contentsOf: file)
    try bytes.dropLast(2 * 68).write(to: file)
    try FileManager.default.removeItem(atPath: state + "/records.count")
    // The bolt is not where the log now says, which is record 3.
    try await home.startDaemon(Household.door)
    try await home.hear("lock.started", on: Household.door)
    try await home.startDaemon("alice")
    try await home.hear("log.trouble", on: "alice", unless: ["status.answered"])
    let log = try await home.latchkey("alice", "log")
    #expect(
      log.status == 1 && log.errors.contains("it ends with record 3, and this phone has heard of record 4"), "\(log)")
  }

  /// CRC-32, as the log has it.
  private func checkSum(_ bytes: [UInt8]) -> [UInt8] {
    var remainder: UInt32 = .max
    for byte in bytes {
      remainder ^= UInt32(byte)
      for _ in 0..<8 { remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1 }
    }
    return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: ~remainder >> $0) }
  }

  @Test("L8: a person who looks at a door is told its mode, and where a bolt is that could not be turned")
  func modeAndFault() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    try home.hardware.perform(.mode(.privacy))
    try await home.hear("mode.changed", on: Household.door)
    let quiet = try await home.latchkey("alice", "door")
    #expect(quiet.status == 0 && quiet.output.contains("\nmode: privacy; no phone unlocks it"), "\(quiet)")
    try home.hardware.perform(.mode(.passage))
    try await home.hear("mode.changed", on: Household.door)
    let open = try read(DoorAnswer.self, try await home.latchkey("alice", "door", "--json"))
    #expect(open.mode == "passage")
    try home.hardware.perform(.mode(.normal))
    try await home.hear("mode.changed", on: Household.door)
    let normal = try await home.latchkey("alice", "door")
    #expect(normal.status == 0 && !normal.output.contains("mode:"), "\(normal)")

    try home.hardware.perform(.motor(.jam))
    let stuck = try await home.latchkey("alice", "unlock")
    #expect(stuck.status == 1 && stuck.errors.contains("its bolt stopped on its way"), "\(stuck)")
    let half = try await home.latchkey("alice", "door")
    #expect(half.output.contains("neither locked nor unlocked"), "\(half)")
  }

  @Test("L8: out of range, every command says so, and nothing is kept for later")
  func outOfRange() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    try await home.carryAway("alice")
    try await home.hear("didDisconnect", on: "alice")
    for command in ["unlock", "lock", "door", "log"] {
      let outcome = try await home.latchkey("alice", command)
      #expect(outcome.status == 1 && outcome.errors.contains("There is no link to the lock"), "\(command): \(outcome)")
    }
  }

  @Test("L8: a lock whose system has stopped answers no command, and the command says so")
  func noSystem() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    // They have bonded: a system that goes in the middle of that takes the link with it.
    try await home.hear("profile.registered", on: "alice")
    try await home.stop(Household.door)
    for command in ["unlock", "door"] {
      let outcome = try await home.latchkey("alice", command)
      #expect(outcome.status == 1 && outcome.errors.contains("The lock did not answer"), "\(command): \(outcome)")
    }
  }
}
