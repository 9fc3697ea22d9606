// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The kind of code that wrappers of Swift 6 contain: an actor whose executor is the queue of its manager, so that the delegate's
// calls are inside the actor without a hop.
import CoreBluetooth

public actor Beacons {
  private let queue: DispatchSerialQueue
  public nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
  private var manager: CBCentralManager?
  private var delegate: Delegate?
  private var found: [UUID: CBPeripheral] = [:]
  private var waiting: [CheckedContinuation<CBManagerState, Never>] = []

  private final class Delegate: NSObject, CBCentralManagerDelegate, Sendable {
    private let owner: Beacons
    init(_ owner: Beacons) { self.owner = owner }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
      owner.assumeIsolated { $0.changed(to: central.state) }
    }
    func centralManager(
      _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
      rssi RSSI: NSNumber
    ) { owner.assumeIsolated { $0.found[peripheral.identifier] = peripheral } }
  }

  public init(label: String = "beacons") { queue = DispatchSerialQueue(label: label) }

  /// Waits for the first state.
  public func begin() async -> CBManagerState {
    dispatchPrecondition(condition: .onQueue(queue))
    let delegate = Delegate(self)
    self.delegate = delegate
    return await withCheckedContinuation { continuation in
      waiting.append(continuation)
      manager = CBCentralManager(delegate: delegate, queue: queue)
    }
  }

  private func changed(to state: CBManagerState) {
    for continuation in waiting { continuation.resume(returning: state) }
    waiting = []
    if state == .poweredOn { manager?.scanForPeripherals(withServices: [CBUUID(string: "FEAA")]) }
  }
}
