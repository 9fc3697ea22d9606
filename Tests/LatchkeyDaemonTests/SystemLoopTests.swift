import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Foundation
import LatchkeyVersion
import Logging
import Synchronization
import Testing
import Timekeeping

@testable import BluetoothSystem
@testable import LatchkeyDaemon

/// Reports what it was asked, and that it was done.
private final class RecordingSupervisor: Supervisor {
  let news: AsyncStream<SupervisorNews>
  let asked: AsyncStream<String>
  private let telling: AsyncStream<SupervisorNews>.Continuation
  private let asking: AsyncStream<String>.Continuation

  init() {
    (news, telling) = AsyncStream.makeStream()
    (asked, asking) = AsyncStream.makeStream()
  }

  func launch(_ app: InstalledApp, _ options: LaunchOptions) throws -> ProcessIdentity? {
    asking.yield("launch \(options.reason.rawValue)")
    return ProcessIdentity(processIdentifier: 7)
  }
  func adopt(_ bundleIdentifier: String, _ process: ProcessIdentity) { asking.yield("adopt") }
  func suspend(_ bundleIdentifier: String, _ process: ProcessIdentity) { asking.yield("suspend") }
  func resume(_ bundleIdentifier: String, _ process: ProcessIdentity) { asking.yield("resume") }
  func kill(_ bundleIdentifier: String, _ process: ProcessIdentity) {
    asking.yield("kill")
    telling.yield(
      .ended(ProcessEnd(bundleIdentifier: "org.example.app", process: process, how: "signal 9")))
  }
  func verify(_ claim: AppClaim, answer: @escaping @Sendable (ClaimRefusal?) -> Void) { answer(nil) }
}

@Suite("The event loop", .timeLimit(.minutes(20)))
struct SystemLoopTests {
  @Test("An app is opened, left, suspended by the alarm, and quit; all of it is on disk")
  func life() async throws {
    let one = try LoopOfOneApp()
    defer { withExtendedLifetime(one) {} }
    let (store, registry, clock, loop) = (one.store, one.registry, one.clock, one.loop)
    let supervisor = one.supervisor
    let (replies, reply) = AsyncStream.makeStream(of: Result<SystemStatus, AppLinkError>.self)
    let (attached, attach) = AsyncStream.makeStream(of: Bool.self)
    let ports = SystemPorts(
      bluez: { _ in }, event: { _, _ in },
      attachReply: { _, result in attach.yield((try? result.get()) != nil) }, queryReply: { _, _ in },
      controlReply: { _, result in reply.yield(result) })
    let system = BluetoothSystem(
      apps: registry.apps.values.map(\.declaration), stored: try store.load(), seed: 1)
    let running = Task { await loop.run(system, ports: ports) }
    var asked = supervisor.asked.makeAsyncIterator()
    var answers = replies.makeAsyncIterator()
    var attachments = attached.makeAsyncIterator()

    loop.handle(.control(.openApp(bundleIdentifier: "org.example.app"), AnswerToken(1)))
    #expect(await asked.next() == "launch opened")
    _ = await answers.next()
    // The launch's own answer is in the queue by now, before the attachment.
    loop.handle(.control(.status, AnswerToken(2)))
    _ = await answers.next()
    loop.handle(
      .attach(
        AppLinkIdentifier(1), ProcessIdentity(processIdentifier: 7), Attachment(bundleIdentifier: "org.example.app"),
        AnswerToken(3)))
    #expect(await attachments.next() == true)
    loop.handle(.control(.leaveApp(bundleIdentifier: "org.example.app"), AnswerToken(4)))
    #expect(try await answers.next()?.get().apps.first?.state == .background)
    // The alarm is set after the answer. An answer to the next question shows that it has been set.
    loop.handle(.control(.status, AnswerToken(5)))
    _ = await answers.next()
    clock.advance(by: .seconds(6))
    #expect(await asked.next() == "suspend")
    loop.handle(.control(.quitApp(bundleIdentifier: "org.example.app"), AnswerToken(6)))
    #expect(await asked.next() == "kill")
    loop.stop()
    await running.value
    let quit = try store.load().records.values.contains { record in
      if case .app(let app) = record { app.quitByUser } else { false }
    }
    #expect(quit)
  }

