import CoreBluetoothTestKit
import Foundation
import Testing

/// What a peripheral's app answers, and what the central gets.
@Suite("Answers to requests")
struct AnswerTests {
  private static let characteristic = "5A1E0002-0000-4C61-7463-686B65790000"
  private static let desk = "org.example.desk"
  private static let phone = "org.example.phone"

  /// The codes of the errors with which a read and a write are answered, and what the desk's log says of them.
  private func answers(
    _ result: CBATTError.Code, _ properties: CBCharacteristicProperties = [.read, .write]
  ) async -> (read: Int?, write: Int?, log: [String]) {
    let home = SimulatedHome(seed: 2)
    home.addMachine("desk")
    home.addMachine("phone", x: 1)
    home.install(Self.desk, on: "desk", backgroundModes: ["bluetooth-peripheral"], keepAlive: true) { _ in
      Desk(Self.characteristic, result, properties)
    }
    home.install(Self.phone, on: "phone", backgroundModes: []) { _ in Asker(Self.characteristic) }
    home.open(Self.phone)
    @Sendable func code(_ method: String) -> Int? {
      home.calls(to: Self.phone).first { $0.method == method && $0.attribute == CBUUID(string: Self.characteristic) }
        .map { ($0.error as? CBATTError)?.errorCode ?? 0 }
    }
    await home.advance(by: .seconds(120)) { code("didWriteValueFor") != nil }
    return (code("didUpdateValueFor"), code("didWriteValueFor"), home.log(of: Self.desk).lines.map(\.message))
  }

  @Test(
    "C6: an error that bluetoothd passes on arrives as it was answered",
    arguments: [
      .requestNotSupported, .invalidOffset, .insufficientAuthorization, .invalidAttributeValueLength, .unlikelyError,
      CBATTError.Code(rawValue: 0x80), CBATTError.Code(rawValue: 0x9F),
    ] as [CBATTError.Code?])
  func passedOn(_ result: CBATTError.Code?) async throws {
    let result = try #require(result)
    let (read, write, log) = await answers(result)
    #expect(read == result.rawValue && write == result.rawValue)
    #expect(log.isEmpty, "\(log)")
  }

  @Test(
    "C6: the log says once that the central gets another error",
    arguments: [.invalidHandle, .insufficientAuthentication, .attributeNotFound, .insufficientResources]
      as [CBATTError.Code])
  func replaced(_ result: CBATTError.Code) async {
    let (read, write, log) = await answers(result)
    #expect(read == 14 && write == 14)
    #expect(
      log == ["respond(to:withResult:): bluetoothd can't pass on CBATTError \(result.rawValue); the central gets 14"])
  }

  @Test("C6: a write is not answered with readNotPermitted, nor a read with writeNotPermitted")
  func direction() async {
    let (read, write, log) = await answers(.readNotPermitted)
    #expect(read == 2 && write == 3)
    #expect(log == ["respond(to:withResult:): bluetoothd can't pass on CBATTError 2; the central gets 3"])
  }

  @Test("C6: the log says that a write can't be refused where writes without response are allowed")
  func unheard() async {
    let (read, write, log) = await answers(.insufficientAuthorization, [.read, .write, .writeWithoutResponse])
    #expect(read == 8 && write == 0)
    #expect(log.count == 1 && log[0].contains("\(Self.characteristic) has succeeded already"), "\(log)")
  }
}

/// Publishes one characteristic, and answers everything with the same result.
private final class Desk: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private let result: CBATTError.Code
  private let characteristic: CBMutableCharacteristic
  private var manager: CBPeripheralManager?

  init(_ uuid: String, _ result: CBATTError.Code, _ properties: CBCharacteristicProperties) {
    self.result = result
    characteristic = CBMutableCharacteristic(
      type: CBUUID(string: uuid), properties: properties, value: nil, permissions: [.readable, .writeable])
    super.init()
    manager = CBPeripheralManager(delegate: self, queue: DispatchQueue(label: "desk"))
  }

  func peripheralManagerDidUpdateState(_ manager: CBPeripheralManager) {
    guard manager.state == .poweredOn else { return }
    let service = CBMutableService(type: lampService, primary: true)
    service.characteristics = [characteristic]
    manager.add(service)
    manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [lampService]])
  }
  func peripheralManager(_ manager: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    manager.respond(to: request, withResult: result)
  }
  func peripheralManager(_ manager: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    manager.respond(to: requests[0], withResult: result)
  }
}

/// Reads and writes that characteristic.
private final class Asker: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private let uuid: CBUUID
  private var manager: CBCentralManager?
  private var desk: CBPeripheral?

  init(_ uuid: String) {
    self.uuid = CBUUID(string: uuid)
    super.init()
    manager = CBCentralManager(delegate: self, queue: DispatchQueue(label: "asker"))
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [lampService]) }
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    central.stopScan()
    desk = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([lampService])
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics([uuid], for: service) }
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    for characteristic in service.characteristics ?? [] {
      peripheral.readValue(for: characteristic)
      peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
    }
  }
}
