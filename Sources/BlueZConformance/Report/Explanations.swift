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
      steps: [
        "it goes and comes", "shut down and booted", "the lock's bluetoothd is new, and serves nothing",
        "registered, and bluetoothd restarts", "the lock's bluetoothd goes and comes, its application registers",
        "a write, and the link drops",
      ],
      simulator: ["Release(", " = ", "bluetoothd "], bluetoothd: ["Release(", " = ", "+ ", "- ", "bluetoothd "],
      heading: "How bluetoothd comes and goes"),
    Explanation(
      in: "the phone's bluetoothd is killed", steps: ["back in range", "the profile is registered again"],
      simulator: [" = ", "+ "], bluetoothd: [" = ", "+ "], heading: "What a killed bluetoothd had begun"),
    Explanation(
      steps: ["agents register"], simulator: ["adapter Pairable = true"],
      heading: "What a machine's kernel keeps"),
    Explanation(
      in: "what attributes refuse", simulator: ["<515 bytes>"], bluetoothd: ["<515 bytes>"],
      heading: "Order among things that happen at once"),
    Explanation(
      in: "pair, with a passkey", simulator: ["Bonded", "Paired", "ServicesResolved", "UUIDs", "< lock.Pair()"],
      bluetoothd: ["Bonded", "Paired", "ServicesResolved", "UUIDs", "< lock.Pair()"],
      heading: "Order among things that happen at once"),
    Explanation(
      in: "the adapter is switched off and on", simulator: ["< adapter.Set("], bluetoothd: ["< adapter.Set("],
      heading: "Order among things that happen at once"),
    Explanation(
      in: "the controller is unplugged and back", steps: ["back"], simulator: ["adapter "], bluetoothd: ["adapter "],
      heading: "How bluetoothd comes and goes"),
    Explanation(
      in: "the lock's application dies while connected", simulator: ["lock UUIDs"], bluetoothd: ["lock UUIDs"],
      heading: "Order among things that happen at once"),
    Explanation(
      in: "a service comes and goes", simulator: ["lock UUIDs"], bluetoothd: ["lock UUIDs"],
      heading: "Order among things that happen at once"),
    Explanation(
      in: "encrypted, with agents", simulator: ["secret.ReadValue("], bluetoothd: ["secret.ReadValue("],
      heading: "Order among things that happen at once"),
    Explanation(
      in: "the bond is removed", steps: ["found again, and paired anew"], simulator: ["> lock.Pair()"],
      bluetoothd: ["> lock.Pair()"], heading: "Order among things that happen at once"),
  ]
}