  @Test(
    "Those that watch are told of changes, at the latest a quarter of a second later, and of none when they have left")
  func statusIsWatched() async throws {
    let one = try LoopOfOneApp()
    defer { withExtendedLifetime(one) {} }
    let (store, registry, clock, loop) = (one.store, one.registry, one.clock, one.loop)
    let (answers, answer) = AsyncStream.makeStream(of: String?.self)
    let (changes, change) = AsyncStream.makeStream(of: UInt64.self)
    let told = Mutex<UInt64>(0)
    let ports = SystemPorts(
      bluez: { _ in }, event: { _, _ in }, attachReply: { _, _ in }, queryReply: { _, _ in },
      controlReply: { _, result in answer.yield((try? result.get())?.version) },
      statusChanged: { number in
        told.withLock { $0 = number }
        change.yield(number)
      })
    let system = BluetoothSystem(apps: registry.apps.values.map(\.declaration), stored: try store.load(), seed: 1)
    let running = Task { await loop.run(system, ports: ports) }
    var replies = answers.makeAsyncIterator()
    var changed = changes.makeAsyncIterator()
    var lastToken: UInt64 = 0
    /// Returns when the request has been handled, and what follows from it.
    func ask(_ request: ControlRequest) async {
      for request in [request, .status] {
        lastToken += 1
        loop.handle(.control(request, AnswerToken(lastToken)))
        #expect(await replies.next() == LatchkeyVersion.current)
      }
    }

    await ask(.quitApp(bundleIdentifier: "org.example.app"))
    await ask(.openApp(bundleIdentifier: "org.example.app"))
    #expect(told.withLock { $0 } == 0, "nobody watches yet")
    loop.watchStatus(true)
    await ask(.status)
    clock.advance(by: .seconds(1))
    await ask(.status)
    #expect(told.withLock { $0 } == 0, "nothing has changed since")
    await ask(.quitApp(bundleIdentifier: "org.example.app"))
    clock.advance(by: .milliseconds(250))
    #expect(await changed.next() == 1)
    await ask(.openApp(bundleIdentifier: "org.example.app"))
    clock.advance(by: .milliseconds(250))
    #expect(await changed.next() == 2)
    loop.watchStatus(false)
    await ask(.status)
    let last = told.withLock { $0 }
    await ask(.quitApp(bundleIdentifier: "org.example.app"))
    clock.advance(by: .seconds(1))
    await ask(.openApp(bundleIdentifier: "org.example.app"))
    loop.stop()
    await running.value
    #expect(told.withLock { $0 } == last, "nobody watches any more")
  }

  @Test("BlueZ 21: systemd's watchdog is the occasion to read armed devices again")
  func watchdogStirs() async throws {
    let one = try LoopOfOneApp()
    defer { withExtendedLifetime(one) {} }
    let (store, registry, clock, loop) = (one.store, one.registry, one.clock, one.loop)
    let (calls, calling) = AsyncStream.makeStream(of: ClientMessage.self)
    let (replies, reply) = AsyncStream.makeStream(of: Void.self)
    var answers = replies.makeAsyncIterator()
    let ports = SystemPorts(
      bluez: { calling.yield($0) }, event: { _, _ in }, attachReply: { _, _ in }, queryReply: { _, _ in },
      controlReply: { _, _ in reply.yield() })
    let address = "C0:FF:EE:00:00:01"
    var system = BluetoothSystem(
      apps: registry.apps.values.map(\.declaration), stored: try store.load(), seed: 1)
    let peer = system.identifier(for: try #require(DeviceAddress(address, kind: .random)))
    let running = Task { [system] in await loop.run(system, ports: ports, watchdogInterval: .seconds(20)) }
    let device: Properties = [
      "Address": .string(address), "AddressType": .string("random"), "Bonded": .bool(true), "Connected": .bool(false),
      "UUIDs": .strings(["12345678-0000-4000-8000-000000000001"]),
    ]
    let process = ProcessIdentity(processIdentifier: 7)
    loop.handle(
      .daemon(
        .appeared([
          WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]],
          WellKnown.firstAdapter.appending("dev_C0_FF_EE_00_00_01"): [InterfaceName.device: device],
        ])))
    loop.handle(.control(.openApp(bundleIdentifier: "org.example.app"), AnswerToken(1)))
    loop.handle(.appLaunched("org.example.app", process))
    let link = AppLinkIdentifier(1)
    loop.handle(.attach(link, process, Attachment(bundleIdentifier: "org.example.app"), AnswerToken(2)))
    loop.handle(.request(link, .createManager(ManagerIdentifier(1), ManagerCreation(role: .central))))
    loop.handle(.request(link, .central(ManagerIdentifier(1), .connect(peer, ConnectOptions()))))
    var asked: [BlueZ.Request] = []
    for await message in calls {
      guard case .call(let identifier, _, let request) = message else { continue }
      asked.append(request)
      if request == .getManagedObjects { break }
      loop.handle(.daemon(.reply(identifier, .success(.none))))
      guard case .registerApplication = request else { continue }
      // The answer has been handled when the next question is answered.
      _ = await answers.next()
      loop.handle(.control(.status, AnswerToken(3)))
      _ = await answers.next()
      clock.advance(by: .seconds(20))
    }
    #expect(asked.contains(.getManagedObjects))
    loop.stop()
    await running.value
  }
}

/// A loop with one app, which records what it is to do with it.
private struct LoopOfOneApp {
  // It is removed with this value.
  private let folder: TemporaryFolder
  let store: Store
  let registry: AppRegistry
  let supervisor = RecordingSupervisor()
  let clock = ManualClock()
  let loop: SystemLoop

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(
      TemporaryFolder.plist(
        "<key>CFBundleIdentifier</key><string>org.example.app</string><key>CFBundleExecutable</key><string>sh</string>"
      ), to: "apps/one/Info.plist")
    store = try Store(StateFolder(path: folder.path + "/state", machine: "phone"))
    registry = try AppRegistry(folder: folder.path + "/apps", programFolder: "/bin")
    loop = SystemLoop(
      time: clock, store: store, supervisor: supervisor, registry: registry, logger: Logger(label: "test"))
  }
}
