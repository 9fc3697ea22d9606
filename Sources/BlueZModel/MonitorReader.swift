import BlueZ
import BusValue
import TimeTypes

/// A monitor's RSSI conditions, as bluetoothd keeps them. Values outside the ranges mean that the condition is not
/// set.
struct MonitorThresholds: Sendable, Hashable {
  private static let noStrength = 127
  private static let noPeriod = 256

  /// In dBm. Above it a device is found.
  var high = noStrength
  /// How long the signal must stay above.
  var highSeconds = 0
  /// In dBm. Below it a device is lost.
  var low = noStrength
  /// How long the signal must stay below, or be absent.
  var lowSeconds = 0
  /// In units of 100 ms. It is only passed on to controllers that compare by themselves.
  var samplingPeriod = noPeriod

  static let none = MonitorThresholds()

  /// Reads them from a monitor's properties (src/adv_monitor.c, parse_rssi_and_timeout). `nil` if they are invalid.
  init?(_ monitor: PropertyValues<AdvertisementMonitor1>) {
    do {
      if let value = try monitor.read(\.rssiHighThreshold) { high = Int(value) }
      if let value = try monitor.read(\.rssiHighTimeoutSeconds) { highSeconds = Int(value) }
      if let value = try monitor.read(\.rssiLowThreshold) { low = Int(value) }
      if let value = try monitor.read(\.rssiLowTimeoutSeconds) { lowSeconds = Int(value) }
      if let value = try monitor.read(\.rssiSamplingPeriod) { samplingPeriod = Int(value) }
    } catch {
      return nil
    }
    if self == .none { return }
    // Defaults for the values that are missing beside a given one.
    if low == Self.noStrength { low = -127 }
    if high == Self.noStrength { high = low }
    if lowSeconds == 0 { lowSeconds = 5 }
    if highSeconds == 0 { highSeconds = 10 }
    if samplingPeriod == Self.noPeriod { samplingPeriod = 255 }
    let (strengths, seconds) = (-127...20, 1...300)
    guard strengths.contains(high), strengths.contains(low), high >= low, seconds.contains(highSeconds),
      seconds.contains(lowSeconds), samplingPeriod <= 255
    else { return nil }
  }

  private init() {}

  /// The conditions that the kernel is told for several monitors with the same patterns: for each, the one that lets
  /// more through.
  static func merged(_ all: [MonitorThresholds]) -> MonitorThresholds? {
    func least(_ values: [Int], but none: Int) -> Int { values.filter { $0 != none }.min() ?? none }
    guard let first = all.first else { return nil }
    var result = MonitorThresholds()
    result.high = least(all.map(\.high), but: noStrength)
    result.low = least(all.map(\.low), but: noStrength)
    result.lowSeconds = least(all.map(\.lowSeconds), but: 0)
    result.samplingPeriod = all.allSatisfy { $0.samplingPeriod == first.samplingPeriod } ? first.samplingPeriod : 0
    return result
  }
}

/// Bytes that an AD structure of a certain type has at a certain position.
struct MonitorPattern: Sendable, Hashable {
  /// The longest AD structure of an advertisement.
  private static let dataLimit = 31
  /// bluetoothd 5.82 has no room for more patterns in its message to the kernel.
  static let countLimit = 7

  var start: Int
  var kind: UInt8
  var bytes: [UInt8]

  /// Reads `Patterns` (src/adv_monitor.c, parse_patterns). `nil` if they are invalid.
  static func read(_ value: Value?) -> [MonitorPattern]? {
    guard case .array(_, let elements)? = value, !elements.isEmpty else { return nil }
    var patterns: [MonitorPattern] = []
    for element in elements {
      guard case .structure(let members) = element, members.count >= 3, case .byte(let start) = members[0],
        case .byte(let kind) = members[1], let bytes = members[2].bytesValue, !bytes.isEmpty, start < dataLimit,
        Int(start) + bytes.count <= dataLimit, (0x01...0x3D).contains(kind) || kind == 0xFF
      else { return nil }
      patterns.append(MonitorPattern(start: Int(start), kind: kind, bytes: bytes))
    }
    return patterns
  }

  /// Whether an advertisement's structure matches, by the rules of bluetoothd 5.69 and later. bluetoothd does not
  /// compare structures that it has already parsed, such as lists of services and names (bluez#652). It compares
  /// service data without its UUID (bluez#1176).
  func matches(_ kind: UInt8, _ body: ArraySlice<UInt8>) -> Bool {
    let data: ArraySlice<UInt8>
    switch (self.kind, kind) {
    case (0x02...0x09, _): return false
    // Service data of any kind.
    case (0x16, 0x16), (0x20, 0x16), (0x21, 0x16): data = body.dropFirst(2)
    case (0x16, 0x20), (0x20, 0x20), (0x21, 0x20): data = body.dropFirst(4)
    case (0x16, 0x21), (0x20, 0x21), (0x21, 0x21): data = body.dropFirst(16)
    default:
      guard self.kind == kind else { return false }
      data = body
    }
    return data.dropFirst(start).starts(with: bytes)
  }

  /// The structures of an advertisement.
  static func structures(_ bytes: [UInt8]) -> [(kind: UInt8, body: ArraySlice<UInt8>)] {
    var result: [(kind: UInt8, body: ArraySlice<UInt8>)] = []
    var rest = bytes[...]
    while let length = rest.first, length > 0, rest.count > Int(length) {
      let whole = rest.dropFirst().prefix(Int(length))
      if let kind = whole.first { result.append((kind, whole.dropFirst())) }
      rest = rest.dropFirst(Int(length) + 1)
    }
    return result
  }
}
