import Foundation

/// Calls of delegate methods that are deprecated, and that older apps still have. They go through a protocol, because a
/// direct call gives a warning.
protocol DeprecatedMethods {
  func tellSignal(_ peripheral: CBPeripheral, _ error: (any Error)?)
}

struct OldMethods: DeprecatedMethods {
  let delegate: any CBPeripheralDelegate

  @available(*, deprecated)
  func tellSignal(_ peripheral: CBPeripheral, _ error: (any Error)?) {
    delegate.peripheralDidUpdateRSSI(peripheral, error: error)
  }
}
