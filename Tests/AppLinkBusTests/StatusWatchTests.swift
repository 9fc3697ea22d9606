import AppLink
import BusTesting
import BusValue
import Foundation
import SystemBus
import Testing

@testable import AppLinkBus

@Suite("Watching the status over the bus", .timeLimit(.minutes(20)))
struct StatusWatchTests {
  /// What a follower was told, in words.
  private final class Listener: Sendable {
    let heard = Inbox<String>()

    func take(_ news: StatusFollower.News) {
      switch news {
      case .status(let status): heard.put("\(status.apps.count) apps")
      case .away: heard.put("away")
      case .ended(let error): heard.put(error.message)
      }
    }
  }

  /// Takes the next request of a user, and answers it with a status that has this many apps.
  private func answer(_ system: TestSystem, apps count: Int) async throws -> ControlRequest? {
    guard case .control(let request, let credentials, let token) = try await system.events.next() else { return nil }
    if request == .watchStatus {
      system.server.watch(token, credentials)
      return request
    }
    let apps = (0..<count).map { AppStatus(bundleIdentifier: "\($0)", state: .notRunning) }
    system.server.reply(to: token, .success(SystemStatus(bluetooth: .poweredOn, apps: apps)))
    return request
  }

  @Test(
    "A follower has the status at first and after each change, over latchkeyd's restarts, and is forgotten when it ends"
  )
  func follow() async throws {
    let bus = try PrivateBus()
    let listener = Listener()
    let follower = try StatusFollower(address: bus.address.text) { listener.take($0) }
    #expect(try await listener.heard.next() == "away")
    for life in 1...2 {
      let system = try TestSystem(on: bus)
      #expect(try await answer(system, apps: 0) == .watchStatus)
      #expect(try await system.events.next() == .statusWatched(true))
      #expect(try await answer(system, apps: life) == .status)
      #expect(try await listener.heard.next() == "\(life) apps")
      system.server.statusChanged(1)
      #expect(try await answer(system, apps: 7) == .status)
      #expect(try await listener.heard.next() == "7 apps")
      if life == 2 {
        follower.close()
        #expect(try await system.events.next() == .statusWatched(false))
      }
      system.server.close()
      if life == 1 { #expect(try await listener.heard.next() == "away") }
    }
  }

  @Test("A watcher that does not ask is told once, however often the status changes; and again when it has asked")
  func toldOnce() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    let signals = Inbox<UInt64>()
    let watcher = try Bus(address: bus.address)
    try watcher.start(
      BusHandlers(onSignal: { _, signal in
        if signal.member == "StatusChanged", case .uint64(let number) = signal.arguments.first { signals.put(number) }
      }))
    func ask(_ request: ControlRequest) async throws {
      async let reply = watcher.call(ControlCall.call(request))
      while try await answer(system, apps: 0) != .status {}
      _ = try await reply
    }
    try await ask(.watchStatus)
    // Its answer is sent after the changes, so they can't come after the next question.
    async let other = watcher.call(ControlCall.call(.setBluetooth(on: true)))
    let asked = try await system.events.next()
    guard case .control(.setBluetooth, _, let token) = asked else {
      Issue.record("not the other question: \(asked)")
      return
    }
    for number in UInt64(1)...5 { system.server.statusChanged(number) }
    system.server.reply(to: token, .success(nil))
    _ = try await other
    try await ask(.status)
    system.server.statusChanged(6)
    #expect(try await signals.next() == 1)
    #expect(try await signals.next() == 6)
    watcher.close()
    #expect(try await system.events.next() == .statusWatched(false))
    system.server.close()
  }

  @Test("Sixteen clients of a user can watch; the next is refused, until one has left")
  func limit() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    var watchers: [Bus] = []
    for _ in 0..<Flow.userWatcherLimit {
      let watcher = try Bus(address: bus.address)
      try watcher.start()
      async let reply = watcher.call(ControlCall.call(.watchStatus))
      while try await answer(system, apps: 0) != .status {}
      _ = try await reply
      watchers.append(watcher)
    }
    let late = Listener()
    let follower = try StatusFollower(address: bus.address.text) { late.take($0) }
    #expect(try await answer(system, apps: 0) == .watchStatus)
    #expect(try await late.heard.next() == "16 programs of this user watch the status already; end one of them")
    follower.close()
    for watcher in watchers { watcher.close() }
    #expect(try await system.events.next() == .statusWatched(false))
    system.server.close()
  }

  @Test("H7: an app that reports to a latchkeyd from before there were reports is not cut off")
  func earlierSystem() async throws {
    let bus = try PrivateBus()
    let heard = Inbox<String>()
    let earlier = try Bus(address: bus.address, name: AppLinkName.busName)
    try earlier.start(
      BusHandlers(onCall: { bus, call in
        switch call.member {
        case "Attach": bus.reply(to: call, with: .success(AttachCoding.values(TestSystem.reply)))
        case "Report": bus.reply(to: call, with: .failure(.unknownMethod(call)))
        default: bus.reply(to: call, with: .success([]))
        }
        heard.put(call.member)
      }))
    let app = App()
    let client = AppLinkClient(address: bus.address.text, logger: logger, delegate: app)
    try client.start()
    #expect(try await app.told.next() == .attached(TestSystem.reply))
    #expect(try await heard.next() == "Attach")
    // More than the window, so that receipts are asked for.
    for _ in 1...(Flow.window + 1) { client.send(.report(AppReport(.movement, subject: "Door", text: "opened"))) }
    client.send(.showAlert(nil))
    for _ in 1...(Flow.window + 1) { #expect(try await heard.next() == "Report") }
    #expect(try await heard.next() == "ShowAlert")
    // It would attach again after this, if it had been cut off.
    client.send(.showAlert(nil))
    #expect(try await heard.next() == "ShowAlert")
    client.close()
    earlier.closeAndWait()
  }

  @Test("A latchkeyd of another version gets one clear line, for a status of another form and for an unknown request")
  func otherVersion() async throws {
    let bus = try PrivateBus()
    for (status, words) in [
      (Value.structure([.byte(5), .array(of: "s", [])]), "latchkeyd is of an earlier version, and this command is of"),
      (.structure([.string("9.8.7"), .bool(true)]), "latchkeyd is of version 9.8.7, and this command is of"),
      (nil, "latchkeyd is of an earlier version"),
    ] as [(Value?, String)] {
      let other = try Bus(address: bus.address, name: AppLinkName.busName)
      try other.start(
        BusHandlers(onCall: { bus, call in
          bus.reply(to: call, with: status.map { .success([$0]) } ?? .failure(.unknownMethod(call)))
        }))
      let client = try ControlClient(address: bus.address.text)
      let error = await #expect(throws: AppLinkError.self) { try await client.status() }
      #expect(error?.code == .wrongVersion)
      #expect(error?.message.hasPrefix(words) == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("restart latchkeyd, or install both from one release") == true)
      other.closeAndWait()
    }
  }
}
