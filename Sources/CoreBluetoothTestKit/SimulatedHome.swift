import BlueZModel
import BluetoothSystem
import Foundation
import Radio
import Timekeeping

/// Whole machines in one process on a virtual clock, for an app's own tests: a simulated radio, a bluetoothd and a
/// Bluetooth system for each machine, and real `CBCentralManager` and `CBPeripheralManager` objects on top.
///
///     let home = SimulatedHome(seed: 7)
///     home.addMachine("door")
///     home.addMachine("phone", x: 2)
///     home.install("org.example.lock", on: "door", backgroundModes: ["bluetooth-peripheral"]) { _ in MyLock() }
///     home.install("org.example.key", on: "phone", backgroundModes: ["bluetooth-central"]) { _ in MyKey() }
///     home.open("org.example.lock")
///     home.open("org.example.key")
///     await home.advance(by: .seconds(30))
///     home.kill("org.example.key")              // as under memory pressure; what it asked for goes on
///     home.move("phone", x: 2000)
///     await home.advance(by: .seconds(86_400))
///     home.move("phone", x: 2)
///     await home.advance(by: .seconds(60))      // launched again, willRestoreState first
///
/// Time passes only in `advance(by:)`, although things that take no time may happen before. It passes only when every
/// app has returned from its delegate calls, and the tasks that the app began in them have ended or wait for something
/// (<doc:Time>). The same seed and the same calls give the same radio behaviour. An app that the system suspends is
/// told nothing until it is woken, and its alarms wait.
///
/// A name that is not in the home is a mistake of the test. It ends the test's process, with a message that lists the
/// names that are.
public final class SimulatedHome: Sendable {
  /// The home's time. Apps take their alarms from it.
  public let clock: SimulatedClock
  let engine: HomeEngine

  /// - Parameter seed: decides what the radio does: losses, delays, and which device hears which first.
  public convenience init(seed: UInt64 = 1) { self.init(seed: seed, configuration: BluetoothSystem.Configuration()) }

  package convenience init(seed: UInt64 = 1, configuration: BluetoothSystem.Configuration) {
    self.init(seed: seed, configuration: configuration, patience: HomePatience())
  }

  /// - Parameter patience: how long the home may stand still before it ends the test, in seconds of the computer's
  ///   time.
  package convenience init(seed: UInt64 = 1, patience: Double) {
    self.init(
      seed: seed, configuration: BluetoothSystem.Configuration(),
      patience: HomePatience(interval: patience / 2, limit: 2)
    )
  }

  private init(seed: UInt64, configuration: BluetoothSystem.Configuration, patience: HomePatience) {
    let time = ManualClock()
    engine = HomeEngine(seed: seed, configuration: configuration, clock: time, patience: patience)
    clock = SimulatedClock(time: time) { [weak engine] body in
      body()
      engine?.awaitTest()
    }
  }

  /// Apps refer to the engine and the engine to them.
  deinit { engine.run { $0.endAll() } }

  /// Adds a machine that is on. Positions are in metres. Two machines hear each other up to some 15 to 40 m. The mean
  /// strength is -59 dBm at one metre and 22 dB less at ten. The seed decides the exact range, and up to 10 dB more or
  /// less.
  public func addMachine(_ name: String, x: Double = 0, y: Double = 0) {
    engine.run { $0.addMachine(SimulatedMachine(name: name, position: Position(x: x, y: y))) }
  }

  /// As ``addMachine(_:x:y:)``, with another interval for the links that the machine makes, 7.5 ms to 4 s.
  package func addMachine(_ name: String, x: Double = 0, y: Double = 0, connectionInterval: Duration) {
    var machine = SimulatedMachine(name: name, position: Position(x: x, y: y))
    machine.connectionInterval = connectionInterval
    engine.run { [machine] in $0.addMachine(machine) }
  }

  /// When the latest link came up.
  package var latestLinkUp: Duration? {
    engine.run { $0.latestLinkUp.map { .nanoseconds($0.nanoseconds) } }
  }

  /// How many messages of the attribute protocol all machines have sent so far.
  package var attributeFrameCount: Int { engine.run { $0.world.attributeFrameCount } }

