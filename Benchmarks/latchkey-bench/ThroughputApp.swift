import CoreBluetooth
import Foundation
import Worlds

/// The throughput benchmark's client on Core Bluetooth: what `client.c` does, as an app. It writes one line of JSON into a pipe.
final class ThroughputApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  static let service = CBUUID(string: "7B1C0001-6D2E-4F7A-9A3B-5C1D2E3F4A5B")
  static let notified = CBUUID(string: "7B1C0002-6D2E-4F7A-9A3B-5C1D2E3F4A5B")
  static let written = CBUUID(string: "7B1C0003-6D2E-4F7A-9A3B-5C1D2E3F4A5B")
  static let valueLength = 20

  private enum Phase { case notifications, writes }
  /// What is measured, in order. The first of each kind warms up.
  private struct Measurement {
    let phase: Phase
    let seconds: Double
    let counts: Bool
  }

  private let burst: Int
  private let file: String
  private var plan: [Measurement]
  private var results: [Phase: [Double]] = [:]
  private var began = Date.distantPast
  private var count = 0
  private var arrived = 0
  private var central: CBCentralManager?
  private var peripheral: CBPeripheral?
  private var target: CBCharacteristic?

  init(seconds: Double, rounds: Int, burst: Int, file: String) {
    (self.burst, self.file) = (burst, file)
    func measurements(_ phase: Phase) -> [Measurement] {
      [Measurement(phase: phase, seconds: seconds / 4, counts: false)]
        + Array(repeating: Measurement(phase: phase, seconds: seconds, counts: true), count: rounds)
    }
    plan = measurements(.notifications) + measurements(.writes)
    super.init()
    central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "bench"))
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [Self.service]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    guard self.peripheral == nil else { return }
    central.stopScan()
    self.peripheral = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([Self.service])
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    let found = service.characteristics ?? []
    target = found.first { $0.uuid == Self.written }
    guard let notified = found.first(where: { $0.uuid == Self.notified }) else { return fail("no characteristic") }
    peripheral.setNotifyValue(true, for: notified)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    if let error { return fail("\(error)") }
    begin()
  }

  /// Runs as the app that latchkeyd has started.
  /// - Parameter text: the seconds of a round, the rounds, the notifications for a write, and the file, with commas between them.
  static func run(_ text: String) throws {
    let parts = text.split(separator: ",", maxSplits: 3).map(String.init)
    guard parts.count == 4, let seconds = Double(parts[0]), let rounds = Int(parts[1]), let burst = Int(parts[2]) else {
      throw WorldError("--throughput-app \(text): expected SECONDS,ROUNDS,BURST,FILE")
    }
    let app = ThroughputApp(seconds: seconds, rounds: rounds, burst: burst, file: parts[3])
    // Not `dispatchMain()`, which traps on any thread but the first. The app ends itself.
    withExtendedLifetime(app) { DispatchSemaphore(value: 0).wait() }
  }

  private func begin() {
    began = Date()
    count = 0
    goOn()
  }

  private func goOn() {
    arrived = 0
    write(plan.first?.phase == .notifications ? burst : 0)
  }

  private func write(_ count: Int) {
    guard let target else { return fail("no characteristic") }
    var value = Data((0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) })
    value.append(Data(count: Self.valueLength - value.count))
    peripheral?.writeValue(value, for: target, type: .withResponse)
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    guard characteristic.value?.count == Self.valueLength else { return }
    arrived += 1
    if arrived == burst { end(of: burst) }
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    if let error { return fail("\(error)") }
    if plan.first?.phase == .writes { end(of: 1) }
  }

  /// This many notifications or writes are done.
  private func end(of number: Int) {
    count += number
    guard let current = plan.first else { return }
    let seconds = Date().timeIntervalSince(began)
    guard seconds >= current.seconds else { return goOn() }
    if current.counts { results[current.phase, default: []].append(Double(count) / seconds) }
    plan.removeFirst()
    guard plan.isEmpty else { return begin() }
    if let peripheral { central?.cancelPeripheralConnection(peripheral) }
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    guard plan.isEmpty else { return fail("the link was lost") }
    // The figures are written only now, because their reader then ends latchkeyd, which must let go of the link for the
    // next client.
    let rates = ThroughputRates(
      notifications: results[.notifications] ?? [], writes: results[.writes] ?? [])
    guard let data = try? JSONEncoder().encode(rates), let output = FileHandle(forWritingAtPath: file) else {
      return fail("\(file) can't be written")
    }
    output.write(data + Data("\n".utf8))
    exit(0)
  }

  private func fail(_ reason: String) {
    FileHandle.standardError.write(Data("latchkey-bench: \(reason)\n".utf8))
    exit(1)
  }
}

/// What a client prints: events a second, in each round.
struct ThroughputRates: Sendable, Codable {
  var notifications: [Double]
  var writes: [Double]
}
