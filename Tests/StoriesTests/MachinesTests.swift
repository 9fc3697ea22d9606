import BusValue
import ConsoleOutput
import Foundation
import Journal
import JournalEvents
import ProcessTesting
import StoryPresentation
import SystemBus
import Testing
import TimeTypes

@testable import Stories
@testable import Worlds

@Suite("Files of machines, paces and clocks")
struct MachinesDescriptionTests {
  @Test("H1: a file of machines is read whole")
  func parse() throws {
    let description = try MachinesDescription.parse(
      """
      machines:
        lock: {kind: ssh, host: door.local, port: 2200, identity: /k, walk: adapter}
        phone: {kind: ssh, host: phone.local, user: me, walk: ask, known hosts: /h}
      """, file: "m.yaml")
    #expect(
      description.kinds == [
        .lock: .ssh(RemoteSettings(host: "door.local", port: 2200, identity: "/k", walk: .adapter)),
        .phone: .ssh(RemoteSettings(host: "phone.local", user: "me", knownHosts: "/h", walk: .ask)),
      ])
  }

  @Test(
    "H1: an error in a machines file is reported with its line and a correction",
    arguments: [
      ("machines:\n  lock: {kind: ssh, host: a}\n", 2, "has no 'phone'"),
      ("machines:\n  lock: {kind: ssh, host: a}\n  phone: {kind: cloud}\n", 3, "virtual, ssh"),
      ("machines:\n  lock: {kind: ssh, host: a}\n  phone: {kind: virtual}\n", 2, "no air in common"),
      ("machines:\n  lock: {kind: ssh, host: -oProxyCommand=x}\n  phone: {kind: ssh, host: b}\n", 2, "can't be"),
      ("machines:\n  lock: {kind: ssh, host: a, port: 70000}\n  phone: {kind: ssh, host: b}\n", 2, "1 to 65535"),
      ("machines:\n  lock: {kind: ssh, host: a, walk: fly}\n  phone: {kind: ssh, host: b}\n", 2, "ask, adapter, no"),
      ("machines:\n  lock: {kind: ssh, host: a, speed: 1}\n  phone: {kind: ssh, host: b}\n", 2, "unknown key 'speed'"),
    ])
  func wrong(_ yaml: String, line: Int, words: String) {
    let error = #expect(throws: ScenarioError.self) { try MachinesDescription.parse(yaml, file: "m.yaml") }
    #expect(error?.line == line)
    #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
  }

  @Test("H1: a pace is a time of the story's and how long it takes, never longer")
  func pace() throws {
    let pace = try #require(Pace("5d=5min"))
    #expect(pace.ratio == 5.0 / (5 * 1440))
    #expect("\(pace)" == "5 d as 5 min")
    for text in ["5d", "5d=", "=5min", "5d=0s", "1min=1h", "5d=5min=1s", "fast"] { #expect(Pace(text) == nil) }
  }

  @Test("H1: the best of a clock's samples counts, until it is so old that the clocks may have drifted")
  func clock() {
    func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
    var clock = MachineClock()
    #expect(clock.instant(ofUnixNanoseconds: 0) == nil)
    clock.take(asked: at(0), answered: at(10), reading: 1_000_000_000 + 5_000_000)
    #expect(clock.offset == 1_000_000_000)
    // Slower, so worse.
    clock.take(asked: at(100), answered: at(200), reading: 5_000_000_000)
    #expect(clock.offset == 1_000_000_000)
    // Quicker, so better.
    clock.take(asked: at(300), answered: at(302), reading: 1_001_000_000 + 301_000_000)
    #expect(clock.offset == 1_001_000_000)
    #expect(clock.uncertainty == 2_000_000)
    #expect(clock.instant(ofUnixNanoseconds: 1_001_000_000 + 400_000_000) == at(400))
    // A minute later, a sample that is not quite as good is better.
    clock.take(asked: at(60_400), answered: at(60_420), reading: 1_002_000_000 + 60_410_000_000)
    #expect(clock.offset == 1_002_000_000)
  }
}

@Suite(
  "A story on machines over ssh",
  .enabled(if: LoopbackMachine.isPossible, "needs root, sshd and systemd-stdio-bridge"),
  .serialized, .ownThread, .timeLimit(.minutes(10)))
struct RemoteStoryTests {
  private func run(
    _ steps: String, promises: String = "", pace: String? = nil,
    watching: (LoopbackMachine) throws -> @Sendable (StoryNews) -> Void = { _ in { _ in } }
  ) async throws -> (Report, LoopbackMachine) {
    let door = try await LoopbackMachine()
    let phone = try await LoopbackMachine()
    var far = phone.settings
    far.walk = .no
    let scenario = try ScenarioParser.parse(
      """
      name: far
      days: 5
      machines:
        door: {position: [0, 0], apps: [lock]}
        phone: {position: [1, 0], apps: [agent]}
      steps:
      \(steps)
      promises: [nothing-crashed\(promises)]
      """, file: "far.yaml")
    let report = try ScenarioRun.run(
      scenario,
      on: .machines(
        MachinesDescription(kinds: [.lock: .ssh(door.settings), .phone: .ssh(far)]),
        try MachineTools(folder: TestPlaces.programs)),
      options: ScenarioRun.Options(pace: pace.flatMap(Pace.init), observe: try watching(phone)))
    return (report, phone)
  }

