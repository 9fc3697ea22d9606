/// What can happen to a machine from outside, apart from the end of its processes.
package enum MachineFault: Sendable, Equatable {
  /// A clean restart of bluetoothd, or SIGKILL and a new start.
  case restartBluetoothd(killed: Bool)
  /// Switches the adapter's power while the controller stays.
  case adapterPower(isOn: Bool)
  /// Plugs or unplugs the controller.
  case controller(isPlugged: Bool)
  case rfkill(isBlocked: Bool)
  /// A shield around the machine.
  case radio(isBlocked: Bool)
  case move(to: Place, occasion: Occasion?, over: Duration? = nil)
  case malformedAdvertisement
  case unknownNotification
}

/// Whether a machine can do what a story asks.
package enum Ability: Sendable, Equatable {
  case exact
  /// Something similar, with a description.
  case substitute(String)
  /// The reason.
  case unsupported(String)
}