  /// How the bundle identifiers of simulated peripherals and centrals begin.
  static let scriptPrefix = "org.latchkey.testkit."

  /// Adds a peripheral that the test writes itself: a machine of its own, which advertises these services under its name
  /// from the start.
  @discardableResult
  public func addPeripheral(
    _ name: String, x: Double = 0, y: Double = 0, services: [SimulatedService]
  ) -> SimulatedPeripheral {
    let peripheral = SimulatedPeripheral(name: name, services: services, engine: engine)
    var machine = SimulatedMachine(name: name, position: Position(x: x, y: y))
    machine.hasDeviceInformation = false
    engine.run { [machine] in $0.addMachine(machine) }
    peripheral.announceServices()
    install(
      Self.scriptPrefix + "peripheral." + name, on: name, backgroundModes: ["bluetooth-peripheral"], keepAlive: true
    ) { launch in peripheral.launch(launch) }
    return peripheral
  }

  /// Adds a central that the test writes itself: a machine of its own, which reads, writes, subscribes and opens L2CAP channels.
  @discardableResult
  public func addCentral(_ name: String, x: Double = 0, y: Double = 0) -> SimulatedCentral {
    let central = SimulatedCentral(name: name)
    addMachine(name, x: x, y: y)
    install(
      Self.scriptPrefix + "central." + name, on: name, backgroundModes: ["bluetooth-central"], keepAlive: true
    ) { launch in central.launch(launch) }
    return central
  }

  /// Installs an app and restarts the machine's system with it, as an installation does.
  /// - Parameters:
  ///   - bundleIdentifier: The app's identity, as in its `Info.plist`.
  ///   - machine: The name of a machine that was added.
  ///   - backgroundModes: `UIBackgroundModes`.
  ///   - keepAlive: Whether the system starts it by itself, and again when it ends (`LatchkeyKeepAlive`).
  ///   - launch: The app's `application(_:didFinishLaunchingWithOptions:)`, which creates the app's objects. The
  ///     object it returns stands for the app's process and is released when the app is killed.
  public func install(
    _ bundleIdentifier: String, on machine: String, backgroundModes: [String], keepAlive: Bool = false,
    launch: @escaping @Sendable (SimulatedLaunch) -> AnyObject
  ) {
    let declaration = AppDeclaration(
      bundleIdentifier: bundleIdentifier, backgroundModes: backgroundModes, keepAlive: keepAlive)
    engine.run { $0.install(declaration, on: machine, launch) }
  }

  /// What the app's `launch` returned, or `nil` while it is not running.
  public func app(_ bundleIdentifier: String) -> AnyObject? {
    engine.run {
      $0.checkApp(bundleIdentifier)
      return $0.process(bundleIdentifier)?.root
    }
  }

  /// How many times the app was launched.
  public func launchCount(_ bundleIdentifier: String) -> Int {
    engine.run {
      $0.checkApp(bundleIdentifier)
      return $0.launchCounts[bundleIdentifier] ?? 0
    }
  }

  /// Whether the app has a process, which may be suspended.
  public func isRunning(_ bundleIdentifier: String) -> Bool {
    engine.run {
      $0.checkApp(bundleIdentifier)
      return $0.process(bundleIdentifier) != nil
    }
  }

  /// Whether the app has a process that the system has suspended.
  public func isSuspended(_ bundleIdentifier: String) -> Bool {
    engine.run {
      $0.checkApp(bundleIdentifier)
      return $0.process(bundleIdentifier)?.isSuspended ?? false
    }
  }

  // MARK: What the app saw

  /// What Core Bluetooth logged in the app, over all its runs. `misuses` has the app's mistakes.
  public func log(of bundleIdentifier: String) -> LogCollector {
    engine.run { $0.history(bundleIdentifier)?.log ?? LogCollector() }
  }

  /// Runs `body` with the app's identity, as code of the app: managers that it makes are the app's.
  /// - Parameter bundleIdentifier: An app that is running; by default the only one that is installed.
  public func run<Value>(as bundleIdentifier: String? = nil, _ body: () throws -> Value) rethrows -> Value {
    try runningApp(bundleIdentifier).run(body)
  }

