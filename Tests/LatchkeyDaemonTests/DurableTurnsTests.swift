import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Foundation
import Synchronization
import Testing
import TimeTypes
import Timekeeping

@testable import BluetoothSystem
@testable import LatchkeyDaemon

/// A store whose disk a test can fill and empty.
private final class FickleStore: StateStore {
  struct State {
    var problem: String?
    var attempts = 0
    var onDisk = StoredState()
  }
  let state = Mutex(State())
  /// Called first in each attempt.
  let onAttempt = Mutex<@Sendable () -> Void>({})

  func write(_ changes: [StoreChange]) throws(StoreWriteError) {
    onAttempt.withLock { $0 }()
    let problem = state.withLock { state -> String? in
      state.attempts += 1
      guard state.problem == nil else { return state.problem }
      for change in changes { state.onDisk.apply(change) }
      return nil
    }
    if let problem { throw StoreWriteError(problem) }
  }
}

/// Finished requests, in order.
private final class Done: Sendable {
  private let names = Mutex<[String]>([])
  func add(_ name: String) { names.withLock { $0.append(name) } }
  var all: [String] { names.withLock { $0 } }
}

/// The system with one app, on a disk that may be full.
private final class Bench {
  static let app = "org.example.app"
  static let process = ProcessIdentity(processIdentifier: 7)
  let clock = ManualClock()
  let store = FickleStore()
  let link = AppLinkIdentifier(1)
  let manager = ManagerIdentifier(1)
  var effects: [BluetoothSystem.Effect] = []
  var told: [String?] = []
  var refused: [AppLinkError] = []
  var dropped = 0
  let done = Done()
  private(set) var turns: DurableTurns!
  private(set) var peer: PeerIdentifier!
  private var lastToken: UInt64 = 0

  init(early: DurableTurns.Early = .launches) throws {
    var system = BluetoothSystem(
      apps: [AppDeclaration(bundleIdentifier: Self.app, backgroundModes: ["bluetooth-central"])], stored: StoredState(),
      seed: 1)
    peer = system.identifier(for: try #require(DeviceAddress("C0:FF:EE:00:00:01", kind: .random)))
    turns = DurableTurns(
      system, store: store, time: clock, early: early,
      actions: DurableTurns.Actions(
        carryOut: { [unowned self] in effects += $0 }, tell: { [unowned self] in told.append($0) },
        refuse: { [unowned self] in refused.append($1) }, drop: { [unowned self] count, _ in dropped += count }))
    handle(.started)
    let device: Properties = [
      "Address": .string("C0:FF:EE:00:00:01"), "AddressType": .string("random"), "Bonded": .bool(true),
      "Connected": .bool(false), "UUIDs": .strings(["12345678-0000-4000-8000-000000000001"]),
    ]
    handle(
      .daemon(
        .appeared([
          WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]],
          WellKnown.firstAdapter.appending("dev_C0_FF_EE_00_00_01"): [InterfaceName.device: device],
        ])))
    control(.openApp(bundleIdentifier: Self.app))
    handle(.appLaunched(Self.app, Self.process))
    handle(.attach(link, Self.process, Attachment(bundleIdentifier: Self.app), token()))
    handle(.request(link, .createManager(manager, ManagerCreation(role: .central, restoreIdentifier: "r"))))
    effects = []
  }

  private func token() -> AnswerToken {
    lastToken += 1
    return AnswerToken(lastToken)
  }

  func handle(_ event: BluetoothSystem.Event) { turns.handle(event, whenDone: nil) }
  func control(_ request: ControlRequest) { handle(.control(request, token())) }

  func say(_ request: AppLink.Request, _ name: String) {
    turns.handle(.request(link, request)) { [done] in done.add(name) }
  }

  func connect() { say(.central(manager, .connect(peer, ConnectOptions())), "connect") }
  func cancel() { say(.central(manager, .cancelConnection(peer)), "cancel") }

  var isPromised: Bool {
    store.state.withLock { state in
      state.onDisk.records.values.contains { if case .peripheral(let record) = $0 { record.isWanted } else { false } }
    }
  }
  /// The app dies, and its link comes up: what there was at each write of that.
  func seenAtWrite(_ count: @escaping (Bench) -> Int) -> [Int] {
    connect()
    handle(.detached(link))
    handle(.appEnded(Self.app, Self.process, how: "signal 9"))
    effects = []
    let seen = Mutex<[Int]>([])
    nonisolated(unsafe) let (bench, unsafeCount) = (self, count)
    store.onAttempt.withLock {
      $0 = {
        let now = unsafeCount(bench)
        seen.withLock { $0.append(now) }
      }
    }
    linkComesUp()
    return seen.withLock { $0 }
  }

  func linkComesUp() {
    let device = WellKnown.firstAdapter.appending("dev_C0_FF_EE_00_00_01")
    handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: device, interface: InterfaceName.device, changed: ["Connected": .bool(true)], invalidated: []))))
  }
  var launches: Int { effects.count { if case .launch = $0 { true } else { false } } }
  var isRadioTold: Bool { effects.contains { if case .bluez = $0 { true } else { false } } }
  func fill(_ problem: String? = "The disk is full.") { store.state.withLock { $0.problem = problem } }
  /// Lets time pass until the next attempt.
  func retry() throws {
    clock.advance(to: try #require(turns.retryAt))
    turns.retry()
  }
}