  @Test("H1: systemd carries out faults of processes; what a machine can't do is reported and counted")
  func unsupported() async throws {
    let (report, phone) = try await run(
      """
        - restart bluetoothd: phone
        - kill daemon: {machine: phone, after: 1s}
        - kill app: {machine: phone, app: agent}
        - malformed advertisement: phone
        - day: 5
          block radio: phone
      """, pace: "5d=1s")
    #expect(report.problem == nil)
    // Nothing is recorded there, so it is unknown whether anything crashed.
    #expect(report.promises.map(\.judgement) == [.notJudged])
    #expect(!report.kept)
    #expect(report.stepsNotDone == 2)
    #expect(report.timeline.count { $0.is(Recorded.Story.notDone) } == 2)
    for words in ["malformed advertisement reaches phone: not done, since nothing", "5 d as 1 s"] {
      #expect(report.remarks.contains { $0.contains(words) }, "\(report.remarks)")
    }
    #expect(VerdictScreen(report, .plain).lines().joined(separator: "\n").contains("2 steps not done"))
    #expect(phone.systemctl.contains("restart bluetooth.service"))
    #expect(phone.systemctl.contains("kill --signal=KILL --kill-whom=main latchkey-agent.service"))
    let daemon = phone.systemctl.filter { $0.hasSuffix("latchkeyd.service") }
    #expect(
      daemon == [
        "start latchkeyd.service", "kill --signal=KILL --kill-whom=main latchkeyd.service", "stop latchkeyd.service",
        "start latchkeyd.service",
      ])
  }

  @Test("H1: a departure that can't be carried out ends the story; hurried days are not judged, and never kept")
  func departure() async throws {
    let (report, _) = try await run(
      """
        - move: {machine: phone, to: [400, 0], as: departure}
        - pass: 30s
      """, promises: ", away-long-enough", pace: "5d=1s")
    #expect(!report.kept)
    #expect(report.problem?.contains("`walk:`") == true, "\(report.problem ?? "")")
    let away = try #require(report.promises.first { $0.name == "away-long-enough" })
    #expect(away.judgement == .notJudged)
    #expect(!away.kept)
    let screen = VerdictScreen(report, .plain).lines().joined(separator: "\n")
    #expect(screen.contains("not judged  the owner is away as long"))
  }

  @Test("Between two steps all machines' journals are read at once, and a step waits for the slowest alone")
  func settling() async throws {
    let door = try await LoopbackMachine()
    let phone = try await LoopbackMachine()
    let scenario = try ScenarioParser.parse(
      """
      name: far
      machines:
        door: {position: [0, 0], apps: [lock]}
        phone: {position: [1, 0], apps: [agent]}
      steps:
        - pass: 1s
      """, file: "far.yaml")
    let folder = try RunFolder(keep: nil)
    let world = try RemoteWorld(
      scenario.machines, radio: scenario.radio,
      on: MachinesDescription(kinds: [.lock: .ssh(door.settings), .phone: .ssh(phone.settings)]),
      tools: try MachineTools(folder: TestPlaces.programs), run: folder, pace: nil, progress: { _ in })
    try world.boot()
    try door.joinJournal(with: phone)
    try world.settle()
    try world.settle()
    try WorldProcesses(world: folder.world).kill()
    try RunFolder.remove(folder.sockets, world: folder.world)
  }

  @Test("H1: links that bluetoothd tells of on its bus are the story's")
  func links() async throws {
    let (report, _) = try await run(
      """
        - wait for: {event: link.up, machine: phone, within: 1min}
        - check: [nothing-crashed]
      """
    ) { phone in
      // To an observer, the owner of the name is bluetoothd.
      let bluetoothd = try Bus(address: phone.bus.address, name: "org.bluez")
      try bluetoothd.start()
      return { news in
        guard case .recorded(let entry) = news, entry.is(Recorded.Story.chapterBegan) else { return }
        bluetoothd.enqueue { bus in
          try? bus.emit(
            OutgoingSignal(
              path: ObjectPath(unchecked: "/org/bluez/hci0/dev_1"), interface: BusName.properties,
              member: "PropertiesChanged",
              arguments: [
                .string("org.bluez.Device1"), .properties(["Connected": .bool(true)]), .strings([]),
              ]))
        }
      }
    }
    #expect(report.problem == nil)
    #expect(report.timeline.contains { $0.is(Recorded.Radio.linkUp) && $0.process == Recorded.bluetoothd })
  }
}
