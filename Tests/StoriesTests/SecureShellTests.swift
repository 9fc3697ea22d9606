import BusValue
import Foundation
import Glibc
import Journal
import ProcessTesting
import Synchronization
import SystemBus
import Testing
import TimeTypes

@testable import Worlds

@Suite(
  "Machines over ssh",
  .enabled(if: LoopbackMachine.isPossible, "needs root, sshd and systemd-stdio-bridge"),
  .serialized, .ownThread, .timeLimit(.minutes(20)))
struct SecureShellTests {
  private let machine: LoopbackMachine
  private let folder: RunFolder
  private let shell: SecureShell

  init() async throws {
    machine = try await LoopbackMachine()
    folder = try RunFolder(keep: nil)
    let environment = ProcessInfo.processInfo.environment.merging([WorldProcesses.worldVariable: folder.world]) { $1 }
    let tools = try MachineTools(folder: TestPlaces.programs)
    let hardware = RealHardware("far", machine.settings, tools: tools, environment: environment, progress: { _ in })
    shell = SecureShell(
      "far", hardware.destination, tools: tools, control: "\(folder.sockets)/ssh-far", environment: environment)
    try shell.connect()
  }

  private func end() throws {
    shell.close()
    try WorldProcesses(world: folder.world).kill()
    try RunFolder.remove(folder.sockets, world: folder.world)
  }

  @Test("H1: commands on another machine return their output, read a local file, and fail with their own words")
  func commands() throws {
    #expect(try shell.run("echo \"$HOME\"; echo no >&2") == "/root\n")
    let file = "\(folder.sockets)/file"
    let text = String(repeating: "a'b\n", count: 50_000)
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    try shell.copy(file: file, to: "\(machine.folder)/it's here")
    #expect(try String(contentsOfFile: "\(machine.folder)/it's here", encoding: .utf8) == text)
    let error = #expect(throws: WorldError.self) { try shell.run("echo 'no such thing' >&2; exit 3") }
    #expect(error?.description.contains("no such thing") == true)
    #expect(error?.description.contains("on far") == true)
    #expect(throws: WorldError.self) { try shell.run("cat", limit: .milliseconds(1)) }
    try end()
  }

  @Test("H1: another machine's bus is reached as sd_bus_open_system_remote(3) does it, and signals come back")
  func bus() async throws {
    let bus = try Bus(address: BusAddress(shell.busAddress))
    let signals = AsyncStream.makeStream(of: String.self)
    try bus.start(BusHandlers(onSignal: { _, signal in signals.continuation.yield(signal.member) }))
    #expect(bus.uniqueName.hasPrefix(":"))
    await withCheckedContinuation { continuation in
      bus.enqueue { $0.addMatch(MatchRule(member: "Hello")) { _ in continuation.resume() } }
    }
    // A client on the machine's own bus.
    let local = try Bus(address: machine.bus.address)
    try local.start()
    try await local.emit(
      OutgoingSignal(path: ObjectPath(unchecked: "/a"), interface: "a.b", member: "Hello", arguments: []))
    var iterator = signals.stream.makeAsyncIterator()
    #expect(await iterator.next() == "Hello")
    bus.close()
    local.close()
    try end()
  }

  @Test("H1: another machine's journal is followed from the first line after the start, in order, with its clock")
  func journal() throws {
    let seen = Mutex<[SystemdJournalLine]>([])
    let records = try RemoteRecords(run: folder, machines: ["far"], recordsLinks: true)
    let follower = JournalFollower(
      "far", shell, now: { records.now },
      onLine: { line in
        seen.withLock { $0.append(line) }
        records.take(line, machine: "far")
      })
    records.add("far", follower)
    try follower.open()
    #expect(seen.withLock { $0.isEmpty })
    let before = records.now
    for number in 1...100 {
      try machine.journal([
        "LATCHKEY_TIME": "1", "SYSLOG_IDENTIFIER": "latchkeyd", "MESSAGE": "x", "_PID": "7", "PRIORITY": "5",
        "LATCHKEY_EVENT": "app.launched", "LATCHKEY_FIELDS": "appName n.2", "LATCHKEY_FIELD_APPNAME": "a b",
        "LATCHKEY_FIELD_N_2": "\(number)",
      ])
    }
    try machine.journal(["SYSLOG_IDENTIFIER": "bluetoothd", "MESSAGE": "nobody's", "PRIORITY": "3"])
    try follower.sync()
    #expect(seen.withLock { $0.count } == 101)
    let entries = records.takeEntries()
    #expect(entries.map { $0.fields["n.2"] } == (1...100).map { "\($0)" })
    let first = try #require(entries.first)
    #expect(first.fields["appName"] == "a b")
    #expect(
      [first.machine, first.process, first.level, first.event ?? ""] == ["far", "latchkeyd", "notice", "app.launched"])
    #expect(first.pid == 7)
    // There is only one clock here, so what is written now must have the present time, as precisely as a question
    // over ssh can tell.
    let uncertainty = follower.clock.uncertainty
    #expect(uncertainty > 0)
    #expect(first.t > before - uncertainty)
    #expect(first.t < records.now + uncertainty)
    follower.close()

