import CoreBluetooth
import CoreBluetoothTestKit
import Foundation

/// How fast time passes in a whole home inside one process.
enum HomeBenchmark {
  struct Days {
    var atRest: Rate
    var commuting: Rate
  }

  /// Days in a second.
  struct Rate {
    /// Of real time.
    var ofTime: Double
    /// Of this process's processor time, which depends less on what else the machine does.
    var ofProcessor: Double
  }

  static func daysPerSecond(days: Int) async -> Days {
    let home = await settledHome()
    let commuting = await commute(home, days: min(days, 100))
    home.move("phone", x: 5000)
    await home.advance(by: .seconds(3600))
    home.kill("org.example.visitor")
    let atRest = await perSecond(days) { await home.advance(by: .seconds(86_400)) }
    return Days(atRest: atRest, commuting: commuting)
  }

  /// Days with a departure, a kill and a return with a relaunch each.
  static func commutingDaysPerSecond(days: Int) async -> Rate { await commute(await settledHome(), days: days) }

  private static func settledHome() async -> SimulatedHome {
    let home = SimulatedHome(seed: 1)
    home.addMachine("door")
    home.addMachine("phone", x: 2)
    home.install("org.example.bell", on: "door", backgroundModes: ["bluetooth-peripheral"]) { _ in Bell() }
    home.install("org.example.visitor", on: "phone", backgroundModes: ["bluetooth-central"]) { _ in Visitor() }
    home.open("org.example.bell")
    home.open("org.example.visitor")
    await home.advance(by: .seconds(60))
    return home
  }

  private static func commute(_ home: SimulatedHome, days: Int) async -> Rate {
    await perSecond(days) {
      home.move("phone", x: 5000)
      await home.advance(by: .seconds(3600))
      home.kill("org.example.visitor")
      await home.advance(by: .seconds(82_000))
      home.move("phone", x: 2)
      await home.advance(by: .seconds(800))
    }
  }

  private static func perSecond(_ count: Int, _ body: () async -> Void) async -> Rate {
    let clock = ContinuousClock()
    let begin = ProcessFigures.processorSeconds()
    let took = await clock.measure { for _ in 0..<count { await body() } }
    let worked = ProcessFigures.processorSeconds() - begin
    return Rate(ofTime: Double(count) / (took / .seconds(1)), ofProcessor: Double(count) / worked)
  }
}

private let serviceUUID = CBUUID(string: "5B1C0001-0000-4C61-7463-686B65790000")

/// Advertises one service.
private final class Bell: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private var manager: CBPeripheralManager?

  override init() {
    super.init()
    manager = CBPeripheralManager(
      delegate: self, queue: DispatchQueue(label: "bell"),
      options: [CBPeripheralManagerOptionRestoreIdentifierKey: "bell"])
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {}

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    peripheral.add(CBMutableService(type: serviceUUID, primary: true))
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [serviceUUID]])
  }
}

/// Always wants to be connected to the bell.
private final class Visitor: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  private var manager: CBCentralManager?
  private var bell: CBPeripheral?

  override init() {
    super.init()
    manager = CBCentralManager(
      delegate: self, queue: DispatchQueue(label: "visitor"),
      options: [CBCentralManagerOptionRestoreIdentifierKey: "visitor"])
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    bell = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn, bell == nil else { return }
    central.scanForPeripherals(withServices: [serviceUUID])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    central.stopScan()
    bell = peripheral
    central.connect(peripheral)
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    central.connect(peripheral)
  }
}
