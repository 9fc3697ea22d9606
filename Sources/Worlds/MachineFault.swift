/// What can happen to a machine from outside, besides the end of its processes.
package enum MachineFault: Sendable, Equatable {
  /// A clean restart of bluetoothd, or SIGKILL and a new start.
  case restartBluetoothd(killed: Bool)
  /// The adapter has power, or none, while its controller stays.
  case adapterPower(isOn: Bool)
  /// The controller is plugged in, or gone.
  case controller(isPlugged: Bool)
  case rfkill(isBlocked: Bool)
  /// A shield around the machine.
  case radio(isBlocked: Bool)
  case move(to: Place, occasion: Occasion?, over: Duration? = nil)
  case malformedAdvertisement
  case unknownNotification
}

/// What a machine can do of what a story asks.
package enum Ability: Sendable, Equatable {
  case exact
  /// Something that comes close; what.
  case substitute(String)
  /// Why not.
  case unsupported(String)
}
