/// SplitMix64 (Steele, Lea and Flood, 2014): a random sequence from a number.
///
/// The radio keeps no running sequence. Each random event has its own short sequence, identified by the seed, by what
/// is drawn and by when. So one draw more or less in one place changes nothing elsewhere.
struct RandomDraws: Sendable {
  private var state: UInt64

  init(_ names: UInt64...) {
    state = 0
    for name in names { take(name) }
  }

  // The same without an array, because this form is used most often.
  init(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
    state = 0
    take(first)
    take(second)
    take(third)
    take(fourth)
  }

  init(
    _ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64, _ fifth: UInt64, _ sixth: UInt64,
    _ seventh: UInt64
  ) {
    self.init(first, second, third, fourth)
    take(fifth)
    take(sixth)
    take(seventh)
  }

  init(_ first: UInt64, _ second: UInt64, _ third: UInt64) {
    state = 0
    take(first)
    take(second)
    take(third)
  }

  private mutating func take(_ name: UInt64) { state = Self.mix(state &+ 0x9E37_79B9_7F4A_7C15 ^ name) }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mix(state)
  }

  /// From 0 to just below 1.
  mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

  /// From 0 to just below `bound`, which is positive.
  mutating func below(_ bound: Int64) -> Int64 {
    Int64(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  /// Bell-shaped with standard deviation 1, and never beyond ±`bellLimit`: the sum of four uniform draws.
  mutating func bell() -> Double { (unit() + unit() + unit() + unit() - 2) * 1.732_050_807_568_877_2 }
  static let bellLimit = 3.464_101_615_137_755

  private static func mix(_ value: UInt64) -> UInt64 {
    var value = value
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }

  /// A number for a name (FNV-1a).
  static func number(of name: String) -> UInt64 {
    name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}

/// The purpose of a random sequence.
enum DrawPurpose {
  static let shadowing: UInt64 = 1
  static let advertisingPhase: UInt64 = 2
  static let advertisingDelay: UInt64 = 3
  static let scanPhase: UInt64 = 4
  static let initiatorPhase: UInt64 = 5
  static let advertisementAtScanner: UInt64 = 6
  static let advertisementAtInitiator: UInt64 = 7
  static let connectionRequest: UInt64 = 8
  static let anchor: UInt64 = 9
  static let connectionEvent: UInt64 = 10
  static let signalReading: UInt64 = 11
  static let wayShadowing: UInt64 = 12
  static let walk: UInt64 = 13
  static let pocket: UInt64 = 14
  static let swing: UInt64 = 15
}
