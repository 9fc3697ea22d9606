import Foundation
import Journal
import Testing

@testable import Orchestrator

@Suite("Promises")
struct PromiseTests {
  @Test("H1: a promise that was broken is found broken", arguments: doctored)
  func broken(_ doctored: Doctored) throws {
    let promise = try #require(Promise.named(doctored.promise))
    let result = promise.judge(
      Evidence(doctored.entries, machines: StoryJournal.machines), scope: "test")
    #expect(result.judgement == doctored.judgement, "\(result.reason)")
  }

  static let faults: Set = ["death-unseen", "answered-for-the-app", "closed-with-its-link"]

  private func judge(_ name: String, _ evidence: Evidence) throws -> PromiseResult {
    try #require(Promise.named(name)).judge(evidence, scope: "test")
  }

  private func evidence(_ entries: [JournalEntry], isCutOff: Bool = false) -> Evidence {
    Evidence(entries, machines: StoryJournal.machines, isCutOff: isCutOff)
  }

  @Test("H1: a story that went well keeps every promise about it")
  func kept() throws {
    for promise in Promise.all
    where !["woken-on-arrival", "asked-without-evidence"].contains(promise.name) && !Self.faults.contains(promise.name)
    {
      let result = promise.judge(evidence(Self.dead), scope: "test")
      #expect(result.kept, "\(promise.name): \(result.reason)")
    }
    for name in Self.faults {
      let result = try judge(name, evidence(Self.lockFaults))
      #expect(result.kept, "\(name): \(result.reason)")
    }
    for name in ["woken-on-arrival", "request-held", "unlocked-once", "subscription-alive", "told-nothing-twice"] {
      let result = try judge(name, evidence(Self.suspended))
      #expect(result.kept, "\(name): \(result.reason)")
    }
    let result = try judge("asked-without-evidence", evidence(StoryJournal.jumped))
    #expect(result.kept, "\(result.reason)")
  }

  @Test("H1: every promise can break, and no two have one name")
  func complete() {
    let names = Promise.all.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(Set(Self.doctored.filter { $0.judgement == .broken }.map(\.promise)) == Set(names))
  }

  @Test("H1: a promise looks at its own chapter alone")
  func window() throws {
    let entries = Self.dead.without("unlock.written").afterwards(Self.dead)
    let promise = try #require(Promise.named("unlocked-once"))
    let half = Self.dead.count - 1
    let second = Evidence(entries, window: half..<entries.count, machines: StoryJournal.machines)
    #expect(promise.judge(second, scope: "second").kept)
    #expect(!promise.judge(evidence(entries), scope: "both").kept)
  }

  @Test("A10: the second absence of a chapter is judged like the first")
  func absences() throws {
    let good = Self.dead.afterwards(Self.dead)
    let about = ["locked-on-leaving", "link-lost-on-leaving", "request-held", "never-unlocked-while-away"]
    for name in about + ["unlocked-once", "opened-once", "unlock-answered", "relaunched-in-background"] {
      let result = try judge(name, evidence(good))
      #expect(result.kept, "\(name): \(result.reason)")
      #expect(result.reason.contains("2 "), "\(result.reason)")
      // Whatever breaks it in a story of one absence breaks it in the second absence of another.
      let cases = Self.doctored.filter {
        $0.promise == name && $0.judgement == .broken && $0.entries.contains { $0.isMark(Marks.ownerLeft) }
      }
      #expect(!cases.isEmpty)
      for doctored in cases {
        let result = try judge(name, evidence(Self.dead.afterwards(doctored.entries)))
        #expect(result.judgement == .broken, "\(doctored): \(result.reason)")
        #expect(result.reason.contains(" 2 of 2"), "\(doctored): \(result.reason)")
      }
    }
  }

  @Test("A10: a hand that opens the door in the second absence breaks the promise that nothing does (v-twoarrivals)")
  func secondAbsence() throws {
    let later = Self.suspended.inserting(
      "bolt.moved", of: Recorded.lock, ["to": "unlocked", "cause": "hand", "record": "90"], before: Marks.ownerReturned)
    let result = try judge("never-unlocked-while-away", evidence(Self.dead.afterwards(later)))
    #expect(result.judgement == .broken, "\(result.reason)")
    #expect(result.reason.contains("absence 2 of 2"))
  }

