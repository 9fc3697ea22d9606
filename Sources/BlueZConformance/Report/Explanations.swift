/// Why a difference between the simulator and bluetoothd stays.
public struct Explanation: Sendable, Hashable, CustomStringConvertible {
  /// `nil`: in every case.
  public var caseName: String?
  /// The steps it is about; `nil`: every one.
  public var steps: [String]?
  /// Which lines: each of these fits those that contain all of it.
  public var simulator: [String]
  public var bluetoothd: [String]
  /// The heading under which docs/bluez.md explains it.
  public var heading: String

  public init(
    in caseName: String? = nil, steps: [String]? = nil, simulator: [String] = [], bluetoothd: [String] = [],
    heading: String
  ) {
    self.caseName = caseName
    self.steps = steps
    self.simulator = simulator
    self.bluetoothd = bluetoothd
    self.heading = heading
  }

  func explains(_ difference: Difference) -> Bool {
    guard caseName == nil || caseName == difference.caseName, steps?.contains(difference.step) != false else {
      return false
    }
    let parts = difference.side == .onlySimulator ? simulator : bluetoothd
    return parts.contains { difference.line.contains($0) }
  }

  public var description: String {
    "\"\(heading)\" in \(caseName ?? "any case"), \(steps?.joined(separator: ", ") ?? "any step"): "
      + "simulator \(simulator), bluetoothd \(bluetoothd)"
  }

  /// All that are known. Each names a heading under "Where the simulator differs" in docs/bluez.md.
  public static let known: [Explanation] = [
    Explanation(
      in: "the lock's bluetoothd is restarted", steps: ["it goes and comes"], bluetoothd: ["lock Connected = "],
      heading: "How bluetoothd comes and goes"),
    Explanation(
      in: "the lock's bluetoothd is restarted", steps: ["the application registers again"],
      simulator: ["bluetoothd: offer.StartNotify()"], heading: "How bluetoothd comes and goes"),
    Explanation(
      in: "the link drops while the lock's services change",
      steps: ["the lock's bluetoothd is new, and serves nothing"], bluetoothd: ["lock Connected = "],
      heading: "How bluetoothd comes and goes"),
    Explanation(
      in: "the phone's bluetoothd is killed", steps: ["back in range", "the profile is registered again"],
      simulator: [" = ", "+ "], bluetoothd: [" = ", "+ "], heading: "What a killed bluetoothd had begun"),
    Explanation(
      steps: ["agents register"], simulator: ["adapter Pairable = true"],
      heading: "What a machine's kernel keeps"),
  ]
}
