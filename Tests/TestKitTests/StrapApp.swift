import CoreBluetoothTestKit
import Foundation

/// What several managers, or several processes of an app, were told, in order.
final class Diary: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []
  var all: [String] { lock.withLock { lines } }
  func add(_ line: String) { lock.withLock { lines.append(line) } }
  func count(_ word: String) -> Int { all.count { $0.contains(word) } }
  /// What was added since there were `count` lines.
  func since(_ count: Int) -> [String] { Array(all.dropFirst(count)) }
  /// What one of them was told.
  func lines(of name: String) -> [String] {
    all.filter { $0.hasPrefix(name + " ") }.map { String($0.dropFirst(name.count + 1)) }
  }
}

/// A manager that connects to straps by their names, explores them, and subscribes to what notifies.
final class StrapApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  static let service = CBUUID(string: "180D")
  let name: String
  let diary: Diary
  private let wanted: Set<String>
  private(set) var central: CBCentralManager!
  var straps: [CBPeripheral] = []
  var whenOn: (StrapApp, CBCentralManager) -> Void = { app, central in
    if app.straps.isEmpty { central.scanForPeripherals(withServices: [service]) }
  }
  var whenConnected: (StrapApp, CBPeripheral) -> Void = { $1.discoverServices([service]) }
  var whenDisconnected: (StrapApp, CBPeripheral) -> Void = { _, _ in }
  var whenExplored: (StrapApp, CBPeripheral, CBService) -> Void = { _, strap, service in
    for found in service.characteristics ?? [] where found.properties.contains(.notify) {
      strap.setNotifyValue(true, for: found)
    }
  }

  init(
    _ name: String, _ diary: Diary, wanted: Set<String> = ["strap"], identifier: String? = nil,
    _ prepare: (StrapApp) -> Void = { _ in }
  ) {
    (self.name, self.diary, self.wanted) = (name, diary, wanted)
    super.init()
    prepare(self)
    central = CBCentralManager(
      delegate: self, queue: DispatchQueue(label: name),
      options: identifier.map { [CBCentralManagerOptionRestoreIdentifierKey: $0] })
  }

  func note(_ line: String) { diary.add("\(name) \(line)") }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    straps = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    let found = straps.map { strap in
      strap.delegate = self
      let characteristics = strap.services?.flatMap { $0.characteristics ?? [] } ?? []
      let isSubscribed = characteristics.contains(where: \.isNotifying)
      return "\(strap.name ?? "?"): \(strap.state.rawValue)\(isSubscribed ? " subscribed" : "")"
    }
    note("restored \(found.sorted().joined(separator: ", "))")
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    note("state \(central.state.rawValue)")
    if central.state == .poweredOn { whenOn(self, central) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover strap: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    guard wanted.contains(strap.name ?? ""), !straps.contains(strap) else { return }
    straps.append(strap)
    strap.delegate = self
    central.connect(strap)
    if straps.count == wanted.count { central.stopScan() }
  }

  func centralManager(_ central: CBCentralManager, didConnect strap: CBPeripheral) {
    note("connected \(strap.name ?? "?")")
    whenConnected(self, strap)
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral strap: CBPeripheral, error: (any Error)?
  ) {
    note("disconnected \(strap.name ?? "?")\(error == nil ? "" : " error")")
    whenDisconnected(self, strap)
  }

  func peripheral(_ strap: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in strap.services ?? [] { strap.discoverCharacteristics(nil, for: service) }
  }

  func peripheral(_ strap: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    whenExplored(self, strap, service)
  }

  func peripheral(
    _ strap: CBPeripheral, didUpdateNotificationStateFor found: CBCharacteristic, error: (any Error)?
  ) { note("notify \(found.uuid) \(found.isNotifying)\(error == nil ? "" : " error")") }

  func peripheral(_ strap: CBPeripheral, didUpdateValueFor found: CBCharacteristic, error: (any Error)?) {
    note("value \(strap.name ?? "?") \(found.uuid) \(found.value.map(Array.init) ?? [])")
  }

  func peripheral(_ strap: CBPeripheral, didWriteValueFor found: CBCharacteristic, error: (any Error)?) {
    note("wrote \(found.uuid) \((error as? CBATTError)?.code.rawValue ?? 0)")
  }

  func peripheral(_ strap: CBPeripheral, didReadRSSI signal: NSNumber, error: (any Error)?) { note("rssi") }
}

extension SimulatedService {
  /// A heart rate that is read and notified, and a control point.
  static var heartRate: SimulatedService {
    SimulatedService(
      "180D",
      [
        SimulatedCharacteristic("2A37", [.read, .notify], value: Data([1])),
        SimulatedCharacteristic("2A39", [.read, .write, .writeWithoutResponse], value: Data([9])),
      ])
  }
}