  @Test("A10: nothing is kept where nobody recorded anything, there is no lock, or only a stranger left")
  func vacuous() throws {
    let stranger = Self.dead.map { entry in
      var entry = entry
      if entry.process == Marks.process, entry.machine == "phone" { entry.machine = "other" }
      return entry
    }
    let withoutLock = Self.dead.filter { $0.process != Recorded.lock }
    let phoneAlone = StoryJournal.machines.filter { $0.name == "phone" }
    let aboutTheDoor = [
      "never-unlocked-while-away", "locked-on-leaving", "unlocked-once", "opened-once", "unlock-answered",
      "nothing-refused", "every-movement-recorded", "opened-only-on-arrival", "subscription-alive",
      "asked-without-evidence",
    ]
    for promise in Promise.all {
      let empty = promise.judge(evidence([]), scope: "test")
      #expect(empty.judgement == .notJudged, "\(promise.name): \(empty.reason)")
      let unseen = promise.judge(evidence([], isCutOff: true), scope: "test")
      #expect(unseen.judgement == .notReached, "\(promise.name): \(unseen.reason)")
      let nobody = promise.judge(Evidence([], machines: []), scope: "test")
      #expect(nobody.judgement == .notJudged, "\(promise.name): \(nobody.reason)")
      guard aboutTheDoor.contains(promise.name) else { continue }
      let lockless = promise.judge(Evidence(withoutLock, machines: phoneAlone), scope: "test")
      #expect(lockless.judgement == .notJudged, "\(promise.name): \(lockless.reason)")
      #expect(lockless.reason == "the story has no lock")
      // A lock that is in the story, and whose process never came up.
      let silent = promise.judge(evidence(withoutLock), scope: "test")
      #expect(silent.judgement == .notJudged, "\(promise.name): \(silent.reason)")
    }
    for name in ["never-unlocked-while-away", "locked-on-leaving", "request-held", "away-long-enough"] {
      let result = try judge(name, evidence(stranger))
      #expect(result.judgement == .notJudged, "\(name): \(result.reason)")
      #expect(result.reason.contains("other has no agent"), "\(result.reason)")
    }
  }

  @Test("H1: a good story that stops anywhere breaks nothing: what it did not come to is not reached")
  func cutOff() {
    for story in [Self.dead, Self.suspended, Self.lockFaults, StoryJournal.jumped] {
      for length in 0...story.count {
        for promise in Promise.all {
          let result = promise.judge(evidence(Array(story.prefix(length)), isCutOff: true), scope: "test")
          #expect(result.judgement != .broken, "\(promise.name) after \(length): \(result.reason)")
        }
      }
    }
  }

  @Test("H1: what a story waited for in vain is broken, and not only not reached")
  func waitedInVain() throws {
    let story =
      Self.dead.without("bolt.moved").without("unlock.answered")
      + [Self.dead[0]].map { entry in
        var entry = entry
        (entry.process, entry.event, entry.machine) = (Marks.process, Marks.waitFailed, "")
        return entry
      }
    let result = try judge("unlocked-once", evidence(story, isCutOff: true))
    #expect(result.judgement == .broken, "\(result.reason)")
  }

  @Test("A3: what a step of the story ends is no crash: killed, reclaimed, quit, rebooted, hung until it overran")
  func explained() throws {
    func told(_ mark: String, _ how: String, app: [String: String] = StoryJournal.agent) throws -> Judgement {
      let story = Self.suspended
        .inserting("app.ended", of: Recorded.daemon, app.merging(["how": how]) { $1 }, before: Marks.ownerReturned)
        .inserting(mark, of: Marks.process, app, before: "app.ended")
      return try judge("nothing-crashed", evidence(story)).judgement
    }
    #expect(try told(Marks.appKilled, "signal 9") == .kept)
    #expect(try told(Marks.appKilled, "gone") == .kept)
    #expect(try told(Marks.appReclaimed, "reclaimed") == .kept)
    #expect(try told(Marks.appQuit, "quit") == .kept)
    #expect(try told(Marks.machineDown, "signal 15") == .kept)
    #expect(try told(Marks.appHung, "overran its wake budget") == .kept)
    #expect(try told(Marks.appHung, "signal 11") == .broken)
    #expect(try told(Marks.fault, "signal 9") == .broken)
    // Another app's fault explains nothing.
    let story = Self.suspended
      .inserting("app.ended", of: Recorded.daemon, Self.crash(StoryJournal.lock), before: Marks.ownerReturned)
      .inserting(Marks.appKilled, of: Marks.process, StoryJournal.agent, before: "app.ended")
    #expect(try judge("nothing-crashed", evidence(story)).judgement == .broken)
  }

  @Test("A1: a phone opens on its owner's word, once for each time it was given, and not on its agent's alone")
  func word() throws {
    let opening = Self.dead.filter { ["unlock.written", "command.accepted", "bolt.moved"].contains($0.event) }.suffix(3)
      .map { $0 }.with("unlock.written", "because", "word")
    let asked = StoryJournal.jumped.afterwards(opening)
    #expect(try judge("opened-only-on-arrival", evidence(asked)).judgement == .broken)
    let said = asked.inserting(Marks.userUnlocked, of: Marks.process, StoryJournal.agent, before: "unlock.written")
    #expect(try judge("opened-only-on-arrival", evidence(said)).kept)
    #expect(try judge("opened-only-on-arrival", evidence(said.afterwards(opening))).judgement == .broken)
  }