  /// Runs `body` with the app's identity, as code of the app: managers that it makes are the app's, also in its tasks.
  /// - Parameter bundleIdentifier: An app that is running; by default the only one that is installed.
  public func run<Value>(
    as bundleIdentifier: String? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Value
  ) async rethrows -> Value {
    try await runningApp(bundleIdentifier).run(isolation: isolation, body)
  }

  private func runningApp(_ bundleIdentifier: String?) -> SimulatedApp {
    engine.run {
      let name = bundleIdentifier ?? $0.onlyApp()
      $0.checkApp(name)
      guard let process = $0.process(name) else {
        preconditionFailure("the app \"\(name)\" is not running: open it first, and let time pass")
      }
      process.stir()
      return process
    }
  }

  // MARK: The user

  /// Launches the app, or brings it to the foreground.
  public func open(_ bundleIdentifier: String) {
    engine.run { $0.control(.openApp(bundleIdentifier: bundleIdentifier), app: bundleIdentifier) }
  }

  /// Sends the app to the background. The system suspends it there soon.
  public func leave(_ bundleIdentifier: String) {
    engine.run { $0.control(.leaveApp(bundleIdentifier: bundleIdentifier), app: bundleIdentifier) }
  }

  /// Leaves the app, and lets time pass until the system has suspended it: usually ten seconds, five for an app without a
  /// background mode. An app that is told something more often than that would run on, as on iOS. Its time ends after half a minute.
  public func suspend(_ bundleIdentifier: String) async {
    precondition(isRunning(bundleIdentifier), "the app \"\(bundleIdentifier)\" is not running: open it first")
    leave(bundleIdentifier)
    if await advance(by: .seconds(30), until: { [self] in self.isSuspended(bundleIdentifier) }) { return }
    engine.run { $0.endTime(of: bundleIdentifier) }
    let isSuspended = await advance(by: .seconds(90)) { [self] in self.isSuspended(bundleIdentifier) }
    precondition(
      isSuspended,
      "the app \"\(bundleIdentifier)\" is not suspended two minutes after its user has left it; an app that is kept alive never is"
    )
  }

  /// Force-quit: the app is not relaunched until it is opened.
  public func quit(_ bundleIdentifier: String) {
    engine.run { $0.control(.quitApp(bundleIdentifier: bundleIdentifier), app: bundleIdentifier) }
  }

  /// Whether the user lets the app use Bluetooth. A no ends everything that the app asked for.
  public func allow(_ bundleIdentifier: String, _ isAllowed: Bool) {
    engine.run {
      $0.control(.allowApp(bundleIdentifier: bundleIdentifier, isAllowed: isAllowed), app: bundleIdentifier)
    }
  }

  /// The user switches Bluetooth on or off on this machine.
  public func setBluetooth(_ machine: String, isOn: Bool) {
    engine.run { $0.control(.setBluetooth(on: isOn), machine: machine) }
  }

  // MARK: Faults and events