@Suite("M5: a disk that is full, a database that is locked")
struct DurableTurnsTests {
  @Test("M5: an app's request is neither answered nor carried out before it is on disk, and a full disk ends nothing")
  func waits() throws {
    let bench = try Bench()
    bench.fill()
    bench.connect()
    #expect(bench.done.all == [] && !bench.isRadioTold && !bench.isPromised)
    #expect(bench.turns.trouble?.contains("The disk is full.") == true)
    bench.fill(nil)
    try bench.retry()
    #expect(bench.done.all == ["connect"] && bench.isRadioTold && bench.isPromised)
    #expect(bench.turns.trouble == nil && bench.turns.retryAt == nil)
    #expect(bench.told == ["The disk is full.", nil])
  }

  @Test("M5: the process that a link is for starts while what has happened is written")
  func launches() throws {
    let bench = try Bench()
    let atWrite = bench.seenAtWrite { $0.launches }
    #expect(bench.launches == 1)
    #expect(atWrite.first == 1, "the first write comes after the launch")
    #expect(bench.effects.contains { if case .record(.requestCompleted, _) = $0 { true } else { false } })
  }

  @Test(
    "M5, A4: in a simulated world a process starts when all is written, and the journal has what happened before that")
  func recordsFirst() throws {
    let bench = try Bench(early: .records)
    let atWrite = bench.seenAtWrite { bench in
      bench.launches * 100 + bench.effects.count { if case .record(.requestCompleted, _) = $0 { true } else { false } }
    }
    #expect(bench.launches == 1)
    #expect(atWrite.first == 1, "the first write comes after the record, and before the launch")
  }

  @Test("M5: an app's requests keep their order while they wait; its answers to the system don't wait")
  func order() throws {
    let bench = try Bench()
    bench.fill()
    bench.connect()
    bench.cancel()
    bench.say(.central(bench.manager, .scan(ScanRequest(services: nil))), "scan")
    bench.say(.handled(through: EventSequence(1)), "handled")
    bench.say(.respond(RemoteRequestIdentifier(9), result: nil, value: nil), "respond")
    #expect(bench.done.all == ["handled", "respond"])
    bench.fill(nil)
    try bench.retry()
    #expect(bench.done.all == ["handled", "respond", "connect", "cancel", "scan"])
    #expect(!bench.isPromised)
  }

