import Glibc

/// How radio waves travel in this world: path loss by the logarithm of the distance; what walls and furniture add or
/// take, for a pair of controllers and along the way that a person walks; the body of the person who carries a
/// controller; a little noise on each packet; and a share of packets spoiled by other traffic. All of it is drawn
/// from the radio's seed, and is the same for the same seed, pair and places.
/// `RadioPhysics()` is `.ordinary`.
package struct RadioPhysics: Sendable, Hashable {
  /// The signal strength at one metre, in dBm; -127 to 20.
  package var signalAtOneMetre: Double
  /// How fast the signal falls with distance: 2 in open space, more indoors; 1 to 6.
  package var pathLossExponent: Double
  /// The standard deviation of the part that is constant for a pair of controllers, in dB (antennas, cases); 0 to 20.
  package var shadowing: Double
  /// The standard deviation of what walls, furniture and people add or take along the way, in dB; 0 to 20. The same
  /// place has the same shadow, so a phone that stands still sees no change. 3GPP TR 38.901 (table 7.4.1-1) has 3 dB
  /// for indoor offices with line of sight, 4 dB for streets with line of sight and about 8 dB without.
  package var wayShadowing: Double
  /// How far a person walks until the correlation of the shadow along the way has fallen to 1/e, in metres; 0.1 to
  /// 1000. TR 38.901 (table 7.5-6) has 6 to 13 m for offices and streets. A home's rooms and porches are smaller.
  package var decorrelationDistance: Double
  /// The most that the body of the person who carries a controller takes, in dB, if all of it is in between; 0 to 40.
  /// The loss depends on the walking direction, on the pocket with the controller (drawn for every walk) and on the
  /// swing. It applies only to controllers that have been carried. At 2.4 GHz, a body in the way takes ten decibels
  /// and more (Januszkiewicz, Sensors 18, 3412, 2018, and the measurements cited there).
  package var bodyLoss: Double
  /// The standard deviation of one packet's strength, in dB; 0 to 20: fading, which differs from channel to channel.
  package var noise: Double
  /// Below this strength, in dBm, a packet is lost; -127 to 20.
  package var sensitivity: Double
  /// The share of advertisements, and of responses to them, that is lost whatever their strength, 0 to 1.
  package var interference: Double
  /// The share of a link's packets that is lost whatever their strength, 0 to 1. It is smaller, because a link avoids
  /// bad channels.
  package var linkInterference: Double

  package init(
    signalAtOneMetre: Double = -59, pathLossExponent: Double = 2.2, shadowing: Double = 3, wayShadowing: Double = 3,
    decorrelationDistance: Double = 4, bodyLoss: Double = 6, noise: Double = 1.5, sensitivity: Double = -94,
    interference: Double = 0.1, linkInterference: Double = 0.02
  ) {
    self.signalAtOneMetre = signalAtOneMetre
    self.pathLossExponent = pathLossExponent
    self.shadowing = shadowing
    self.wayShadowing = wayShadowing
    self.decorrelationDistance = decorrelationDistance
    self.bodyLoss = bodyLoss
    self.noise = noise
    self.sensitivity = sensitivity
    self.interference = interference
    self.linkInterference = linkInterference
  }

  /// Only distance counts: every packet that is strong enough arrives, with the strength for its distance.
  package static let clear = RadioPhysics(
    shadowing: 0, wayShadowing: 0, bodyLoss: 0, noise: 0, interference: 0, linkInterference: 0)
  /// In line of sight, with the phone in the hand.
  package static let calm = RadioPhysics(shadowing: 2, wayShadowing: 1.5, bodyLoss: 3, interference: 0.05)
  /// A home and its porch, with the phone in a pocket.
  package static let ordinary = RadioPhysics()
  /// Thick walls, parked cars, a busy street, the phone in a back pocket or a bag, other radios all around.
  package static let harsh = RadioPhysics(
    pathLossExponent: 2.6, shadowing: 4, wayShadowing: 5, decorrelationDistance: 3, bodyLoss: 12, noise: 3,
    interference: 0.3, linkInterference: 0.08)

  /// The mean strength over `distance` metres with nothing in between, in dBm. It does not grow further below 10 cm.
  package func signal(over distance: Double) -> Double {
    signalAtOneMetre - 10 * pathLossExponent * log10(max(distance, 0.1))
  }

  /// The range, in metres, of packets that only distance weakens.
  package var clearRange: Double { pow(10, (signalAtOneMetre - sensitivity) / (10 * max(pathLossExponent, 0.1))) }

  /// The most that the shadow along the way adds or takes, in dB.
  var wayShadowingLimit: Double { wayShadowing * RandomDraws.bellLimit }

  /// The spacing of the grid from which the shadow along the way is interpolated. Between two points, the correlation
  /// with the first has fallen to 1/e after 0.7 of the way.
  var fieldSpacing: Double { max(decorrelationDistance, 0.1) / 0.7 }

  /// The greatest distance, in metres, at which two controllers with this pair shadow may hear each other.
  func reach(withShadow shadow: Double) -> Double {
    let most = signalAtOneMetre + shadow + wayShadowingLimit + noise * RandomDraws.bellLimit
    return pow(10, (most - sensitivity) / (10 * max(pathLossExponent, 0.1))) * 1.001
  }

  /// Whether any packet of this mean strength ever arrives.
  func reaches(_ signal: Double) -> Bool { signal + noise * RandomDraws.bellLimit >= sensitivity }

  /// Whether only interference can spoil packets of this mean strength.
  func isSafe(_ signal: Double) -> Bool { signal - noise * RandomDraws.bellLimit >= sensitivity }

  /// One packet outside a link: its strength in dBm, or `nil` if it is lost.
  func receive(_ signal: Double, _ draws: inout RandomDraws) -> Int8? { receive(signal, interference, &draws) }

  /// One packet of a link.
  func receiveOnLink(_ signal: Double, _ draws: inout RandomDraws) -> Bool {
    receive(signal, linkInterference, &draws) != nil
  }

  private func receive(_ signal: Double, _ interference: Double, _ draws: inout RandomDraws) -> Int8? {
    let strength = signal + noise * draws.bell()
    let isSpoilt = draws.unit() < interference
    return strength < sensitivity || isSpoilt ? nil : Self.reading(strength)
  }

  /// A strength as controllers report it: -127 to +20 dBm (Bluetooth Core, Vol 4, Part E, 7.7.65.2).
  static func reading(_ strength: Double) -> Int8 { Int8(min(20, max(-127, strength.rounded()))) }
}
