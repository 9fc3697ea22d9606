import Glibc

/// How radio waves travel in this world: path loss by the logarithm of the distance; what walls and furniture add or
/// take, for a pair of controllers and along the way that somebody walks; the body of whoever carries a controller; a
/// little noise on each packet; and a share of packets that others' traffic spoils. All of it is drawn from the radio's
/// seed, and the same for the same seed, pair and places.
///
/// `RadioPhysics()` is `.ordinary`.
public struct RadioPhysics: Sendable, Hashable {
  /// The signal strength at one metre, in dBm; -127 to 20.
  public var signalAtOneMetre: Double
  /// How fast it falls: 2 in open space, more indoors; 1 to 6.
  public var pathLossExponent: Double
  /// The standard deviation of what stays the same for a pair of controllers wherever they are, in dB (antennas, cases);
  /// 0 to 20.
  public var shadowing: Double
  /// The standard deviation of what walls, furniture and people add or take along the way, in dB; 0 to 20. The same place
  /// has the same shadow, so that a phone that stands still hears no change. 3GPP TR 38.901 (table 7.4.1-1) has 3 dB for indoor
  /// offices in sight, 4 dB for streets in sight and about 8 dB out of sight.
  public var wayShadowing: Double
  /// How far one walks until the shadow along the way has only 1/e to do with what it was, in metres; 0.1 to 1000. TR
  /// 38.901 (table 7.5-6) has 6 to 13 m for offices and streets; a home's rooms and porches are smaller.
  public var decorrelationDistance: Double
  /// What the body of whoever carries a controller takes at most, in dB, where all of it is in between; 0 to 40. It
  /// changes with the direction in which he walks, from the pocket in which he has it (drawn for every walk) and with his
  /// swing, and counts only for controllers that have ever walked. At 2.4 GHz a body
  /// that stands in the way takes ten decibels and more (Januszkiewicz, Sensors 18, 3412, 2018, and the measurements there).
  public var bodyLoss: Double
  /// The standard deviation of one packet's strength, in dB; 0 to 20: fading, which differs from channel to channel.
  public var noise: Double
  /// Below this strength, in dBm, a packet is lost; -127 to 20.
  public var sensitivity: Double
  /// The share of advertisements, and of what answers them, lost whatever their strength, 0 to 1.
  public var interference: Double
  /// The same for packets of a link, which avoids bad channels.
  public var linkInterference: Double

  public init(
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

  /// Nothing but distance: every packet arrives that is strong enough, with the strength of its distance.
  public static let clear = RadioPhysics(
    shadowing: 0, wayShadowing: 0, bodyLoss: 0, noise: 0, interference: 0, linkInterference: 0)
  /// In sight of each other, the phone in the hand.
  public static let calm = RadioPhysics(shadowing: 2, wayShadowing: 1.5, bodyLoss: 3, interference: 0.05)
  /// A home and its porch, the phone in a pocket.
  public static let ordinary = RadioPhysics()
  /// Thick walls, parked cars, a full street, the phone in a back pocket or a bag, other radios all round.
  public static let harsh = RadioPhysics(
    pathLossExponent: 2.6, shadowing: 4, wayShadowing: 5, decorrelationDistance: 3, bodyLoss: 12, noise: 3,
    interference: 0.3, linkInterference: 0.08)

  /// The mean strength over `distance` metres with nothing in between, in dBm. Nearer than 10 cm it grows no more.
  public func signal(over distance: Double) -> Double {
    signalAtOneMetre - 10 * pathLossExponent * log10(max(distance, 0.1))
  }

  /// How far, in metres, packets arrive that nothing but the distance weakens.
  public var clearRange: Double { pow(10, (signalAtOneMetre - sensitivity) / (10 * max(pathLossExponent, 0.1))) }

  /// The most that the shadow along the way adds or takes, in dB.
  var wayShadowingLimit: Double { wayShadowing * RandomDraws.bellLimit }

  /// The spacing of the grid from which the shadow along the way is mixed: what is mixed evenly from two points has 1/e
  /// to do with the first one after 0.7 of the way to the second.
  var fieldSpacing: Double { max(decorrelationDistance, 0.1) / 0.7 }

  /// The farthest, in metres, at which two with this shadow for their pair may hear each other.
  func reach(withShadow shadow: Double) -> Double {
    let most = signalAtOneMetre + shadow + wayShadowingLimit + noise * RandomDraws.bellLimit
    return pow(10, (most - sensitivity) / (10 * max(pathLossExponent, 0.1))) * 1.001
  }

  /// Whether any packet of this mean strength ever arrives.
  func reaches(_ signal: Double) -> Bool { signal + noise * RandomDraws.bellLimit >= sensitivity }

  /// Whether nothing but interference spoils packets of this mean strength.
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