    // It continues where it ended.
    try machine.journal(["LATCHKEY_TIME": "2", "SYSLOG_IDENTIFIER": "latchkeyd", "MESSAGE": "meanwhile"])
    try follower.open()
    #expect(records.takeEntries().map(\.message) == ["meanwhile"])
    follower.close()
    try end()
  }

  @Test("H1: systemd's word that latchkeyd was killed is an unexpected end, unless a fault was to do it")
  func ends() throws {
    let records = try RemoteRecords(run: folder, machines: ["far"], recordsLinks: true)
    func exit(_ unit: String, _ code: String, _ status: String) throws {
      let fields = [
        "MESSAGE_ID": "98e322203f7a4ed290d09fe03c09fe15", "_PID": "1", "UNIT": unit, "EXIT_CODE": code,
        "EXIT_STATUS": status,
      ]
      records.take(try #require(SystemdJournalLine(JSONEncoder().encode(fields))), machine: "far")
    }
    records.expectEnd(of: RemoteMachine.daemonUnit, on: "far")
    try exit("latchkeyd.service", "killed", "9")
    try exit("cron.service", "killed", "9")
    try exit("bluetooth.service", "exited", "0")
    #expect(records.takeUnexpectedEnds(of: "far").isEmpty)
    try exit("latchkeyd.service", "killed", "KILL")
    try exit("bluetooth.service", "dumped", "SEGV")
    #expect(records.takeUnexpectedEnds(of: "far").map(\.end) == [.signal(9), .signal(11)])
    try end()
  }

  @Test("H1: a socket on another machine can be reached here, until the connection ends")
  func sockets() throws {
    try RunFolder.make("\(folder.sockets)/hand")
    try shell.forward("\(folder.sockets)/hand/hardware.sock", to: "\(machine.folder)/nowhere")
    #expect(throws: WorldError.self) {
      try LockHardware(stateFolder: "\(folder.sockets)/hand").turnBolt(isLocked: true)
    }
    let heard = DispatchSemaphore(value: 0)
    let running = try shell.start("cat", onLine: { _ in heard.signal() }, onEnd: {})
    #expect(write(running.input, "a\n", 2) == 2)
    #expect(heard.wait(timeout: .now() + 20) == .success)
    #expect(WorldProcesses(world: folder.world).all().count >= 2)
    shell.close()
    try running.process.waitForEnd()
    close(running.input)
    // A command that comes too late fails, and makes no connection of its own.
    let late = try shell.start("cat", onLine: { _ in }, onEnd: {})
    try late.process.waitForEnd()
    close(late.input)
    #expect(WorldProcesses(world: folder.world).all().isEmpty)
    try end()
  }

  @Test("H1: a machine that can't be reached is named, with ssh's own words")
  func unreachable() throws {
    var settings = machine.settings
    settings.identity = "\(machine.folder)/host"
    let environment = ProcessInfo.processInfo.environment
    let tools = try MachineTools(folder: TestPlaces.programs)
    let hardware = RealHardware("far", settings, tools: tools, environment: environment, progress: { _ in })
    let stranger = SecureShell(
      "far", hardware.destination, tools: tools, control: "\(folder.sockets)/ssh-stranger", environment: environment)
    let error = #expect(throws: WorldError.self) { try stranger.connect() }
    #expect(error?.description.contains("far can't be reached over ssh as root@127.0.0.1") == true)
    #expect(error?.description.contains("Permission denied") == true)
    try end()
  }
}
