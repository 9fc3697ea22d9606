import AppLinkBus
import BusTesting
import BusValue
import Foundation
import ProcessTesting
import SystemBus
import Testing

@testable import Worlds

/// Apps that outlived a latchkeyd go on with what they were about as soon as the next one is on the bus.
@Suite("A latchkeyd that starts", .timeLimit(.minutes(20))) struct StartOrderTests {
  private struct Started {
    let process: TestProcess
    let folder: String
    /// Nobody moves its time, so that latchkeyd waits for as long as this machine is busy.
    let clock: Conductor
  }

  private func start(on bus: PrivateBus) async throws -> Started {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("latchkey-start-\(UUID())").path
    for name in ["apps", "clock"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    let clock = try Conductor(directory: "\(folder)/clock", includesEveryDescendant: false)
    let process = try await TestProcess(
      LatchkeyCommand.programs + "/latchkeyd", ["--state", "\(folder)/state", "--apps", "\(folder)/apps"],
      environment: [
        "DBUS_SYSTEM_BUS_ADDRESS": bus.address.text, "LATCHKEY_JOURNAL": "\(folder)/journal.jsonl",
        "LATCHKEY_CLOCK": clock.directory, "PATH": "/usr/bin",
      ], mergesErrors: true)
    return Started(process: process, folder: folder, clock: clock)
  }

  private func end(_ daemon: Started) async throws {
    daemon.process.signal(SIGKILL)
    _ = try await daemon.process.finish()
    withExtendedLifetime(daemon.clock) {}
    try? FileManager.default.removeItem(atPath: daemon.folder)
  }

  /// A bus that notes when latchkeyd's name is taken, and a question whether it is.
  private func watch(_ bus: PrivateBus) throws -> (peer: Bus, taken: Inbox<Void>) {
    let taken = Inbox<Void>()
    let peer = try Bus(address: bus.address)
    try peer.start()
    peer.enqueue { bus in bus.watchOwner(of: AppLinkName.busName) { _, owner in if owner != nil { taken.put(()) } } }
    return (peer, taken)
  }

  @Test("C8: it lets apps in when it knows what bluetoothd has: no request fails for a link that is there all the time")
  func order() async throws {
    let bus = try PrivateBus()
    let questions = Inbox<IncomingCall>()
    let bluetoothd = try Bus(address: bus.address, name: "org.bluez")
    try bluetoothd.start(
      BusHandlers(onCall: { bus, call in
        if call.member == "GetManagedObjects" {
          questions.put(call)
        } else {
          bus.reply(to: call, with: .failure(.unknownMethod(call)))
        }
      }))
    let (peer, taken) = try watch(bus)
    let daemon = try await start(on: bus)
    let question = try await questions.next()
    let answer = try await peer.call(
      MethodCall(
        to: "org.freedesktop.DBus", path: ObjectPath(unchecked: "/org/freedesktop/DBus"),
        interface: "org.freedesktop.DBus", member: "NameHasOwner", arguments: [.string(AppLinkName.busName)]))
    #expect(answer == [.bool(false)], "bluetoothd has not answered yet")
    bluetoothd.enqueue { $0.reply(to: question, with: .success([.dictionary(key: "o", value: "a{sa{sv}}", [:])])) }
    try await taken.next()
    try await end(daemon)
    bluetoothd.close()
    peer.close()
  }

  @Test("C8: it lets them in without bluetoothd, too") func alone() async throws {
    let bus = try PrivateBus()
    let (peer, taken) = try watch(bus)
    let daemon = try await start(on: bus)
    try await taken.next()
    try await end(daemon)
    peer.close()
  }
}
