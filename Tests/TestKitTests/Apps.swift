import CoreBluetoothTestKit
import Foundation

let lampService = CBUUID(string: "5A1E0001-0000-4C61-7463-686B65790000")

/// A store in memory, behind an actor, as apps have them.
actor Notes {
  private(set) var texts: [String] = []
  func add(_ text: String) { texts.append(text) }
}

/// An app that leaves its delegate methods at once, and does everything in tasks.
final class TaskApp: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  let notes = Notes()
  private var central: CBCentralManager?
  private var lamp: CBPeripheral?

  override init() {
    super.init()
    // Made late, in a task.
    Task {
      await notes.add("launched")
      await Task.yield()
      central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "tasks"))
    }
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    Task {
      for word in ["I", "look"] { await notes.add(word) }
      central.scanForPeripherals(withServices: [lampService])
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    central.stopScan()
    lamp = peripheral
    Task { @MainActor in
      await notes.add("found")
      Task { central.connect(peripheral) }
    }
  }
}

/// Has its thread taken away for a while, as by the computer's other work.
actor HeldUp {
  func work() { usleep(30_000) }
}

/// An app whose tasks take a while at each step.
final class HeldUpApp: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  private let heldUp = HeldUp()
  private var central: CBCentralManager?

  override init() {
    super.init()
    Task {
      await heldUp.work()
      await heldUp.work()
      central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "held up"))
    }
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    Task {
      await heldUp.work()
      central.scanForPeripherals(withServices: [lampService])
    }
  }
}

/// An app with a task that waits in its thread until it is let go.
final class StuckApp: NSObject, @unchecked Sendable {
  private let gate = DispatchSemaphore(value: 0)
  override init() {
    super.init()
    Task { wait() }
  }
  private func wait() { gate.wait() }
  func release() { gate.signal() }
  deinit { gate.signal() }
}

/// An app whose delegate only feeds a stream. One task reads it for as long as the app lives.
final class StreamApp: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  private enum Event: Sendable {
    case on
    case found(CBPeripheral)
    case lost(CBPeripheral)
  }
  private let events: AsyncStream<Event>.Continuation
  private var central: CBCentralManager?
  private let notes = Notes()
  private var reader: Task<Void, Never>?
  private var lamp: CBPeripheral?

  override init() {
    let stream: AsyncStream<Event>
    (stream, events) = AsyncStream.makeStream()
    super.init()
    let central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "stream"))
    self.central = central
    reader = Task { [notes] in
      for await event in stream {
        await notes.add("\(event)")
        switch event {
        case .on: central.scanForPeripherals(withServices: [lampService])
        case .found(let lamp), .lost(let lamp): central.connect(lamp)
        }
      }
    }
  }

  deinit { reader?.cancel() }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { events.yield(.on) }
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    central.stopScan()
    lamp = peripheral
    events.yield(.found(peripheral))
  }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { events.yield(.lost(peripheral)) }
}

/// An app that does its work on a queue of its own, and makes its manager there.
final class QueueApp: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  private let work = DispatchQueue(label: "work")
  private var central: CBCentralManager?
  private var lamp: CBPeripheral?

  init(_ launch: SimulatedLaunch) {
    super.init()
    launch.wait(for: work)
    work.async { [self] in
      launch.run { central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "bluetooth")) }
    }
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    work.async { central.scanForPeripherals(withServices: [lampService]) }
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    work.async { [self] in
      central.stopScan()
      lamp = peripheral
      central.connect(peripheral)
    }
  }
}

/// An app that reads something slowly, out of the home's sight, before it looks for lamps.
final class SlowApp: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  private let launch: SimulatedLaunch
  private var central: CBCentralManager?

  init(_ launch: SimulatedLaunch) {
    self.launch = launch
    super.init()
    central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "slow"))
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    let hold = launch.hold()
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(200)) {
      central.scanForPeripherals(withServices: [lampService])
      hold.release()
    }
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) { central.stopScan() }
}

/// An app that only has timers.
final class TimerApp: NSObject, Sendable {
  let rung = Notes()
  init(_ launch: SimulatedLaunch, _ ring: @escaping @Sendable (Duration) -> Void) {
    super.init()
    let clock = launch.clock
    clock.after(.seconds(60)) { ring(clock.now) }
    clock.after(.seconds(4000)) { ring(clock.now) }
  }
}
