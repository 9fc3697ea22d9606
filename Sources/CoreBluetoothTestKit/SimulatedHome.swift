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
/// Time passes only in `advance(by:)`, and there only while every app has returned from its delegate calls. The same
/// seed and the same calls give the same radio behaviour. An app that the system suspends is not frozen: it receives
/// nothing until it is woken.
public final class SimulatedHome: Sendable {
  /// The home's time. Apps take their alarms from it.
  public let clock: SimulatedClock
  private let engine: HomeEngine

  /// - Parameter seed: decides what the radio does: losses, delays, and which device hears which first.
  public convenience init(seed: UInt64 = 1) { self.init(seed: seed, configuration: BluetoothSystem.Configuration()) }

  package init(seed: UInt64 = 1, configuration: BluetoothSystem.Configuration) {
    let time = ManualClock()
    clock = SimulatedClock(time: time)
    engine = HomeEngine(seed: seed, configuration: configuration, clock: time)
  }

  /// Adds a machine that is on. Positions are in metres.
  public func addMachine(_ name: String, x: Double = 0, y: Double = 0) {
    engine.run { $0.addMachine(SimulatedMachine(name: name, position: Position(x: x, y: y))) }
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
  public func app(_ bundleIdentifier: String) -> AnyObject? { engine.run { $0.process(bundleIdentifier)?.root } }

  /// How many times the app was launched.
  public func launchCount(_ bundleIdentifier: String) -> Int { engine.run { $0.launchCounts[bundleIdentifier] ?? 0 } }

  // MARK: The user

  public func open(_ bundleIdentifier: String) {
    engine.run { $0.control(.openApp(bundleIdentifier: bundleIdentifier), bundleIdentifier) }
  }
  public func leave(_ bundleIdentifier: String) {
    engine.run { $0.control(.leaveApp(bundleIdentifier: bundleIdentifier), bundleIdentifier) }
  }
  /// Force-quit: the app is not relaunched until it is opened.
  public func quit(_ bundleIdentifier: String) {
    engine.run { $0.control(.quitApp(bundleIdentifier: bundleIdentifier), bundleIdentifier) }
  }

  /// Whether the user lets the app use Bluetooth. A no ends everything that the app asked for.
  public func allow(_ bundleIdentifier: String, _ isAllowed: Bool) {
    engine.run {
      $0.control(.allowApp(bundleIdentifier: bundleIdentifier, isAllowed: isAllowed), bundleIdentifier)
    }
  }

  // MARK: Faults and events

  /// Ends the app's process, as SIGKILL does.
  public func kill(_ bundleIdentifier: String) { engine.run { $0.endProcess(bundleIdentifier) } }
  /// Kills the machine's system, which comes back with what is on its disk.
  public func restartSystem(_ machine: String) { engine.run { $0.restartSystem(machine) } }
  public func restartBluetoothd(_ machine: String, killed: Bool = false) {
    engine.run { $0.command(.restartBluetoothd(machine: machine, killed: killed)) }
  }
  public func move(_ machine: String, x: Double, y: Double = 0) {
    engine.run { $0.command(.move(machine: machine, x: x, y: y)) }
  }
  /// Removes the machine's adapter, or puts it back.
  public func plugAdapter(_ machine: String, isIn: Bool) {
    engine.run { $0.command(.plug(machine: machine, isOn: isIn)) }
  }
  /// Ends every process of the machine. Then the system starts again, with the apps that it keeps alive.
  public func reboot(_ machine: String) { engine.run { $0.reboot(machine) } }

  // MARK: Time

  /// Lets time pass. Returns when it has passed and every app has handled what happened.
  public func advance(by duration: Duration) async { await engine.advance(by: duration) }

  /// What happened, in order: `time machine event {fields}`.
  public var journal: [String] { engine.run { $0.journal } }
}

/// Why and for what an app is launched.
public struct SimulatedLaunch: Sendable {
  /// As on iOS; empty for an app that was not relaunched for Bluetooth.
  public var centralsToRestore: [String]
  public var peripheralsToRestore: [String]
  public var clock: SimulatedClock
}
