// swift-format-ignore-file: AlwaysUseLowerCamelCase, NeverForceUnwrap

// The kind of code that updates firmware or transfers files: pieces of the size that the link takes, flow control,
// and the peripheral side of the same.
import CoreBluetooth

public final class Uploader: NSObject, CBPeripheralDelegate {
  private let peripheral: CBPeripheral
  private let target: CBCharacteristic
  private var rest: Data
  private let completion: (Result<Int, Error>) -> Void
  private var sent = 0

  public init(_ data: Data, to target: CBCharacteristic, completion: @escaping (Result<Int, Error>) -> Void) {
    self.peripheral = target.service!.peripheral!
    self.target = target
    self.completion = completion
    rest = data
    super.init()
    peripheral.delegate = self
  }

  public func send() {
    let length = peripheral.maximumWriteValueLength(for: .withoutResponse)
    while !rest.isEmpty, peripheral.canSendWriteWithoutResponse {
      let piece = rest.prefix(length)
      peripheral.writeValue(piece, for: target, type: .withoutResponse)
      rest = rest.dropFirst(piece.count)
      sent += piece.count
    }
    if rest.isEmpty { completion(.success(sent)) }
  }

  public func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { send() }
  public func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
    if let error { completion(.failure(error)) }
  }
}

public final class Receiver: NSObject, CBPeripheralManagerDelegate {
  private var manager: CBPeripheralManager!
  private let service = CBMutableService(type: CBUUID(string: "6E400001B5A3F393E0A9E50E24DCCA9E"), primary: true)
  private let input = CBMutableCharacteristic(
    type: CBUUID(nsuuid: UUID(uuidString: "6E400002-B5A3-F393-E0A9-E50E24DCCA9E")!),
    properties: [.write, .writeWithoutResponse], value: nil, permissions: .writeable)
  private let output = CBMutableCharacteristic(
    type: CBUUID(data: Data([0x2A, 0x19])), properties: .notify, value: nil, permissions: [])
  private var subscribers = Set<CBCentral>()
  public private(set) var received = Data()
  public var checkSum: (Data) -> Bool = { _ in true }

  public override init() {
    super.init()
    manager = CBPeripheralManager(delegate: self, queue: .main)
  }

  public func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return subscribers.removeAll() }
    service.characteristics = [input, output]
    service.includedServices = nil
    peripheral.add(service)
    peripheral.startAdvertising(
      [CBAdvertisementDataServiceUUIDsKey: [service.uuid], CBAdvertisementDataLocalNameKey: "receiver"] as [String: Any]
    )
  }

  public func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    for request in requests {
      guard let value = request.value, request.characteristic == input else {
        return peripheral.respond(to: requests[0], withResult: .attributeNotFound)
      }
      guard checkSum(value) else { return peripheral.respond(to: requests[0], withResult: .wrongCheckSum) }
      received.replaceSubrange(min(request.offset, received.count)..., with: value)
    }
    peripheral.respond(to: requests[0], withResult: .success)
    peripheral.updateValue(Data([UInt8(truncatingIfNeeded: received.count)]), for: output, onSubscribedCentrals: nil)
  }

  public func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    subscribers.insert(central)
    peripheral.setDesiredConnectionLatency(.low, for: central)
    NSLog("%@ takes %d bytes", central, central.maximumUpdateValueLength)
  }

  public func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) { subscribers.remove(central) }
}
