import Foundation
import Journal
import JournalEvents
import Stories
import StoryTesting
import Testing
import TimeTypes

@testable import StoryPresentation

@Suite("The picture of a story")
struct PictureTests {
  private func scene(_ entries: [JournalEntry]) -> PictureScene { SceneBuilder.scene(of: Reports.of(entries)) }

  private func lane(_ machine: String, _ name: String, _ entries: [JournalEntry]) throws -> PictureScene.Lane {
    try #require(
      scene(entries).lanes.first { $0.machine == machine && $0.name == name }, "\(scene(entries).lanes.map(\.name))")
  }

  @Test("A15: bands show the bolt, links, and the lives of processes")
  func bands() throws {
    #expect(try lane("door", "bolt", StoryJournal.dead).bands.map(\.state) == [.unlocked, .locked])
    let agent = try lane("phone", "agent", StoryJournal.dead).bands
    #expect(agent.map(\.state) == [.running, .suspended])
    let death = try #require(StoryJournal.dead.first { $0.is(Recorded.Daemon.appEnded) })
    #expect(agent.last?.to == Instant(nanoseconds: death.t))
    #expect(try lane("phone", "latchkeyd", StoryJournal.dead).bands.count == 2)
  }

  @Test("A15: a link is a band on the phone's side, and ends when the link does")
  func link() throws {
    let ends: [JournalField: String] = [.central: "phone", .peripheral: "door"]
    let story = StoryJournal.dead.map { entry in
      var entry = entry
      if entry.process == Recorded.simulator { entry.fields.merge(ends.named) { $1 } }
      return entry
    }
    let bands = try lane("phone", "link to door", story).bands
    #expect(bands.map(\.state) == [.linked])
    let lost = try #require(story.first { $0.is(Recorded.Radio.linkDown) })
    #expect(bands[0].to == Instant(nanoseconds: lost.t))
  }

  @Test("A15: while a machine is off its processes are shown as off, whatever else is recorded of them")
  func off() throws {
    var story = StoryJournal()
    story.add(Recorded.Daemon.started)
    story.add(Recorded.Daemon.appLaunched, StoryJournal.agent)
    story.add(Recorded.Story.machineDown, [.machine: "phone"])
    story.add(Recorded.Daemon.stopped, after: 0)
    story.add(Recorded.Daemon.appEnded, StoryJournal.agent, after: 0)
    story.add(Recorded.Story.machineUp, [.machine: "phone"], after: 60)
    story.add(Recorded.Daemon.started)
    for name in ["latchkeyd", "agent"] {
      let down = try lane("phone", name, story.entries).bands.filter { $0.state == .down }
      #expect(down.map { $0.to - $0.from } == [.seconds(60)])
    }
  }

  @Test("A15: the range is a band that follows the walks")
  func range() {
    var story = StoryJournal()
    story.add(
      Recorded.Story.ownerLeft,
      [.machine: "phone", .fromX: "1", .fromY: "0", .x: "101", .y: "0", .way: "walk", .over: "100"])
    story.add(Recorded.Story.timePassed, after: 1000)
    let stage = [Report.StageMachine(name: "door", x: 0, y: 0), .init(name: "phone", x: 1, y: 0)]
    let scene = SceneBuilder.scene(of: Reports.of(story.entries, stage: stage, range: 51))
    let lane = scene.lanes.first { $0.name == "range of door" }
    #expect(lane?.bands.map(\.state) == [.near])
    // At 1 m/s from 1 m, begun after 1 s.
    let end = Double(lane?.bands.first?.to.nanoseconds ?? 0) / 1e9
    #expect(abs(end - 51) < 0.5, "\(end)")
  }

  @Test("A15: the scale keeps the order, and shows both a millisecond and a day")
  func folded() {
    let moments: [Int64] = [0, 1_000_000, 2_000_000, 86_400_000_000_000, 86_400_100_000_000]
    let time = FoldedTime(moments.map { Instant(nanoseconds: $0) })
    let places = moments.map { time.place(Instant(nanoseconds: $0)) }
    #expect(places == places.sorted() && places.first == 0 && places.last == 1)
    #expect(zip(places, places.dropFirst()).allSatisfy { $1 - $0 > 0.0005 }, "\(places)")
    for moment in moments {
      let instant = Instant(nanoseconds: moment)
      let back = time.instant(at: time.place(instant))
      #expect(abs(back.nanoseconds - moment) < 1_000_000, "\(back) instead of \(instant)")
    }
    #expect(FoldedTime([]).place(.zero) == 0)
  }

  @Test("A15: text from outside is text, whatever it contains")
  func escapes() {
    #expect(Markup.escaped("<a href='x'>&\"\u{0}\u{1B}") == "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\u{FFFD}\u{FFFD}")
    let nasty = "</script><script>alert(1)</script>"
    let story = StoryJournal.dead.inserting(
      Recorded.Story.chapterBegan, [.name: nasty], before: Recorded.Story.appOpened)
    let promise = Reports.result(nasty, .broken, scope: nasty, reason: nasty)
    let html = StoryPicture(Reports.of(story, promises: [promise], problem: nasty, title: nasty)).html
    #expect(!html.contains("<script>alert"))
  }

  @Test("A15: the page asks the network for nothing, and every promise leads to lines that are there")
  func whole() throws {
    let kept = try Reports.judged("unlocked-once", StoryJournal.dead)
    let html = StoryPicture(Reports.of(StoryJournal.dead, promises: [kept])).html
    let addresses = html.matches(of: /(?:src|href)="([^"]*)"/).map { String($0.1) }
    #expect(!addresses.isEmpty && addresses.allSatisfy { $0.hasPrefix("#e") }, "\(addresses)")
    #expect(!html.contains("url(") && html.contains("default-src 'none'"))
    for address in addresses { #expect(html.contains("id=\"\(address.dropFirst())\"")) }
    #expect(html.contains("class=\"moment\""))
  }

  @Test("A15: a very long story leaves out what only developers look for, and says so")
  func long() {
    var story = StoryJournal()
    for round in 0..<3000 {
      story.add(Recorded.Agent.offerReceived)
      story.add(
        Recorded.Lock.boltMoved, [.to: round % 2 == 0 ? "locked" : "unlocked", .cause: "hand", .from: "inside"])
    }
    let html = StoryPicture(Reports.of(story.entries)).html
    #expect(html.utf8.count < 3_000_000, "\(html.utf8.count)")
    #expect(html.contains("lines left out") && !html.contains("offer.received"))
    #expect(html.contains("the bolt is locked, by hand from inside"))
  }
}
