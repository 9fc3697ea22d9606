import Journal
import JournalEvents
import StoryTesting
import Testing

@testable import Stories

/// What a story or the user does to the agent on the way home, before the phone is connected.
@Suite("On the way home")
struct OnTheWayTests {
  private let agent = StoryJournal.agent

  /// The story up to what happens to the agent just before the phone is connected, or just after.
  private func judge(
    _ promise: String, _ story: [JournalEntry], _ event: Recorded.Story, _ fields: [JournalField: String],
    isConnected: Bool = false
  ) throws -> PromiseResult {
    let linked = try #require(story.lastIndex { $0.is(Recorded.Radio.linkUp) })
    let place = isConnected ? linked + 1 : linked
    let last = story[place - 1]
    let step = JournalEntry(
      t: last.t, wall: last.wall, machine: "phone", process: Recorded.orchestrator, pid: 1, level: "notice",
      event: event.rawValue, message: "", fields: fields.named)
    let entries = story[..<place] + [step]
    return try #require(Promise.named(promise)).judge(
      Evidence(Array(entries), machines: StoryJournal.machines, endsAt: last.t + 300_000_000_000), scope: "test")
  }

  @Test(
    "L3: an agent that the story or its user ends or opens on the way home need not be woken for its connection",
    arguments: [Recorded.Story.appKilled, .appQuit, .appReclaimed, .machineDown, .appOpened, .userUnlocked])
  func suspended(_ event: Recorded.Story) throws {
    let result = try judge("woken-on-arrival", StoryJournal.suspended, event, agent)
    #expect(result.judgement == .notJudged && result.reason.contains("on the way home"), "\(result.reason)")
    let late = try judge("woken-on-arrival", StoryJournal.suspended, event, agent, isConnected: true)
    #expect(late.judgement == .broken, "\(late.reason)")
  }

  @Test(
    "S13: a dead agent that its user opens on the way home, or whose phone reboots, need not be relaunched for its link",
    arguments: [Recorded.Story.machineDown, .appOpened, .userUnlocked])
  func dead(_ event: Recorded.Story) throws {
    let result = try judge("relaunched-in-background", StoryJournal.dead, event, agent)
    #expect(result.judgement == .notJudged && result.reason.contains("on the way home"), "\(result.reason)")
    let late = try judge("relaunched-in-background", StoryJournal.dead, event, agent, isConnected: true)
    #expect(late.judgement == .broken, "\(late.reason)")
  }

  @Test(
    "S13: a dead agent that its user gives up on the way home is owed nothing",
    arguments: [
      "relaunched-in-background", "restored-in-order", "services-restored", "subscription-alive", "request-held",
    ])
  func givenUp(_ promise: String) throws {
    let off: [JournalField: String] = [.about: Recorded.bluetoothSwitchedOff]
    for (event, fields) in [(Recorded.Story.appQuit, agent), (.fault, off)] {
      let result = try judge(promise, StoryJournal.dead, event, fields)
      #expect(result.judgement == .notJudged && result.reason.contains("the user had"), "\(result.reason)")
      #expect(try judge(promise, StoryJournal.dead, event, fields, isConnected: true).judgement == .broken)
    }
    // A fault of another kind gives nothing up.
    #expect(try judge(promise, StoryJournal.dead, .fault, [:]).judgement == .broken)
  }
}
