import CoreBluetooth
import Foundation
import LatchkeyTime

/// The central role of the trial app. Everything here happens on the main queue.
final class TrialCentral: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private let setup: TrialSetup.Manager
  private var manager: CBCentralManager?
  private var peripheral: CBPeripheral?
  /// The writes that are left.
  private var writes = 0
  private var sent = 0
  private var isRepeating = false

  init(_ setup: TrialSetup.Manager) {
    self.setup = setup
    super.init()
    var options: [String: Any] = [:]
    options[CBCentralManagerOptionRestoreIdentifierKey] = setup.restoreIdentifier
    let isRelaunched = ApplicationLaunch.options()?[.bluetoothCentrals] != nil
    // One that makes another manager than the system is to restore.
    if setup["forgets"] == "yes", isRelaunched { options = [:] }
    // One whose delegate is called in another order than the system promises.
    if setup["pretends"] == "order", isRelaunched { pretend("connected", peer: "P") }
    manager = CBCentralManager(delegate: self, queue: setup.queue, options: options)
  }

  private func note(_ event: String, _ fields: KeyValuePairs<String, Any> = [:]) { record(event, fields) }

  /// Writes what the library writes if it calls a delegate.
  private func pretend(_ call: String, peer: String) {
    note("told", ["call": call, "role": "central", "manager": setup.name, "peer": peer, "pid": getpid()])
  }

  /// It looks at a peripheral's services once, and lets go of it.
  private var cancels: Bool { setup["cancels"] == "yes" }

  // MARK: The manager

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    let scanned = dict[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID]
    note(
      "restored",
      [
        "manager": setup.name, "peripherals": restored.count,
        "states": restored.map { "\($0.state)" }.joined(separator: ","),
        "services": restored.flatMap { $0.services ?? [] }.count,
        "scan": scanned.map { $0.map(\.uuidString).joined(separator: ",") } ?? "none",
      ])
    if let first = restored.first { adopt(first) }
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    note("state", ["manager": setup.name, "state": central.state])
    guard central.state == .poweredOn else { return }
    if let misuse = setup["misuse"] { return misbehave(misuse, central) }
    if let peripheral {
      // An app that was relaunched goes on where it was.
      if peripheral.state == .connected { connected(peripheral, isRestored: true) } else { connect(peripheral) }
    } else if let services = setup["scan"] ?? setup["connect"] {
      guard !central.isScanning else { return }
      central.scanForPeripherals(
        withServices: services == "any" ? nil : [CBUUID(string: services)],
        options: setup["duplicates"] == "yes" ? [CBCentralManagerScanOptionAllowDuplicatesKey: true] : nil)
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
  ) {
    let services = advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []
    note(
      "discovered",
      [
        "manager": setup.name, "name": advertisementData[CBAdvertisementDataLocalNameKey] ?? "none",
        "services": services.map(\.uuidString).joined(separator: ","), "shown": peripheral.name ?? "none",
      ])
    guard setup["connect"] != nil, self.peripheral == nil else { return }
    if !cancels { central.stopScan() }
    adopt(peripheral)
    connect(peripheral)
  }

  private func adopt(_ peripheral: CBPeripheral) {
    self.peripheral = peripheral
    peripheral.delegate = self
  }

  private func connect(_ peripheral: CBPeripheral) {
    let keys = [
      "connection": CBConnectPeripheralOptionNotifyOnConnectionKey,
      "disconnection": CBConnectPeripheralOptionNotifyOnDisconnectionKey,
      "notification": CBConnectPeripheralOptionNotifyOnNotificationKey,
    ]
    let key = setup["alert"].flatMap { keys[$0] }
    manager?.connect(peripheral, options: key.map { [$0: true] })
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    note("connected", ["manager": setup.name])
    if setup["remembers"] != nil {
      let defaults = UserDefaults.standard
      defaults.set(defaults.integer(forKey: "connections") + 1, forKey: "connections")
    }
    if setup["pretends"] == "twice" { pretend("connected", peer: peripheral.identifier.uuidString) }
    connected(peripheral, isRestored: false)
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    note("disconnected", ["manager": setup.name, "error": error == nil ? "none" : "some"])
    if !cancels { connect(peripheral) }
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
    note("failed", ["manager": setup.name])
  }

  // MARK: The peripheral

  private func connected(_ peripheral: CBPeripheral, isRestored: Bool) {
    if let services = peripheral.services, !services.isEmpty, services.allSatisfy({ $0.characteristics != nil }) {
      return explored(peripheral, isRestored: isRestored)
    }
    peripheral.discoverServices(setup.uuid("connect").map { [$0] })
  }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    note("modified", ["manager": setup.name, "invalid": invalidatedServices.count])
    peripheral.discoverServices(nil)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    let wanted = setup.uuid("connect")
    note(
      "services",
      [
        "manager": setup.name, "wanted": (peripheral.services ?? []).contains { $0.uuid == wanted },
        "error": error.map { "\(($0 as NSError).code)" } ?? "none",
      ])
    guard !cancels else {
      manager?.cancelPeripheralConnection(peripheral)
      return
    }
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) {
    note("explored", ["manager": setup.name, "characteristics": service.characteristics?.count ?? 0])
    explored(peripheral, isRestored: false)
  }

  private func characteristic(_ option: String) -> CBCharacteristic? {
    guard let wanted = setup.uuid(option) else { return nil }
    return (peripheral?.services ?? []).lazy.flatMap { $0.characteristics ?? [] }.first { $0.uuid == wanted }
  }

  private func explored(_ peripheral: CBPeripheral, isRestored: Bool) {
    if let characteristic = characteristic("notify"), !characteristic.isNotifying {
      peripheral.setNotifyValue(true, for: characteristic)
    }
    guard !isRestored else { return }
    work()
    guard let seconds = setup["every"].flatMap({ Double($0) }), !isRepeating else { return }
    isRepeating = true
    Task { @MainActor in
      while true {
        try await Task.sleep(for: .seconds(seconds), clock: .world)
        work()
      }
    }
  }

  /// Reads and writes, as it was told to.
  private func work() {
    guard let peripheral, peripheral.state == .connected else { return }
    if let characteristic = characteristic("read") { peripheral.readValue(for: characteristic) }
    if characteristic("write") != nil {
      writes = setup["count"].flatMap { Int($0) } ?? 1
      write()
    }
  }

  private func write() {
    guard let peripheral, let characteristic = characteristic("write") else { return }
    let needsResponse = setup["response"] != "no"
    while writes > 0 {
      guard needsResponse || peripheral.canSendWriteWithoutResponse else {
        return note("full", ["manager": setup.name, "sent": sent])
      }
      writes -= 1
      sent += 1
      peripheral.writeValue(
        Data("\(sent)".utf8), for: characteristic, type: needsResponse ? .withResponse : .withoutResponse)
      // One after the other: the next follows the answer.
      if needsResponse { return }
    }
    if !needsResponse { note("sent", ["manager": setup.name, "count": sent]) }
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
    note("ready", ["manager": setup.name])
    write()
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    note("wrote", ["manager": setup.name, "error": error.map { "\(($0 as NSError).code)" } ?? "none"])
    write()
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    note("subscribed", ["manager": setup.name, "error": error.map { "\(($0 as NSError).code)" } ?? "none"])
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    note(
      "value",
      [
        "manager": setup.name, "value": String(decoding: characteristic.value ?? Data(), as: UTF8.self),
        "error": error.map { "\(($0 as NSError).code)" } ?? "none",
      ])
  }

  // MARK: Misuse

  private func misbehave(_ what: String, _ central: CBCentralManager) {
    note("misuses", ["what": what])
    switch what {
    case "same-identifier":
      // The later one of two managers with one identifier.
      second = CBCentralManager(
        delegate: self, queue: .main,
        options: [CBCentralManagerOptionRestoreIdentifierKey: setup.restoreIdentifier ?? "twice"])
    case "options":
      central.scanForPeripherals(
        withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: "yes, please"])
    default: note("unknown", ["what": what])
    }
  }

  private var second: CBCentralManager?
}
