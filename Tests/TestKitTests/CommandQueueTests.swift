import CoreBluetoothTestKit
import Foundation
import Testing

/// An app whose commands return with Bluetooth's answer: each waits on a queue of the app's own, until the delegate was told on the
/// manager's queue.
private final class CommandApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  /// What a command waits with, and for how long: the computer's time, as in apps.
  private static let timeout = DispatchTimeInterval.seconds(20)
  private let answered = DispatchSemaphore(value: 0)
  private let perform: (@escaping @Sendable () -> Void) -> Void
  private let lock = NSLock()
  private var central: CBCentralManager?
  private var lamp: CBPeripheral?
  private var texts: [String] = []
  var notes: [String] { lock.withLock { texts } }

  init(_ perform: @escaping (@escaping @Sendable () -> Void) -> Void) {
    self.perform = perform
    super.init()
    central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "bluetooth"))
  }

  private func note(_ text: String) { lock.withLock { texts.append(text) } }

  private func command(_ name: String, _ begin: () -> Void) -> Bool {
    begin()
    let isAnswered = answered.wait(timeout: .now() + Self.timeout) == .success
    note(isAnswered ? name : "\(name): timeout")
    return isAnswered
  }

  private func readLamp(_ lamp: CBPeripheral) {
    guard command("services", { lamp.discoverServices(nil) }),
      let service = lamp.services?.first(where: { $0.uuid == CBUUID(string: "FF10") }),
      command("characteristics", { lamp.discoverCharacteristics(nil, for: service) }),
      let characteristic = service.characteristics?.first,
      command("read", { lamp.readValue(for: characteristic) })
    else { return }
    note("value \(characteristic.value?.first ?? 0)")
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [CBUUID(string: "FF10")]) }
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    central.stopScan()
    lamp = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    perform { [self] in readLamp(peripheral) }
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) { answered.signal() }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) { answered.signal() }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) { answered.signal() }
}

@Suite("Commands that return with their answer", .timeLimit(.minutes(20)))
struct CommandQueueTests {
  private func notes(
    _ launch: @escaping @Sendable (SimulatedLaunch) -> CommandApp
  ) async -> [String] {
    let home = SimulatedHome(seed: 11)
    home.addPeripheral(
      "lamp", services: [SimulatedService("FF10", [SimulatedCharacteristic("FF11", [.read], value: Data([7]))])])
    home.addMachine("phone", x: 2)
    home.install("org.example.commands", on: "phone", backgroundModes: ["bluetooth-central"]) { launch($0) }
    home.open("org.example.commands")
    await home.advance(by: .seconds(60))
    return (home.app("org.example.commands") as? CommandApp)?.notes ?? []
  }

  private let expected = ["services", "characteristics", "read", "value 7"]

  @Test("H6: time passes while a job on an app's own queue waits for the answer to its command")
  func dispatchQueue() async {
    let notes = await notes { launch in
      let queue = DispatchQueue(label: "commands")
      launch.wait(for: queue)
      return CommandApp { queue.async(execute: $0) }
    }
    #expect(notes == expected)
  }

  @Test("H6: so it does for an operation queue")
  func operationQueue() async {
    let notes = await notes { launch in
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      launch.wait(for: queue)
      return CommandApp { queue.addOperation($0) }
    }
    #expect(notes == expected)
  }

  @Test("H6: a job that asks Bluetooth for nothing is waited for, however long it takes")
  func longJob() async {
    let home = SimulatedHome(seed: 11)
    home.addMachine("phone")
    let seen = Seen()
    home.install("org.example.slow", on: "phone", backgroundModes: []) { launch in
      let queue = DispatchQueue(label: "long")
      launch.wait(for: queue)
      queue.async {
        Thread.sleep(forTimeInterval: 0.6)
        seen.note(launch.clock.now)
      }
      return queue
    }
    home.open("org.example.slow")
    await home.advance(by: .seconds(60))
    #expect(seen.time == .zero)
  }

  /// Asks for something in a job on a queue of its own as soon as Bluetooth is on, and computes in the same job.
  private final class BusyApp: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
    private let queue: DispatchQueue
    private let compute: @Sendable () -> Void
    private var central: CBCentralManager?

    init(on queue: DispatchQueue, compute: @escaping @Sendable () -> Void) {
      (self.queue, self.compute) = (queue, compute)
      super.init()
      central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "bluetooth"))
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
      guard central.state == .poweredOn else { return }
      queue.async { [compute] in
        central.scanForPeripherals(withServices: nil)
        compute()
      }
    }
  }

  @Test("H6: a job that has asked for something and computes since is waited for, however long it takes")
  func busyJob() async {
    let home = SimulatedHome(seed: 11)
    home.addMachine("phone")
    let (begin, end) = (Seen(), Seen())
    home.install("org.example.busy", on: "phone", backgroundModes: []) { launch in
      let queue = DispatchQueue(label: "busy")
      launch.wait(for: queue)
      return BusyApp(on: queue) {
        begin.note(launch.clock.now)
        // Four times as long as a job is waited for whose thread sleeps.
        let computed = ContinuousClock.now + .seconds(1)
        while ContinuousClock.now < computed {}
        end.note(launch.clock.now)
      }
    }
    home.open("org.example.busy")
    await home.advance(by: .seconds(60))
    #expect(begin.time != nil && end.time == begin.time)
    #expect(home.log(of: "org.example.busy").misuses.isEmpty)
  }

  private final class Seen: @unchecked Sendable {
    private let lock = NSLock()
    private var noted: Duration?
    var time: Duration? { lock.withLock { noted } }
    func note(_ time: Duration) { lock.withLock { noted = time } }
  }
}
