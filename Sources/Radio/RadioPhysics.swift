import Glibc

/// How radio waves travel in this world: path loss by the logarithm of the distance, a shadow for each pair of places'
/// owners, a little noise on each packet, and a share of packets that others' traffic spoils.
public struct RadioPhysics: Sendable, Hashable {
  /// The signal strength at one metre, in dBm.
  public var signalAtOneMetre: Double
  /// How fast it falls: 2 in open space, more indoors.
  public var pathLossExponent: Double
  /// The standard deviation of what walls and furniture add or take, in dB; constant for a pair of controllers.
  public var shadowing: Double
  /// The standard deviation of one packet's strength, in dB.
  public var noise: Double
  /// Below this strength, in dBm, a packet is lost.
  public var sensitivity: Double
  /// The share of advertisements, and of what answers them, lost whatever their strength, 0 to 1.
  public var interference: Double
  /// The same for packets of a link, which avoids bad channels.
  public var linkInterference: Double

  public init(
    signalAtOneMetre: Double = -59, pathLossExponent: Double = 2.2, shadowing: Double = 3, noise: Double = 1.5,
    sensitivity: Double = -94, interference: Double = 0.1,
    linkInterference: Double = 0.02
  ) {
    self.signalAtOneMetre = signalAtOneMetre
    self.pathLossExponent = pathLossExponent
    self.shadowing = shadowing
    self.noise = noise
    self.sensitivity = sensitivity
    self.interference = interference
    self.linkInterference = linkInterference
  }

  /// The mean strength over `distance` metres with a shadow of `shadow` standard deviations, in dBm.
  func signal(over distance: Double, shadow: Double) -> Double {
    signalAtOneMetre - 10 * pathLossExponent * log10(max(distance, 0.1)) + shadowing * shadow
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
