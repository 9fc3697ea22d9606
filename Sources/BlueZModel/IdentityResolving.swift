import BluetoothTypes
import Radio

extension IdentityResolvingKey {
  /// Whether the address was made with this key.
  func resolves(_ address: DeviceAddress) -> Bool { ResolvableAddress.resolves(address, with: self) }
}
