import BluetoothTypes
import TimeTypes

/// When a controller listens: for `window` in every `interval`, with its own starting point.
struct ListeningWindow: Sendable {
  private let interval: Int64
  private let window: Int64
  private let beginning: Int64

  /// - Parameter phase: where in the interval it begins, 0 to just below 1.
  init(interval: Duration, window: Duration, phase: Double, now: Instant) {
    self.interval = interval.wholeNanoseconds
    self.window = window.wholeNanoseconds
    // The beginning is never in the future.
    beginning = now.nanoseconds - Int64(phase * Double(self.interval))
  }

  func covers(_ time: Int64) -> Bool { (time - beginning) % interval < window }
}

/// A scan, and what it has reported.
struct Scanner: Sendable {
  let parameters: ScanParameters
  let window: ListeningWindow
  private var seen: [DeviceAddress: Content] = [:]
  /// The addresses in `seen`, longest known first.
  private var order: [DeviceAddress] = []

  /// As in a real controller, the filter's memory is small. What drops out of it is reported again.
  static let filterLimit = 256

  private struct Content {
    var data: [UInt8]
    var scanResponse: [UInt8]?
  }

  init(_ parameters: ScanParameters, window: ListeningWindow) {
    self.parameters = parameters
    self.window = window
  }

  /// Whether the duplicate filter would stop whatever the set sends now.
  func hasSeenAll(of set: AdvertisingSet, at now: Instant) -> Bool {
    guard parameters.filtersDuplicates, let content = seen[set.parameters.ownAddress.address(at: now)],
      content.data == set.parameters.data
    else { return false }
    return !parameters.isActive || content.scanResponse == set.parameters.scanResponse
  }

  /// Whether this is new, or duplicates are not filtered.
  mutating func admits(_ report: AdvertisementReport) -> Bool {
    guard parameters.filtersDuplicates else { return true }
    if let known = seen[report.address] {
      guard known.data != report.data || report.scanResponse != nil && known.scanResponse != report.scanResponse
      else { return false }
    } else {
      order.append(report.address)
      if order.count > Self.filterLimit { seen[order.removeFirst()] = nil }
    }
    seen[report.address] = Content(data: report.data, scanResponse: report.scanResponse)
    return true
  }
}

extension Radio {
  mutating func setScan(_ identifier: ControllerIdentifier, _ parameters: ScanParameters?) throws(Refusal) {
    let controller = try commanded(identifier, toStop: parameters == nil)
    guard let parameters else {
      controllers[identifier]?.scanner = nil
      return
    }
    try requireScan(identifier, parameters.interval, parameters.window)
    var draws = RandomDraws(seed, DrawPurpose.scanPhase, controller.number, UInt64(bitPattern: now.nanoseconds))
    let window = ListeningWindow(
      interval: parameters.interval, window: parameters.window, phase: draws.unit(), now: now)
    controllers[identifier]?.scanner = Scanner(parameters, window: window)
  }

  func requireScan(_ identifier: ControllerIdentifier, _ interval: Duration, _ window: Duration) throws(Refusal) {
    // Vol 4, Part E, 7.8.10.
    try require(
      identifier, interval >= .microseconds(2500) && interval <= .milliseconds(10240),
      "scan interval is not within 2.5 ms to 10.24 s")
    try require(
      identifier, window >= .microseconds(2500) && window <= interval,
      "scan window is not within 2.5 ms to its interval")
  }

  /// One advertisement at one scanner whose window is open.
  mutating func report(
    _ set: AdvertisingSet, of advertiser: ControllerIdentifier, to scanner: ControllerIdentifier, signal: Double,
    _ outputs: inout [RadioOutput]
  ) {
    guard let controller = controllers[scanner], let parameters = controller.scanner?.parameters else { return }
    var draws = set.draws(DrawPurpose.advertisementAtScanner, at: set.next, controller.number)
    guard let heard = physics.receive(signal, &draws) else { return }
    let strength = controllers[advertiser]?.manners.strength ?? heard
    // The request one way and the response the other way.
    let isAnswered =
      parameters.isActive && physics.receive(signal, &draws) != nil && physics.receive(signal, &draws) != nil
    let report = AdvertisementReport(
      address: set.parameters.ownAddress.address(at: now), data: set.parameters.data,
      scanResponse: isAnswered ? set.parameters.scanResponse : nil, isConnectable: set.parameters.isConnectable,
      rssi: strength)
    guard controllers[scanner]?.scanner?.admits(report) == true else { return }
    outputs.append(RadioOutput(scanner, .advertisement(report)))
  }
}
