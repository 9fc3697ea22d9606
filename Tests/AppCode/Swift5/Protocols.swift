// swift-format-ignore-file: AvoidRetroactiveConformances, AlwaysUseLowerCamelCase, NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

// The kind of code that reactive wrappers and mocks contain: protocols that Apple's classes are made to conform to, a
// delegate that turns calls into closures, and keys read by name.
import CoreBluetooth

public protocol CentralManaging: AnyObject {
  var state: CBManagerState { get }
  var isScanning: Bool { get }
  var delegate: CBCentralManagerDelegate? { get set }
  func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]?)
  func stopScan()
  func connect(_ peripheral: CBPeripheral, options: [String: Any]?)
  func cancelPeripheralConnection(_ peripheral: CBPeripheral)
  func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral]
  func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral]
}

extension CBCentralManager: CentralManaging {}

public protocol PeripheralLike: NSObjectProtocol {
  var identifier: UUID { get }
  var name: String? { get }
  var state: CBPeripheralState { get }
  var services: [CBService]? { get }
  func discoverServices(_ serviceUUIDs: [CBUUID]?)
  func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType)
  func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int
}

extension CBPeripheral: PeripheralLike {}

public protocol AttributeLike { var uuid: CBUUID { get } }
extension CBAttribute: AttributeLike {}

extension CBUUID: @retroactive Identifiable, @retroactive Comparable {
  public var id: String { uuidString }
  public static func < (left: CBUUID, right: CBUUID) -> Bool { left.uuidString < right.uuidString }
}

extension CBPeripheral {
  /// Older code has the identifier by its key.
  public var oldIdentifier: UUID { value(forKey: "identifier") as! NSUUID as UUID }
  public var isConnectedByKey: Bool { (value(forKey: "state") as? Int) == CBPeripheralState.connected.rawValue }
  public func service(_ uuid: CBUUID) -> CBService? { services?.first { $0.uuid == uuid } }
}

extension CBCentralManager {
  public var isReady: Bool {
    switch state {
    case .poweredOn: return true
    case .poweredOff, .resetting, .unauthorized, .unknown, .unsupported: return false
    @unknown default: return false
    }
  }
}

public final class DelegateWrapper: NSObject, CBCentralManagerDelegate {
  public var didUpdateState: ((CBManagerState) -> Void)?
  public var didDiscover: ((CBPeripheral, [String: Any], NSNumber) -> Void)?
  public var didConnect: ((CBPeripheral) -> Void)?
  public var didEnd: ((CBPeripheral, Error?) -> Void)?

  public func centralManagerDidUpdateState(_ central: CBCentralManager) { didUpdateState?(central.state) }
  public func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi: NSNumber
  ) { didDiscover?(peripheral, advertisementData, rssi) }
  public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    didConnect?(peripheral)
  }
  public func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
    didEnd?(peripheral, error)
  }
  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?
  ) { didEnd?(peripheral, error) }
}

/// A mock that stands in for the system's manager.
final class ManagerMock: CBCentralManager, @unchecked Sendable {
  var stubbedState = CBManagerState.unknown
  var scans: [[CBUUID]?] = []
  override var state: CBManagerState { stubbedState }
  override func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {
    scans.append(serviceUUIDs)
  }
}
