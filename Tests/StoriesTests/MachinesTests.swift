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

@Suite("Programs that are brought to virtual machines") struct ShippedProgramTests {
  @Test("H1: the libraries of a program are those that ldd finds; a machine has those that its cache lists")
  func libraries() {
    let printed = """
      \tlinux-vdso.so.1 (0x00007ffc4cdfe000)
      \tlibswiftCore.so => /opt/swift/usr/lib/swift/linux/libswiftCore.so (0x00007f0a)
      \tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f0b)
      \tlibgone.so => not found
      \t/lib64/ld-linux-x86-64.so.2 (0x00007f0c)
      """
    #expect(
      ShippedProgram.libraries(in: printed) == [
        "libswiftCore.so": "/opt/swift/usr/lib/swift/linux/libswiftCore.so",
        "libm.so.6": "/lib/x86_64-linux-gnu/libm.so.6",
      ])
    #expect(ShippedProgram.libraries(in: "\tnot a dynamic executable\n").isEmpty)
    let known = ShippedProgram.known(
      in: """
        412 libs found in cache `/etc/ld.so.cache'
        \tlibm.so.6 (libc6,x86-64, OS ABI: Linux 3.2.0) => /lib/x86_64-linux-gnu/libm.so.6
        libswiftCore.so
        """)
    #expect(known.isSuperset(of: ["libm.so.6", "libswiftCore.so"]) && !known.contains("libgone.so"))
  }
}

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

  @Test("H1: each machine of a story has one of its own name, or that of its role")
  func named() throws {
    let description = try MachinesDescription.parse(
      """
      machines:
        lock: {kind: ssh, host: door.local}
        phone: {kind: ssh, host: alice.local}
        ben: {kind: ssh, host: ben.local}
      """, file: "m.yaml")
    #expect(description.named == ["ben": .ssh(RemoteSettings(host: "ben.local"))])
    func hosts(_ names: String...) throws -> [String] {
      let stage = names.map { stageMachine($0, $0 == "door" ? [.lock] : [.agent]) }
      return try StageMachines(stage, on: description).pairs.map {
        guard case .ssh(let settings) = $0.kind else { return "" }
        return settings.host
      }
    }
    #expect(try hosts("door", "alice", "ben") == ["door.local", "alice.local", "ben.local"])
    #expect(throws: WorldError("the file of machines names 'ben', and the story's machines are door, alice")) {
      try hosts("door", "alice")
    }
    let twice = #expect(throws: WorldError.self) { try hosts("door", "alice", "carla", "ben") }
    #expect(twice?.description.contains("'alice' and 'carla' of the story can't both be alice.local") == true)
  }

  @Test("H1: a story that can't be told on machines is refused before one is started, with the reason")
  func unsuited() throws {
    func refusal(_ stage: [MachineDescription]) -> String {
      let error = #expect(throws: WorldError.self) { try StageMachines(stage, on: .virtual()) }
      return error?.description ?? ""
    }
    let door = stageMachine("door", [.lock])
    #expect(refusal([stageMachine("phone", [.agent])]).contains("or none and no agent, and this one has 0"))
    #expect(refusal([door, stageMachine("back", [.lock])]).contains("this one has 2"))
    #expect(refusal([stageMachine("both", [.lock, .agent])]).contains("'both' has the lock and the agent"))
    let nine = (1...8).map { stageMachine("phone-\($0)", [.agent]) }
    #expect(refusal([door] + nine).contains("has 9 machines, and at most 8"))
    func app(_ executable: String) -> InstalledApp {
      InstalledApp(
        name: "burglar", bundleIdentifier: "org.example.burglar", executable: executable, propertyList: Data())
    }
    #expect(
      refusal([door, stageMachine("street", [app("/home/me/burglar")])]).contains("is not a file that can be run"))
    #expect(refusal([stageMachine("street", [app("/usr")])]).contains("'burglar', /usr, is not a file that can be run"))
    // Apps alone, of which one was built on this machine.
    let alone = [stageMachine("street", [app("/bin/sh")]), stageMachine("yard", [app("latchkey")])]
    #expect(try StageMachines(alone, on: .virtual()).pairs.count == 2)
    #expect(try StageMachines([door, stageMachine("street", [app("latchkey")])], on: .virtual()).pairs.count == 2)
    let tools = try MachineTools(folder: TestPlaces.programs)
    try StageMachines(alone, on: .virtual()).checkPrograms(tools)
    let missing = [stageMachine("street", [app("no-such-program")])]
    let early = #expect(throws: WorldError.self) { try StageMachines(missing, on: .virtual()).checkPrograms(tools) }
    #expect(
      early?.description.contains("'no-such-program' of the app 'burglar' is in none of Latchkey's packages") == true)
    // An image of the user's own may have it.
    try StageMachines(missing, on: .virtual(VirtualSettings(image: "/image"))).checkPrograms(tools)
    let real = MachinesDescription(
      kinds: [.lock: .ssh(RemoteSettings(host: "a")), .phone: .ssh(RemoteSettings(host: "b"))])
    let error = #expect(throws: WorldError.self) {
      try StageMachines([door, stageMachine("street", [app("latchkey")])], on: real)
    }
    #expect(error?.description.contains("only on simulated and on virtual machines") == true)
  }

  private func stageMachine(_ name: String, _ apps: [InstalledApp]) -> MachineDescription {
    MachineDescription(name: name, position: Place(x: 0, y: 0), apps: apps)
  }

  @Test(
    "H1: an app of the story's own is a unit there; nothing in its words is systemd's, and its records are the story's")
  func storyUnit() throws {
    let app = InstalledApp(
      name: "burglar", bundleIdentifier: "org.example.burglar", executable: "latchkey", propertyList: Data(),
      environment: ["WORDS": "50 % of \"$HOME\"", "LD_LIBRARY_PATH": "/opt/own"])
    let unit = StoryUnit(app)
    #expect(unit.name == "latchkey-story-burglar.service")
    let text = unit.text(program: "/usr/bin/latchkey", arguments: ["burglar", "--tries", "$5 b"])
    #expect(text.contains(#"ExecStart="/usr/bin/latchkey" "burglar" "--tries" "$$5 b""#), "\(text)")
    #expect(text.contains(#"Environment="WORDS=50 %% of \"$HOME\"""#), "\(text)")
    #expect(text.contains(#"Environment="LD_LIBRARY_PATH=/opt/own:/opt/latchkey-story/lib""#), "\(text)")
    #expect(text.contains(#"Environment="LATCHKEY_RECORD_CALLS=/run/systemd/journal/socket""#), "\(text)")
    let folder = try RunFolder(keep: nil)
    defer { try? RunFolder.remove(folder.sockets, world: folder.world) }
    let records = try RemoteRecords(run: folder, machines: ["street"], recordsLinks: false)
    let shell = SecureShell(
      "street", .init(host: "street", options: []), tools: try MachineTools(folder: TestPlaces.programs),
      control: "/none",
      environment: [:])
    records.add("street", JournalFollower("street", shell, now: { 0 }, onLine: { _ in }), apps: [app])
    func take(_ unit: String) throws {
      let line = #"{"_SYSTEMD_UNIT":"\#(unit)","_PID":"7","MESSAGE":"latchkey: tried writes=300"}"#
      records.take(try #require(SystemdJournalLine(Data(line.utf8))), machine: "street")
    }
    try take("another.service")
    #expect(records.takeEntries().isEmpty)
    try take(unit.name)
    let entry = try #require(records.takeEntries().first)
    #expect(entry.process == "burglar" && entry.event == "tried" && entry.fields["writes"] == "300" && entry.pid == 7)
  }

  @Test("H1: of a walk, only the part near others is walked when days are hurried")
  func near() {
    let way = Way(from: Place(x: 200, y: 0), to: Place(x: 1, y: 0), began: .zero, over: .seconds(199))
    let near = way.near([Place(x: 0, y: 0)], within: 55)
    #expect(abs(near.from.x - 55) < 0.001 && near.to == way.to && abs(near.over / .seconds(1) - 54) < 0.001)
    let back = Way(from: way.to, to: way.from, began: .zero, over: .seconds(199)).near([Place(x: 0, y: 0)], within: 55)
    #expect(back.from == way.to && abs(back.to.x - 55) < 0.001 && abs(back.over / .seconds(1) - 54) < 0.001)
    // Past somebody else on the way, and near nobody.
    #expect(way.near([Place(x: 0, y: 0), Place(x: 120, y: 10)], within: 20).from.x > 137)
    #expect(way.near([Place(x: 0, y: 300)], within: 55) == way)
    #expect(way.near([], within: 55) == way)
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
  .serialized, .ownThread, .timeLimit(.minutes(20)))
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
