import CoreBluetooth

/// Follows a manager and one peripheral by key-value observing, as view models do that show a spinner and a link's state.
public final class LinkLight: NSObject, CBCentralManagerDelegate {
  public private(set) var isSpinning = false
  public private(set) var states: [CBPeripheralState] = []
  private let central = CBCentralManager()
  private var spinner: NSKeyValueObservation?
  private var link: NSKeyValueObservation?

  public override init() {
    super.init()
    central.delegate = self
    spinner = central.observe(\.isScanning, options: [.old, .new]) { [weak self] _, change in
      if let isScanning = change.newValue { self?.isSpinning = isScanning }
    }
  }

  public func follow(_ peripheral: CBPeripheral) {
    link?.invalidate()
    link = peripheral.observe(\.state, options: .initial) { [weak self] peripheral, _ in
      self?.states.append(peripheral.state)
    }
  }

  public func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) }
  }
}
