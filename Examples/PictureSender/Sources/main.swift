// Sends a picture over an L2CAP channel whenever it meets a receiver, until the receiver has all of it.
import CoreBluetooth
import Foundation

/// Everything runs on the main queue.
final class Sender: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, StreamDelegate, @unchecked Sendable {
  private static let service = CBUUID(string: "6B2D0001-0C1E-4D7A-8F0B-9A5C1E7D3F20")
  private static let psm = CBUUID(string: CBUUIDL2CAPPSMCharacteristicString)

  private var manager: CBCentralManager!
  private var receiver: CBPeripheral?
  private var channel: CBL2CAPChannel?
  private var pictures = [40_000, 200_000]
  private var outgoing = Data()
  private var sent = 0
  private var toldHalf = false

  override init() {
    super.init()
    manager = CBCentralManager(delegate: self, queue: .main)
  }

  private func picture(_ length: Int) -> Data {
    let bytes = Data((0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
    return Data((0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) }) + bytes
  }

  // MARK: The receiver

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    central.scanForPeripherals(withServices: [Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi: NSNumber
  ) {
    central.stopScan()
    receiver = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { central.connect(peripheral) }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics([Self.psm], for: service) }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) {
    for characteristic in service.characteristics ?? [] { peripheral.readValue(for: characteristic) }
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    guard let value = characteristic.value, value.count == 2 else { return }
    open(UInt16(value[0]) | UInt16(value[1]) << 8)
  }

  // MARK: The channel

  private func open(_ psm: CBL2CAPPSM) {
    guard !pictures.isEmpty, channel == nil else { return }
    receiver?.openL2CAPChannel(psm)
  }

  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    guard let channel, let length = pictures.first else {
      return print("latchkey: refused reason=\"\(error?.localizedDescription ?? "")\"")
    }
    self.channel = channel
    outgoing = picture(length)
    sent = 0
    toldHalf = false
    for stream in [channel.inputStream, channel.outputStream] as [Stream] {
      stream.delegate = self
      stream.schedule(in: .main, forMode: .default)
      stream.open()
    }
  }

  func stream(_ stream: Stream, handle event: Stream.Event) {
    guard let channel else { return }
    switch event {
    case .hasSpaceAvailable: write(channel)
    case .hasBytesAvailable:
      var answer: UInt8 = 0
      guard channel.inputStream.read(&answer, maxLength: 1) == 1 else { return }
      print("latchkey: sent bytes=\(outgoing.count - 4)")
      pictures.removeFirst()
      let psm = channel.psm
      close()
      guard !pictures.isEmpty else { return print("latchkey: complete") }
      // The next picture is taken a while later.
      Task {
        try await Task.sleep(for: .seconds(10))
        DispatchQueue.main.async { self.open(psm) }
      }
    case .endEncountered, .errorOccurred:
      print("latchkey: interrupted sent=\(sent)")
      close()
    default: break
    }
  }

  private func write(_ channel: CBL2CAPChannel) {
    guard sent < outgoing.count else { return }
    let piece = [UInt8](outgoing.dropFirst(sent).prefix(8192))
    let count = channel.outputStream.write(piece, maxLength: piece.count)
    guard count > 0 else { return }
    sent += count
    if !toldHalf, sent * 2 > outgoing.count {
      toldHalf = true
      print("latchkey: half bytes=\(outgoing.count - 4)")
    }
  }

  private func close() {
    channel?.inputStream.close()
    channel?.outputStream.close()
    channel = nil
  }
}

let sender = Sender()
withExtendedLifetime(sender) { dispatchMain() }
