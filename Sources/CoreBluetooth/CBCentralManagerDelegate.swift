// These names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation

/// What a central manager tells its app, on the manager's queue. All methods but the first are optional.
public protocol CBCentralManagerDelegate: NSObjectProtocol {
  /// The state of Bluetooth has changed. Commands are accepted only in the state `poweredOn`.
  func centralManagerDidUpdateState(_ central: CBCentralManager)
  /// The first call after the system relaunched the app, if something is restored.
  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any])
  /// A scan has found a peripheral, or something new in its advertisement. `RSSI` is the signal in dBm.
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber)
  /// A peripheral is connected, as the app asked.
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral)
  /// A connection request has ended with an error. It is not repeated.
  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?)
  /// Preferred if the delegate has both methods that report a lost connection.
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?)
  /// A connection has ended. `error` is `nil` if the app ended it itself.
  /// - Parameters:
  ///   - timestamp: when the link ended, in seconds since 2001-01-01 00:00:00 UTC.
  ///   - isReconnecting: whether the system goes on with the request
  ///     (`CBConnectPeripheralOptionEnableAutoReconnect`).
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
    isReconnecting: Bool, error: (any Error)?)
  /// A peripheral that the app watches was connected to this machine or disconnected
  /// (`registerForConnectionEvents(options:)`).
  func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral)
  /// Never called: Apple's notification centre is not on Linux.
  func centralManager(_ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral)
}

extension CBCentralManagerDelegate {
  public func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    noteDefaultBody(of: self)
  }
  public func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) { noteDefaultBody(of: self) }
  public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    noteDefaultBody(of: self)
  }
  public func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) { noteDefaultBody(of: self) }
  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { noteDefaultBody(of: self) }
  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
    isReconnecting: Bool, error: (any Error)?
  ) { noteDefaultBody(of: self) }
  public func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
  ) { noteDefaultBody(of: self) }
  public func centralManager(_ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral) {
    noteDefaultBody(of: self)
  }
}

private func noteDefaultBody(of delegate: any CBCentralManagerDelegate, _ method: String = #function) {
  DelegateCall.noteDefaultBody(of: delegate, method) { $0 is any CBCentralManagerDelegate.Type }
}
