import CoreBluetooth
import Foundation

/// Where the reader keeps what it has read. It stands for a file: it outlives the app's runs.
public final class LogShelf: @unchecked Sendable {
  private let lock = NSLock()
  private var kept = Data()
  public init() {}
  public var bytes: Data { lock.withLock { kept } }
  public var text: String { String(decoding: bytes, as: UTF8.self) }
  func add(_ bytes: some Collection<UInt8>) { lock.withLock { kept.append(contentsOf: bytes) } }
}

/// Asks a logger for its log over an L2CAP channel, whenever one is in reach.
public final class LogReader: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, StreamDelegate,
  @unchecked Sendable
{
  public static let service = CBUUID(string: "6B2D0001-0C1E-4D7A-8F0B-9A5C1E7D3F20")
  public static let psm: CBL2CAPPSM = 0x85
  private let shelf: LogShelf
  private var central: CBCentralManager!
  private var logger: CBPeripheral?
  private var channel: CBL2CAPChannel?

  public init(_ shelf: LogShelf) {
    self.shelf = shelf
    super.init()
    central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "reader"))
  }

  public func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [Self.service]) }
  }

  public func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    central.stopScan()
    logger = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.openL2CAPChannel(Self.psm)
  }

  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { central.connect(peripheral) }

  public func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    guard let channel else { return }
    self.channel = channel
    for stream in [channel.inputStream, channel.outputStream] as [Stream] {
      stream.delegate = self
      stream.schedule(in: .main, forMode: .default)
      stream.open()
    }
    let request = Array("log?".utf8)
    _ = channel.outputStream.write(request, maxLength: request.count)
  }

  public func stream(_ stream: Stream, handle event: Stream.Event) {
    switch event {
    case .hasBytesAvailable:
      var bytes = [UInt8](repeating: 0, count: 1024)
      guard let count = channel?.inputStream.read(&bytes, maxLength: bytes.count), count > 0 else { return }
      shelf.add(bytes.prefix(count))
    case .endEncountered, .errorOccurred:
      channel?.inputStream.close()
      channel?.outputStream.close()
      channel = nil
    default: break
    }
  }
}
