/// The state of the connection to a peripheral.
public enum CBPeripheralState: Int, Sendable {
  case disconnected = 0
  case connecting
  case connected
  case disconnecting
}
