import CoreBluetooth

// Classes and protocols as apps build them on those of Core Bluetooth.

/// A manager of the app's own class, made without arguments.
public final class SharedPeripheralManager: CBPeripheralManager, @unchecked Sendable {
  public static let shared = SharedPeripheralManager()
  public private(set) var answers: [CBATTError.Code] = []

  public override func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
    answers.append(result)
    super.respond(to: request, withResult: result)
  }
}

/// A stand-in for the tests of an app.
public final class PoweredCentralManager: CBCentralManager, @unchecked Sendable {
  public private(set) var scans: [[CBUUID]?] = []
  public override var state: CBManagerState { .poweredOn }
  public override var isScanning: Bool { !scans.isEmpty }
  public override func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {
    scans.append(serviceUUIDs)
  }
}

protocol PeerLike { var identifier: UUID { get } }
protocol ManagerLike: AnyObject {
  var state: CBManagerState { get }
  var authorization: CBManagerAuthorization { get }
}
protocol RequestLike: AnyObject {
  var central: CBCentral { get }
  var offset: Int { get }
  var value: Data? { get set }
}
extension CBPeer: PeerLike {}
extension CBManager: ManagerLike {}
extension CBATTRequest: RequestLike {}
