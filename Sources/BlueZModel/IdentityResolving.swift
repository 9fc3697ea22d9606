import BluetoothTypes
import Radio

extension IdentityResolvingKey {
  /// Whether this key made the address.
  func resolves(_ address: DeviceAddress) -> Bool { ResolvableAddress.resolves(address, with: self) }
}
