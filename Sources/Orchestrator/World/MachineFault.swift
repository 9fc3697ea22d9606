/// What can happen to a machine from outside, besides the end of its processes.
enum MachineFault: Sendable, Equatable {
  /// A clean restart of bluetoothd, or SIGKILL and a new start.
  case restartBluetoothd(killed: Bool)
  /// The adapter has power, or none, while its controller stays.
  case adapterPower(isOn: Bool)
  /// The controller is plugged in, or gone.
  case controller(isPlugged: Bool)
  case rfkill(isBlocked: Bool)
  /// A shield around the machine.
  case radio(isBlocked: Bool)
  case move(to: Place, occasion: Action.Occasion?, over: Duration? = nil)
  case malformedAdvertisement
  case unknownNotification
}

/// What a machine can do of what a story asks.
enum Ability: Sendable, Equatable {
  case exact
  /// Something that comes close; what.
  case substitute(String)
  /// Why not.
  case unsupported(String)
}

extension Action {
  /// The machine and the fault, where this is one.
  var fault: (machine: String, fault: MachineFault)? {
    switch self {
    case .restartBluetoothd(let machine): (machine, .restartBluetoothd(killed: false))
    case .killBluetoothd(let machine): (machine, .restartBluetoothd(killed: true))
    case .adapterPower(let machine, let isOn): (machine, .adapterPower(isOn: isOn))
    case .controller(let machine, let isPlugged): (machine, .controller(isPlugged: isPlugged))
    case .rfkill(let machine, let isBlocked): (machine, .rfkill(isBlocked: isBlocked))
    case .blockRadio(let machine, let isBlocked): (machine, .radio(isBlocked: isBlocked))
    case .move(let machine, let place, let occasion, let over):
      (machine, .move(to: place, occasion: occasion, over: over))
    case .malformedAdvertisement(let machine): (machine, .malformedAdvertisement)
    case .unknownNotification(let machine): (machine, .unknownNotification)
    default: nil
    }
  }
}