  @Test("M5: requests on disk are still served: the app is suspended, woken and told, and this is written later")
  func serves() throws {
    let bench = try Bench()
    bench.connect()
    bench.effects = []
    bench.fill()
    bench.control(.leaveApp(bundleIdentifier: Bench.app))
    bench.handle(.request(bench.link, .handled(through: EventSequence(1))))
    bench.clock.advance(by: .seconds(60))
    bench.handle(.timePassed)
    #expect(bench.effects.contains(.suspend(Bench.app, Bench.process)))
    bench.handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: WellKnown.firstAdapter.appending("dev_C0_FF_EE_00_00_01"), interface: InterfaceName.device,
            changed: ["Connected": .bool(true)], invalidated: []))))
    #expect(bench.effects.contains(.resume(Bench.app, Bench.process)))
    #expect(
      bench.effects.contains { if case .event(let event, _) = $0, case .connected = event.body { true } else { false } }
    )
    let stored = bench.store.state.withLock { $0.onDisk }
    bench.fill(nil)
    try bench.retry()
    let later = bench.store.state.withLock { $0.onDisk }
    #expect(later != stored && later == bench.turns.system.stored)
  }

  @Test("M5: the user is told once, not at each attempt; the attempts become rarer, down to one in half a minute")
  func backsOff() throws {
    let bench = try Bench()
    bench.fill()
    bench.connect()
    var delays: [Duration] = []
    let before = bench.store.state.withLock { $0.attempts }
    for _ in 0..<14 {
      delays.append(try #require(bench.turns.retryAt) - bench.clock.now)
      try bench.retry()
    }
    #expect(delays.prefix(4) == [.milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800)])
    #expect(delays.max() == .seconds(30) && delays.last == .seconds(30))
    #expect(bench.store.state.withLock { $0.attempts } == before + 14)
    #expect(bench.told == ["The disk is full."])
    // A different reason is reported.
    bench.fill("Another program has it locked.")
    try bench.retry()
    #expect(bench.told == ["The disk is full.", "Another program has it locked."])
  }

  @Test("M5: between two attempts nothing is tried, whatever apps ask for")
  func quiet() throws {
    let bench = try Bench()
    bench.fill()
    bench.connect()
    let attempts = bench.store.state.withLock { $0.attempts }
    for _ in 0..<1000 { bench.connect() }
    bench.handle(.timePassed)
    #expect(bench.store.state.withLock { $0.attempts } == attempts)
  }

  @Test("M5: a user's wish that lasts is refused with what to do, and nothing is changed")
  func refuses() throws {
    let bench = try Bench()
    bench.fill()
    bench.control(.quitApp(bundleIdentifier: Bench.app))
    bench.control(.setBluetooth(on: false))
    #expect(bench.refused.count == 2)
    #expect(bench.refused.allSatisfy { $0.code == .unavailable && $0.message.contains("The disk is full.") })
    #expect(!bench.effects.contains(.kill(Bench.app, Bench.process)))
    #expect(bench.turns.system.settings.bluetoothOn)
    bench.fill(nil)
    try bench.retry()
    bench.control(.quitApp(bundleIdentifier: Bench.app))
    #expect(bench.effects.contains(.kill(Bench.app, Bench.process)) && bench.refused.count == 2)
  }

  @Test("M5: a trouble lasts until a write has succeeded, also where nothing waits; a user need not wait for that")
  func lasts() throws {
    let bench = try Bench()
    bench.fill()
    for _ in 0..<5 {
      bench.control(.setBluetooth(on: false))
      try bench.retry()
    }
    #expect(bench.told == ["The disk is full."] && bench.turns.trouble != nil)
    bench.fill(nil)
    bench.control(.setBluetooth(on: false))
    #expect(bench.told == ["The disk is full.", nil] && !bench.turns.system.settings.bluetoothOn)
    #expect(bench.turns.retryAt == nil)
  }

  @Test("M5: an app that left before its request was on disk was never answered, and this is reported")
  func drops() throws {
    let bench = try Bench()
    bench.fill()
    bench.connect()
    bench.handle(.detached(bench.link))
    #expect(bench.dropped == 1)
    bench.fill(nil)
    try bench.retry()
    #expect(!bench.isPromised && bench.turns.trouble == nil)
  }

  @Test("M5: what was not written when latchkeyd ends is tried once more")
  func finish() throws {
    let bench = try Bench()
    bench.fill()
    bench.control(.leaveApp(bundleIdentifier: Bench.app))
    #expect(bench.turns.finish() > 0)
    bench.fill(nil)
    #expect(bench.turns.finish() == 0)
    #expect(bench.store.state.withLock { $0.onDisk } == bench.turns.system.stored)
  }
}
