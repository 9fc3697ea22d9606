import BluetoothTypes

/// What a test makes of a controller. By itself it answers whoever wants to connect, and is heard as its distance has it.
package struct Manners: Sendable, Hashable {
  package enum Connecting: Sendable, Hashable {
    case accepts
    /// It never answers, as a peripheral whose list of centrals is full.
    case ignores
    /// It never answers, and the world is told of each attempt (`Radio.takeRefusals`).
    case refuses
  }

  package var connecting = Connecting.accepts
  /// At which strength every other one reads it, in dBm. Whether it is heard is still its distance's.
  package var strength: Int8?
  package init() {}
}

/// An attempt to connect that was refused.
package struct ConnectionRefusal: Sendable, Hashable {
  package let initiator: ControllerIdentifier
  package let advertiser: ControllerIdentifier
  /// As the advertiser was heard.
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
