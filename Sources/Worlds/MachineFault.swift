/// What can happen to a machine from outside, apart from the end of its processes.
package enum MachineFault: Sendable, Equatable {
  /// A clean restart of bluetoothd, or SIGKILL and a new start.
  case restartBluetoothd(killed: Bool)
  /// Switches the adapter's power while the controller stays.
  case adapterPower(isOn: Bool)
  /// Its user removes all of its pairings. The other sides keep theirs.
  case forgetPairings
  /// Plugs or unplugs the controller.
  case controller(isPlugged: Bool)
  case rfkill(isBlocked: Bool)
  /// A shield around the machine: it neither receives nor is received.
  case radio(isBlocked: Bool)
  /// The machine moves: in an instant, or with `over` on foot, straight and at an even pace.
  case move(to: Place, occasion: Occasion?, over: Duration? = nil)
  /// Somebody, or a time server, sets the machine's clock ahead by this, or back. The time that its timers count does
  /// not change.
  case clock(by: Duration)
  /// The machine receives an advertisement that breaks the rules of its own format.
  case malformedAdvertisement
  /// A peer sends a notification for an unknown handle.
  case unknownNotification

  /// What happens, in words for people.
  package func summary(on machine: String) -> String {
    switch self {
    case .restartBluetoothd(false): "bluetoothd on \(machine) restarts"
    case .restartBluetoothd(true): "bluetoothd on \(machine) is killed and started again"
    case .adapterPower(let isOn): "the adapter of \(machine) \(isOn ? "gets its power back" : "loses power")"
    case .forgetPairings: "the pairings of \(machine) are removed there"
    case .controller(let isPlugged): "the controller of \(machine) is \(isPlugged ? "plugged in" : "unplugged")"
    case .rfkill(let isBlocked): "rfkill \(isBlocked ? "blocks" : "unblocks") Bluetooth on \(machine)"
    case .radio(let isBlocked): "\(machine)'s radio is \(isBlocked ? "blocked" : "free again")"
    case .move(let place, let occasion, let over):
      Self.moving(machine, to: place, occasion) + (over.map { ", on foot, over \(DurationText.format($0))" } ?? "")
    case .clock(let change) where change < .zero:
      "the clock of \(machine) is set back by \(DurationText.format(.zero - change))"
    case .clock(let change): "the clock of \(machine) is set ahead by \(DurationText.format(change))"
    case .malformedAdvertisement: "a malformed advertisement reaches \(machine)"
    case .unknownNotification: "a notification for an unknown handle reaches \(machine)"
    }
  }

  private static func moving(_ machine: String, to place: Place, _ occasion: Occasion?) -> String {
    switch occasion {
    case .departure: "the owner leaves (\(machine) to \(place))"
    case .arrival: "the owner comes home (\(machine) to \(place))"
    case nil: "\(machine) moves to \(place)"
    }
  }
}

/// Whether a machine can do what a story asks.
package enum Ability: Sendable, Equatable {
  case exact
  /// Something similar, with a description.
  case substitute(String)
  /// The reason.
  case unsupported(String)
}