  @Test("A13: what was on its way to a lock that restarted is no refusal; what claims to be without a restart is one")
  func earlierRun() throws {
    let refused = StoryJournal.suspended.inserting(
      "command.refused", of: Recorded.lock, ["reason": "earlierRun"], before: "command.accepted", last: true)
    #expect(try judge("nothing-refused", evidence(refused)).judgement == .broken)
    let restarted = refused.inserting("lock.started", of: Recorded.lock, before: "command.refused", last: true)
    let result = try judge("nothing-refused", evidence(restarted))
    #expect(result.judgement == .kept)
    #expect(result.reason.contains("was on its way"))
    #expect(
      try judge("nothing-refused", evidence(restarted.with("command.refused", "reason", "authenticationFailed")))
        .judgement == .broken)
  }

  @Test("A12: an arrival is one movement of the bolt, by as many operations as it takes")
  func operations() throws {
    // Power was lost mid-turn: the lock says that the first failed, and the policy writes another.
    var story = Self.dead
    let write = try #require(story.firstIndex { $0.event == "unlock.written" })
    for event in ["unlock.written", "command.accepted", "unlock.answered"] {
      var entry = try #require(story.last { $0.event == event })
      entry.fields["operation"] = "first"
      if event == "unlock.answered" { entry.fields["result"] = "failed" }
      story.insert(entry, at: event == "unlock.written" ? write : write + 1)
    }
    #expect(try judge("opened-once", evidence(story)).kept)
    #expect(try judge("unlock-answered", evidence(story)).kept)
    // Locked between: somebody left meanwhile, and came back.
    var again = Self.dead
    let opening = try #require(again.last { $0.isOpening })
    var locking = opening
    locking.fields = ["to": "locked", "cause": "leaving", "record": "8"]
    again += [locking, opening]
    #expect(try judge("opened-once", evidence(again)).kept)
    #expect(try judge("opened-once", evidence(Self.dead + [opening])).judgement == .broken)
  }

  @Test("A12: two phones that come home together open the door once, by an operation each")
  func together() throws {
    let second = Self.dead.filter { $0.process != Recorded.lock && $0.process != Recorded.simulator }.map { entry in
      var entry = entry
      if entry.machine == "phone" { entry.machine = "second" }
      if entry.fields["operation"] != nil { entry.fields["operation"] = "of the second" }
      if entry.event == "unlock.answered" { entry.fields["result"] = "notNeeded" }
      return entry
    }
    let both = (Self.dead + second.filter { $0.machine == "second" }).enumerated()
      .sorted { ($0.element.t, $0.offset) < ($1.element.t, $1.offset) }.map(\.element)
    let machines =
      StoryJournal.machines + [
        MachineDescription(name: "second", position: Place(x: 1, y: 1), apps: [.agent])
      ]
    for name in ["opened-once", "unlock-answered", "never-unlocked-while-away", "opened-only-on-arrival"] {
      let result = try #require(Promise.named(name)).judge(Evidence(both, machines: machines), scope: "test")
      #expect(result.kept, "\(name): \(result.reason)")
    }
  }

  @Test("H1: every event that promises read is one that its process records")
  func recorded() throws {
    func sources(_ folders: [String]) throws -> String {
      try folders.map { folder in
        let path = TestPlaces.package + "/" + folder
        return try FileManager.default.subpathsOfDirectory(atPath: path).filter { $0.hasSuffix(".swift") }
          .map { try String(contentsOfFile: path + "/" + $0, encoding: .utf8) }.joined()
      }.joined()
    }
    func check(_ names: [String], in text: String, _ process: String) {
      for name in names {
        let pattern = "(record|journal)\\(\\s*\"" + NSRegularExpression.escapedPattern(for: name) + "\""
        #expect(text.range(of: pattern, options: .regularExpression) != nil, "\(process) never records \(name)")
      }
    }
    check(Recorded.Agent.allCases.map(\.rawValue), in: try sources(["Sources/latchkey-agent"]), Recorded.agent)
    check(
      Recorded.Lock.allCases.map(\.rawValue), in: try sources(["lockfirmware-sim/Sources/latchkey-lock"]),
      Recorded.lock)
    check(
      Recorded.Daemon.allCases.map(\.rawValue), in: try sources(["Sources/BluetoothSystem", "Sources/LatchkeyDaemon"]),
      Recorded.daemon)
    let world = try sources(["Sources/BlueZModel", "Sources/BlueZSimulator"])
    for link in Recorded.Link.allCases { #expect(world.contains("\"\(link.rawValue)\"")) }
  }
}
