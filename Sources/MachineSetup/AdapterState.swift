import BlueZ
import BusValue

/// bluetoothd's view of an adapter (org.bluez.Adapter(5)).
package struct AdapterState: Sendable, Equatable {
  package let path: ObjectPath
  package let isPowered: Bool
  /// `PowerState`, since BlueZ 5.65: `on`, `off`, `off-enabling`, `on-disabling`, `off-blocked`.
  package let powerState: PowerState?

  package var name: String { String(path.lastComponent) }
  /// Blocked by rfkill, or by a switch of the machine.
  package var isBlocked: Bool { powerState == .blocked }

  /// The adapter that latchkeyd will use, the first by name, among bluetoothd's objects (the answer of
  /// `GetManagedObjects`). `nil` if there is none.
  package static func first(in objects: Value?) -> AdapterState? {
    guard case .dictionary(_, _, let entries)? = objects else { return nil }
    let found = entries.compactMap { entry -> AdapterState? in
      guard let path = entry.key.pathValue, case .dictionary(_, _, let interfaces) = entry.value,
        let properties = interfaces.first(where: { $0.key.stringValue == InterfaceName.adapter })?.value
          .propertiesValue
      else { return nil }
      let values = PropertyValues<Adapter1>(properties)
      return AdapterState(path: path, isPowered: values.powered ?? false, powerState: values.powerState)
    }
    return found.min { $0.path < $1.path }
  }
}
