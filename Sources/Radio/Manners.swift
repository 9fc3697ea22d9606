import BluetoothTypes

/// How a test makes a controller behave. Without changes, it answers every initiator, and its distance decides how
/// strongly it is heard.
package struct Manners: Sendable, Hashable {
  package enum Connecting: Sendable, Hashable {
    case accepts
    /// It never answers, as a peripheral whose list of centrals is full.
    case ignores
    /// It never answers, and the world is told of each attempt (`Radio.takeRefusals`).
    case refuses
  }

  package var connecting = Connecting.accepts
  /// The strength at which every other controller reads its signal, in dBm, or `nil` for the real one. The distance
  /// still decides whether it is heard.
  package var strength: Int8?
  package init() {}
}

/// An attempt to connect that was refused.
package struct ConnectionRefusal: Sendable, Hashable {
  package let initiator: ControllerIdentifier
  package let advertiser: ControllerIdentifier
  /// The advertiser's address at that time.
  package let address: DeviceAddress
}

extension Radio {
  /// Sets how a controller behaves. An unknown one is left as it is.
  package mutating func setManners(_ manners: Manners, of controller: ControllerIdentifier) {
    controllers[controller]?.manners = manners
  }

  /// The attempts that were refused since the last call.
  package mutating func takeRefusals() -> [ConnectionRefusal] {
    defer { refusals = [] }
    return refusals
  }
}
