import CoreBluetooth
import Foundation
import LatchkeyTime

/// The peripheral role of the trial app. Everything here happens on the main queue.
final class TrialPeripheral: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private let setup: TrialSetup.Manager
  private var manager: CBPeripheralManager?
  private var characteristic: CBMutableCharacteristic?
  private var hasService = false
  /// The values that are left to send, and the number of the next.
  private var left = 0
  private var next = 1
  private var retracts = false

  init(_ setup: TrialSetup.Manager) {
    self.setup = setup
    super.init()
    var options: [String: Any] = [:]
    options[CBPeripheralManagerOptionRestoreIdentifierKey] = setup.restoreIdentifier
    manager = CBPeripheralManager(delegate: self, queue: setup.queue, options: options)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
    let advertisement = dict[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any]
    characteristic = services.first?.characteristics?.first as? CBMutableCharacteristic
    hasService = !services.isEmpty
    record(
      "restored",
      [
        "manager": setup.name, "services": services.count,
        "subscribers": characteristic?.subscribedCentrals?.count ?? 0,
        "advertising": advertisement?[CBAdvertisementDataLocalNameKey] ?? (advertisement == nil ? "no" : "yes"),
      ])
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    record("state", ["manager": setup.name, "state": peripheral.state])
    guard peripheral.state == .poweredOn else { return }
    publish(peripheral)
    advertise(peripheral)
  }

  private func publish(_ peripheral: CBPeripheralManager) {
    guard !hasService, let uuid = setup.uuid("service") else { return }
    hasService = true
    let service = CBMutableService(type: uuid, primary: true)
    let parts = (setup["characteristic"] ?? "").split(separator: ":").map(String.init)
    if parts.count == 2 {
      let made = Self.make(CBUUID(string: parts[0]), parts[1].split(separator: "+").map(String.init))
      characteristic = made
      service.characteristics = [made]
    }
    peripheral.add(service)
  }

  private static func make(_ uuid: CBUUID, _ names: [String]) -> CBMutableCharacteristic {
    let known: [String: CBCharacteristicProperties] = [
      "read": .read, "write": .write, "writeWithoutResponse": .writeWithoutResponse, "notify": .notify,
      "indicate": .indicate,
    ]
    var properties: CBCharacteristicProperties = []
    for name in names { properties.formUnion(known[name] ?? []) }
    return CBMutableCharacteristic(
      type: uuid, properties: properties, value: nil, permissions: [.readable, .writeable])
  }

  private func advertise(_ peripheral: CBPeripheralManager) {
    guard let name = setup["name"], !peripheral.isAdvertising else { return }
    var data: [String: Any] = [CBAdvertisementDataLocalNameKey: name]
    if let service = setup.uuid("service") { data[CBAdvertisementDataServiceUUIDsKey] = [service] }
    peripheral.startAdvertising(data)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
    record("added", ["manager": setup.name, "error": error.map { "\(($0 as NSError).code)" } ?? "none"])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
    record("advertises", ["manager": setup.name, "error": error.map { "\(($0 as NSError).code)" } ?? "none"])
  }

  // MARK: Subscribers

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    record("subscriber", ["manager": setup.name])
    retract()
    left = setup["push"].flatMap { Int($0) } ?? 0
    guard let seconds = setup["every"].flatMap({ Double($0) }) else { return push() }
    Task { @MainActor in
      while left > 0 {
        left -= 1
        send()
        try await Task.sleep(for: .seconds(seconds), clock: .world)
      }
    }
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    record("unsubscriber", ["manager": setup.name])
    left = 0
  }

  private func retract() {
    guard let seconds = setup["retract"].flatMap({ Double($0) }), !retracts else { return }
    retracts = true
    Task { @MainActor in
      try await Task.sleep(for: .seconds(seconds), clock: .world)
      manager?.removeAllServices()
      record("retracted", ["manager": setup.name])
    }
  }

  @discardableResult
  private func send() -> Bool {
    guard let manager, let characteristic else { return false }
    guard manager.updateValue(Data("\(next)".utf8), for: characteristic, onSubscribedCentrals: nil) else {
      record("full", ["manager": setup.name, "sent": next - 1])
      return false
    }
    next += 1
    return true
  }

  private func push() {
    while left > 0, send() { left -= 1 }
    if left == 0, next > 1 { record("pushed", ["manager": setup.name, "count": next - 1]) }
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
    record("ready", ["manager": setup.name])
    push()
  }

  // MARK: Requests

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    record("read", ["manager": setup.name])
    guard setup["mute"] != "yes" else { return }
    request.value = Data("read \(next)".utf8)
    peripheral.respond(to: request, withResult: .success)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    record(
      "written",
      [
        "manager": setup.name,
        "value": requests.map { String(decoding: $0.value ?? Data(), as: UTF8.self) }.joined(separator: ","),
      ])
    guard setup["mute"] != "yes", let first = requests.first else { return }
    peripheral.respond(to: first, withResult: .success)
  }
}
