import AppLinkBus
import BusTesting
import BusValue
import Foundation
import JournalEvents
import LockCryptography
import ProcessTesting
import SystemBus
import Testing

@testable import Worlds

@Suite("From an agent's start to its state, with real processes", .serialized, .timeLimit(.minutes(20)))
struct AttachmentTests {
  @Test("L2: a started agent has asked for all that it needs before bus or latchkeyd has answered anything")
  func oneRoundTrip() async throws {
    let bus = try PrivateBus()
    let relay = try BusRelay(to: bus.address)
    let calls = Inbox<IncomingCall>()
    let system = try Bus(address: bus.address, name: AppLinkName.busName)
    // The bus says nothing until the attachment has arrived. It is let through on the bus's own thread, because a client waits for
    // the bus's greeting for 25 s only, and on a busy machine this test may not be continued for longer than that.
    try system.start(
      BusHandlers(onCall: { _, call in
        relay.letThrough()
        calls.put(call)
      }))

    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("latchkey-attachment-\(UUID())").path
    for name in ["state", "credentials"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Provisioning.provision(lockDirectory: "\(folder)/lock", phoneDirectory: "\(folder)/credentials/agent")
    try AppDescription(.agent, home: folder, machine: "phone")
      .propertyList(executable: LatchkeyCommand.programs + "/latchkey-agent")
      .write(to: URL(fileURLWithPath: "\(folder)/Info.plist"))
    let agent = try await TestProcess(
      LatchkeyCommand.programs + "/latchkey-agent", [],
      environment: [
        "LATCHKEY_INFO_PLIST": "\(folder)/Info.plist", "STATE_DIRECTORY": "\(folder)/state",
        "CREDENTIALS_DIRECTORY": "\(folder)/credentials/agent", "DBUS_SYSTEM_BUS_ADDRESS": relay.address.text,
        "LATCHKEY_JOURNAL": "\(folder)/journal.jsonl", "PATH": "/usr/bin",
      ], mergesErrors: true)
    #expect(try await calls.next().member == "Attach")
    // The system has said nothing.
    let creation = try await calls.next()
    #expect(creation.member == "CreateManager")
    #expect(creation.arguments.contains(.array(of: "s", [.string("org.latchkey.agent.central")])), "\(creation)")
    agent.signal(SIGKILL)
    _ = try await agent.finish()
    system.close()
  }
}
