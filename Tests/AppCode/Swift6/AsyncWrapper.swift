// swift-format-ignore-file: AvoidRetroactiveConformances, AlwaysUseLowerCamelCase, NoBlockComments

// The kind of code that wraps Core Bluetooth for async/await: an actor in front, continuations for each answer, streams
// for what arrives, and Apple's classes declared Sendable by the app itself.
@preconcurrency import CoreBluetooth

extension CBPeripheral: @unchecked @retroactive Sendable {}
extension CBCentralManager: @unchecked @retroactive Sendable {}
extension CBUUID: @unchecked @retroactive Sendable {}
extension CBCharacteristic: @retroactive @unchecked Sendable {}
extension CBService: @unchecked @retroactive Sendable {}
extension CBDescriptor: @unchecked @retroactive Sendable {}
extension CBCharacteristicProperties: @retroactive Hashable {}

public enum BluetoothFailure: Error, Equatable, LocalizedError {
  case unavailable(CBManagerState)
  case noSuchCharacteristic(CBUUID)
  case peer(CBATTError.Code)
  case connection(CBError.Code?)

  init?(_ error: (any Error)?) {
    guard let error else { return nil }
    let bridged = error as NSError
    switch bridged.domain {
    case CBATTErrorDomain: self = CBATTError.Code(rawValue: bridged.code).map(Self.peer) ?? .connection(nil)
    case CBErrorDomain: self = .connection(CBError.Code(rawValue: bridged.code))
    default: self = .connection(nil)
    }
  }

  public var errorDescription: String? {
    switch self {
    case .unavailable(let state): "Bluetooth is \(state)"
    case .noSuchCharacteristic(let uuid): "no characteristic \(uuid.uuidString)"
    case .peer(let code): "the peer answered \(code.rawValue)"
    case .connection(let code): "connection: \(code?.rawValue ?? -1)"
    }
  }
}

public struct Sighting: Sendable {
  public let peripheral: CBPeripheral
  public let name: String?
  public let services: [CBUUID]
  public let signal: Int
}

/// The queue on which Core Bluetooth calls, and the actor runs.
private final class QueueExecutor: SerialExecutor {
  let queue = DispatchQueue(label: "central.actor")
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

public actor Central {
  private let manager: CBCentralManager
  private let relay = Relay()
  private let executor = QueueExecutor()
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  public init(options: [String: Any]? = nil) {
    manager = CBCentralManager(delegate: relay, queue: executor.queue, options: options)
  }

  public nonisolated var states: AsyncStream<CBManagerState> { relay.states.stream }

  public func sightings(of services: [CBUUID]?) -> AsyncStream<Sighting> {
    let (stream, continuation) = AsyncStream<Sighting>.makeStream(bufferingPolicy: .bufferingNewest(100))
    relay.sightings = continuation
    continuation.onTermination = { @Sendable [weak manager] _ in manager?.stopScan() }
    manager.scanForPeripherals(withServices: services, options: [CBCentralManagerScanOptionAllowDuplicatesKey: false])
    return stream
  }

  public func connect(_ peripheral: CBPeripheral) async throws {
    guard manager.state == .poweredOn else { throw BluetoothFailure.unavailable(manager.state) }
    peripheral.delegate = relay
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        relay.connecting[peripheral.identifier] = continuation
        manager.connect(peripheral, options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
      }
    } onCancel: { [manager] in
      manager.cancelPeripheralConnection(peripheral)
    }
  }

  public func services(of peripheral: CBPeripheral) async throws -> [CBService] {
    try await withCheckedThrowingContinuation { continuation in
      relay.discovering[ObjectIdentifier(peripheral)] = continuation
      peripheral.discoverServices(nil)
    }
  }

  public func disconnect(_ peripheral: CBPeripheral) {
    if peripheral.state != .disconnected { manager.cancelPeripheralConnection(peripheral) }
  }
}

/// Called on the actor's queue only.
private final class Relay: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  let states = AsyncStream<CBManagerState>.makeStream()
  var sightings: AsyncStream<Sighting>.Continuation?
  var connecting: [UUID: CheckedContinuation<Void, any Error>] = [:]
  var discovering: [ObjectIdentifier: CheckedContinuation<[CBService], any Error>] = [:]

  func centralManagerDidUpdateState(_ central: CBCentralManager) { states.continuation.yield(central.state) }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    sightings?.yield(
      Sighting(
        peripheral: peripheral,
        name: peripheral.name ?? advertisementData[CBAdvertisementDataLocalNameKey] as? String,
        services: (advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID]) ?? [], signal: RSSI.intValue))
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    connecting.removeValue(forKey: peripheral.identifier)?.resume()
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
    connecting.removeValue(forKey: peripheral.identifier)?
      .resume(throwing: BluetoothFailure(error) ?? .connection(nil))
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
    isReconnecting: Bool, error: (any Error)?
  ) {
    guard !isReconnecting else { return }
    discovering.removeValue(forKey: ObjectIdentifier(peripheral))?
      .resume(throwing: BluetoothFailure(error) ?? .connection(.peripheralDisconnected))
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    let continuation = discovering.removeValue(forKey: ObjectIdentifier(peripheral))
    if let failure = BluetoothFailure(error) {
      continuation?.resume(throwing: failure)
    } else {
      continuation?.resume(returning: peripheral.services ?? [])
    }
  }
}
