import Worlds

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
