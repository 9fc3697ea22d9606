import AppLink
import BlueZModel
import Journal
import JournalEvents
import StoryTesting
import Testing

@testable import StoryPresentation

@Suite("A story in a person's words")
struct NarratorTests {
  private func told(_ entries: [JournalEntry]) -> [Deed] {
    var narrator = Narrator()
    return entries.compactMap { narrator.tell($0) }
  }

  @Test("A15: what matters is told in words, with names instead of identifiers")
  func words() {
    let texts = told(StoryJournal.dead).map(\.text)
    for words in [
      "the bolt is locked, because its owner has left", "the agent has ended (it was killed)",
      "latchkeyd starts the agent again, because something happened that it waits for",
      "the agent gets its state back", "the agent asks the lock to open, because its owner has come to the door",
      "the bolt is unlocked, as the phone asked", "the lock answers the agent: done",
      "latchkeyd starts the lock, which always runs",
    ] {
      #expect(texts.contains(words), "\(texts)")
    }
    #expect(!texts.contains { $0.contains("org.latchkey") }, "\(texts)")
  }

  @Test("A15: a request that counts from later on is told so, and so is a user who finds no pairings to remove")
  func laterAndNone() {
    let held = StoryJournal.dead.inserting(
      Recorded.Daemon.requestHeld, [.app: Recorded.agentIdentifier, .milliseconds: "240000"],
      before: Recorded.Daemon.appSuspended)
    let texts = told(
      held.inserting(
        Recorded.Radio.bluetoothdDiagnostic, [.machine: "phone", .text: "\(BlueZModel.Diagnostic.nothingToForget)"],
        before: Recorded.Daemon.appSuspended)
    ).map(\.text)
    let kept = "latchkeyd keeps the connection request of the agent, after 4 min for as long as it takes"
    #expect(texts.contains(kept) && texts.contains("there are none: phone has no pairings"), "\(texts)")
  }

  @Test("A15: a door that is left alone is told with the reason")
  func asks() {
    let deeds = told(StoryJournal.jumped.with(Recorded.Agent.unlockAsked, .because, "noApproach"))
    let text = "the agent does not open, and asks its owner: nothing shows that the phone came from elsewhere"
    #expect(deeds.contains { $0.text == text && $0.kind == .door }, "\(deeds)")
  }

  @Test("A15: a story is summed up by what people and the door did")
  func summary() {
    #expect(
      StorySummary.text(Reports.of(StoryJournal.dead))
        == "Somebody left once and came home once. The door locked itself once and was opened by a phone once.")
    #expect(
      StorySummary.text(Reports.of(StoryJournal.jumped))
        == "Somebody left once and came home once. The door locked itself once. "
        + "The agent asked its owner once instead of opening.")
    #expect(StorySummary.text(Reports.of([])) == nil)
  }

  @Test("W3 A15: an app is woken for a reason, whatever the event is that it is told", arguments: Event.Kind.allCases)
  func wakeReasons(_ kind: Event.Kind) {
    let wake = StoryJournal.agent.and([.because: kind.rawValue])
    let entry = JournalEntry(
      t: 0, wall: 0, machine: "phone", process: Recorded.daemon, pid: 1, level: "notice",
      event: Recorded.Daemon.appResumed.rawValue, message: "", fields: wake.named)
    let texts = told([entry]).map(\.text)
    #expect(texts.count == 1 && texts[0].hasPrefix("latchkeyd wakes the agent, because "), "\(texts)")
  }

  @Test("H7: nothing that latchkeyd records is told by the message of its line, which is the event's name")
  func everyEventOfTheDaemon() {
    let told = told(
      Recorded.Daemon.allCases.map { event in
        JournalEntry(
          t: 0, wall: 0, machine: "phone", process: Recorded.daemon, pid: 1, level: "warning", event: event.rawValue,
          message: "the message", fields: [:])
      })
    #expect(told.count > 20)
    #expect(!told.contains { $0.text == "the message" })
  }

  @Test("A15: a warning without an event is trouble, and ordinary messages are not told")
  func warnings() {
    func entry(_ level: String) -> JournalEntry {
      JournalEntry(
        t: 0, wall: 0, machine: "phone", process: "latchkeyd", pid: 1, level: level, event: nil,
        message: "the disk is full",
        fields: [:])
    }
    #expect(told([entry("notice")]).isEmpty)
    #expect(told([entry("warning")]).map(\.text) == ["latchkeyd reports: the disk is full"])
    #expect(told([entry("error")]).map(\.kind) == [.trouble])
  }

  @Test("A15: every reason of the vocabulary has words, and an unknown one is passed on")
  func reasons() {
    for reason in ["connectionTimeout", "remotePoweredOff", "shutDown", "signal 9"] {
      #expect(!Words.because(reason).contains(reason))
    }
    #expect(Words.because("signal 6") == " (signal 6)")
    #expect(Words.because(nil) == "")
  }

  @Test("A15: a state of Bluetooth that is reported again is told once, and a simulated machine's by its simulator")
  func bluetooth() {
    var story = StoryJournal()
    for state in ["poweredOn", "poweredOff", "poweredOff", "resetting", "poweredOn"] {
      story.add(Recorded.Daemon.bluetoothState, [.state: state])
    }
    #expect(
      told(story.entries).map(\.text) == [
        "Bluetooth is on", "Bluetooth is off", "Bluetooth is not available, because bluetoothd is gone",
        "Bluetooth is on",
      ])
    var simulated = StoryJournal()
    simulated.add(Recorded.Radio.adapterPowered, [.machine: "phone", .on: "true"])
    simulated.add(Recorded.Daemon.bluetoothState, [.state: "poweredOn"])
    #expect(told(simulated.entries).map(\.text) == ["Bluetooth is on"])
  }
}
