import AppLink
import BusTesting
import BusValue
import Synchronization
import SystemBus
import Testing
import TimeTypes
import Timekeeping

@testable import AppLinkBus

/// A system that answers attachments as a test says. The last answer serves for all later ones.
private final class ChoosySystem: Sendable {
  let events = Inbox<AppLinkServerEvent>()
  private let box = Holder()
  private let answers: Mutex<[Result<AttachReply, AppLinkError>]>

  init(on bus: PrivateBus, _ answers: [Result<AttachReply, AppLinkError>]) throws {
    self.answers = Mutex(answers)
    let server = AppLinkServer(address: bus.address.text, logger: logger) { [self] event in
      if case .attach(_, _, _, let token) = event {
        let answer = self.answers.withLock { answers in
          answers.count > 1 ? answers.removeFirst() : answers.first ?? .success(TestSystem.reply)
        }
        box.value?.reply(to: token, answer)
      }
      events.put(event)
    }
    box.value = server
    try server.start()
  }

  func close() { box.value?.close() }
}

/// A clock that stands still until a test moves it to the next alarm.
private final class WatchedClock: TimeSource {
  let clock = ManualClock()
  let alarms = Inbox<Instant>()

  private struct WatchedAlarm: Alarm {
    let alarm: any Alarm
    let alarms: Inbox<Instant>
    func set(_ deadline: Instant?) {
      alarm.set(deadline)
      if let deadline { alarms.put(deadline) }
    }
  }

  var now: Instant { clock.now }
  var unixSeconds: Double { clock.unixSeconds }
  func makeAlarm(_ handler: @escaping @Sendable () -> Void) -> any Alarm {
    WatchedAlarm(alarm: clock.makeAlarm(handler), alarms: alarms)
  }

  /// Leaps over the next pause, and returns its length.
  func pass() async throws -> Duration {
    let deadline = try await alarms.next()
    defer { clock.advance(to: deadline) }
    return deadline - clock.now
  }
}

@Suite("A refused attachment", .timeLimit(.minutes(20)))
struct RefusedAttachTests {
  @Test("M9: what may pass is asked again by the world's clock, and the app hears nothing of it")
  func asksAgain() async throws {
    let bus = try PrivateBus()
    let passing = [AppLinkError(.unavailable, "systemd starts anew"), AppLinkError(.limitReached, "too many wait")]
    let system = try ChoosySystem(on: bus, passing.map { .failure($0) } + [.success(TestSystem.reply)])
    let app = App()
    let time = WatchedClock()
    let client = AppLinkClient(address: bus.address.text, logger: logger, time: time, delegate: app)
    try client.start()
    #expect(try await time.pass() == .milliseconds(250))
    #expect(try await time.pass() == .milliseconds(500))
    #expect(try await app.told.next() == .attached(TestSystem.reply))
    client.close()
    system.close()
  }

  @Test("M9: a lasting refusal is reported once, and the app tries again as long as necessary")
  func goesOn() async throws {
    let bus = try PrivateBus()
    let refusal = AppLinkError(.notThatApp, "another runs")
    let system = try ChoosySystem(
      on: bus, Array(repeating: .failure(refusal), count: 4) + [.success(TestSystem.reply)])
    let app = App()
    let time = WatchedClock()
    let client = AppLinkClient(address: bus.address.text, logger: logger, time: time, delegate: app)
    try client.start()
    for pause in [250, 500, 1000, 2000] { #expect(try await time.pass() == .milliseconds(pause)) }
    #expect(try await app.told.next() == .refused(refusal))
    #expect(try await app.told.next() == .attached(TestSystem.reply))
    client.close()
    system.close()
  }

  @Test("M9: a client that only claims to be an app does not take the app's place")
  func claimsOfOneUser() async throws {
    let bus = try PrivateBus()
    let events = Inbox<AppLinkServerEvent>()
    let server = AppLinkServer(address: bus.address.text, logger: logger) { events.put($0) }
    try server.start()
    var peers: [Bus] = []
    let attach = AttachCoding.message(Attachment(bundleIdentifier: "org.example.app"))
    let call = MethodCall(
      to: AppLinkName.busName, path: AppLinkName.path, interface: AppLinkName.appInterface, member: attach.name,
      arguments: attach.arguments)
    let refusals = Inbox<String>()
    for _ in 0..<20 {
      let peer = try Bus(address: bus.address)
      try peer.start()
      peers.append(peer)
      peer.enqueue { bus in
        // A system that does not answer makes the others wait.
        bus.call(call) { result in if case .failure(let error) = result { refusals.put(error.name) } }
      }
    }
    for _ in 0..<4 { #expect(try await refusals.next() == "org.latchkey.Error.LimitReached") }
    for _ in 0..<16 {
      guard case .attach = try await events.next() else {
        Issue.record("something else than an attachment")
        return
      }
    }
    for peer in peers { peer.close() }
    server.close()
  }
}