  /// Ends the app's process, as SIGKILL does.
  public func kill(_ bundleIdentifier: String) {
    engine.run {
      $0.checkApp(bundleIdentifier)
      $0.endProcess(bundleIdentifier)
    }
  }
  /// Kills the machine's system, which comes back with what is on its disk.
  public func restartSystem(_ machine: String) {
    engine.run {
      $0.checkMachine(machine)
      $0.restartSystem(machine)
    }
  }
  /// Ends bluetoothd, in order or by SIGKILL, and starts it again.
  public func restartBluetoothd(_ machine: String, killed: Bool = false) {
    engine.run { $0.command(.restartBluetoothd(machine: machine, killed: killed)) }
  }
  /// Puts a machine or a peripheral at another place at once, in metres.
  public func move(_ machine: String, x: Double, y: Double = 0) {
    engine.run { $0.command(.move(machine: machine, x: x, y: y)) }
  }
  /// Carries a machine or a peripheral to another place, in metres, straight and at an even pace.
  public func walk(_ machine: String, x: Double, y: Double = 0, over duration: Duration) {
    let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    precondition(seconds > 0, "a walk takes more than no time")
    engine.run { $0.command(.walk(machine: machine, x: x, y: y, seconds: seconds)) }
  }
  /// Shields a machine, so that it neither hears nor is heard: a link that it has is lost some seconds later.
  public func shield(_ machine: String, isOn: Bool) {
    engine.run { $0.command(.shield(machine: machine, isOn: isOn)) }
  }
  /// Blocks the machine's radio, as rfkill and flight mode do.
  public func block(_ machine: String, isOn: Bool) {
    engine.run { $0.command(.block(machine: machine, isOn: isOn)) }
  }
  /// Removes the machine's adapter, or puts it back.
  public func plugAdapter(_ machine: String, isIn: Bool) {
    engine.run { $0.command(.plug(machine: machine, isOn: isIn)) }
  }
  /// Ends every process of the machine. Then the system starts again, with the apps that it keeps alive.
  public func reboot(_ machine: String) {
    turnOff(machine)
    turnOn(machine)
  }
  /// Cuts a machine's or a peripheral's power. What is on its disk stays.
  public func turnOff(_ machine: String) { engine.run { $0.turnOff(machine) } }
  /// Starts a machine or a peripheral that was turned off.
  public func turnOn(_ machine: String) { engine.run { $0.turnOn(machine) } }

  // MARK: Time

  /// Lets time pass. Returns when it has passed and every app has handled what happened.
  public func advance(by duration: Duration) async { await engine.advance(by: duration) }

  /// Lets time pass until the condition holds, but not more than `duration`. The condition is looked at whenever
  /// something has happened and every app has handled it.
  /// - Returns: whether it holds.
  @discardableResult
  public func advance(by duration: Duration, until condition: @Sendable () -> Bool) async -> Bool {
    await engine.advance(by: duration, until: condition)
  }

  /// Keeps time from passing until the hold is released: for what an app does out of the home's sight, such as reading a file
  /// on a thread of its own.
  public func hold() -> SimulatedHold { engine.run { $0.hold() } }

  /// What happened, in order: `time machine event {fields}`.
  public var journal: [String] { engine.run { $0.journal } }
}

/// Why and for what an app is launched.
public struct SimulatedLaunch: Sendable {
  /// As on iOS; empty for an app that was not relaunched for Bluetooth.
  public var centralsToRestore: [String]
  public var peripheralsToRestore: [String]
  /// The home's time. Its alarms are the app's: they wait while the app is suspended, and end with it.
  public var clock: SimulatedClock
  let process: SimulatedApp
  let engine: HomeEngine

  /// Runs `body` with the app's identity. Code on a queue of the app's own needs it to make managers; delegate calls and their
  /// tasks have it already.
  public func run<Value>(_ body: () throws -> Value) rethrows -> Value {
    try process.run(body)
  }

  /// Makes an object on the main actor with the app's identity, such as a view model, which makes its managers there. From then on, time
  /// also waits for what is on the main queue.
  ///
  /// The main thread has to be free: a test of the main actor awaits the home, and does not block its thread.
  public func onMainActor(_ make: @MainActor () -> AnyObject) -> AnyObject {
    wait(for: .main)
    func made() -> Made { run { MainActor.assumeIsolated { Made(object: make()) } } }
    return (Thread.isMainThread ? made() : DispatchQueue.main.sync(execute: made)).object
  }

  /// An object of the main actor, which nothing else uses yet.
  private struct Made: @unchecked Sendable { let object: AnyObject }

  /// Time waits until what is on this queue has run: for work that delegate calls put on a queue of the app's own.
  ///
  /// A job there may wait for the answer to what it has asked of Bluetooth, as with a semaphore or a condition. Time passes then.
  public func wait(for queue: DispatchQueue) { process.wait(for: AwaitedQueue(queue)) }

  /// The same for a queue of operations. (`.main` alone means the `DispatchQueue`.)
  @_disfavoredOverload
  public func wait(for queue: OperationQueue) { process.wait(for: AwaitedQueue(queue)) }

  /// Keeps time from passing until the hold is released.
  public func hold() -> SimulatedHold { engine.run { $0.hold() } }
}
