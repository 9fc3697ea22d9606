/// The state of Bluetooth, as one manager sees it.
public enum CBManagerState: Int, Sendable {
  /// Not known yet; an update follows.
  case unknown = 0
  /// The connection to the system was lost for a moment; an update follows.
  case resetting
  /// This machine has no Bluetooth LE, or this app can't use it (the log says why).
  case unsupported
  /// The system does not let this app use Bluetooth.
  case unauthorized
  case poweredOff
  case poweredOn
}

/// The older name of `CBManagerState` for centrals.
@available(*, deprecated, renamed: "CBManagerState")
public enum CBCentralManagerState: Int, Sendable {
  case unknown = 0
  case resetting, unsupported, unauthorized, poweredOff, poweredOn
}

/// The older name of `CBManagerState` for peripherals.
@available(*, deprecated, renamed: "CBManagerState")
public enum CBPeripheralManagerState: Int, Sendable {
  case unknown = 0
  case resetting, unsupported, unauthorized, poweredOff, poweredOn
}

/// Whether the user lets the app use Bluetooth.
public enum CBManagerAuthorization: Int, Sendable {
  case notDetermined = 0
  case restricted
  case denied
  case allowedAlways
}

/// The older form of `CBManagerAuthorization`.
@available(*, deprecated, renamed: "CBManagerAuthorization")
public enum CBPeripheralManagerAuthorizationStatus: Int, Sendable {
  case notDetermined = 0
  case restricted
  case denied
  case authorized
}
