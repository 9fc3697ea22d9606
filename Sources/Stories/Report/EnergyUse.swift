import Journal
import JournalEvents

/// What a story cost one machine: how often its apps were woken and for how long, and how long its radio was on. The radio's
/// time is computed from what the machine did, by the shares below; nothing measures it.
package struct EnergyUse: Sendable, Codable, Equatable {
  package var machine: String
  /// From the first event of the story to the last, in seconds.
  package var seconds: Double
  /// How often latchkeyd started or resumed an app.
  package var wakes = 0
  /// How long these wakes took, as far as they have ended, in seconds.
  package var awakeSeconds = 0.0
  /// How long the machine had links.
  package var linkSeconds = 0.0
  /// How long it waited for a link, as the side that connects.
  package var scanSeconds = 0.0
  /// How long it advertised.
  package var advertisingSeconds = 0.0

  /// The scan for devices that are waited for listens 30 ms of each 60 ms.
  package static let scanShare = 0.5
  /// 1.8 ms for an advertisement on three channels, each 152.5 ms.
  package static let advertisingShare = 1.8 / 152.5
  /// 0.3 ms for an event without data, each 30 ms.
  package static let linkShare = 0.3 / 30

  /// How long the radio was on, by the model, in seconds.
  package var radioSeconds: Double {
    scanSeconds * Self.scanShare + advertisingSeconds * Self.advertisingShare + linkSeconds * Self.linkShare
  }

  /// The use of each machine that had a link, in alphabetical order.
  /// - Parameter entries: in order of time.
  package static func of(_ entries: [JournalEntry]) -> [EnergyUse] {
    var machines: [String: Machine] = [:]
    guard let first = entries.first?.t else { return [] }
    var last = first
    for entry in entries {
      last = max(last, entry.t)
      take(entry, &machines, first)
    }
    return machines.keys.sorted().compactMap { name in
      guard var machine = machines[name], machine.isCentral || machine.isPeripheral else { return nil }
      machine.pass(until: last)
      machine.use.seconds = Double(last - first) / 1e9
      return machine.use
    }
  }

  private struct Machine {
    var use: EnergyUse
    var isOn = true
    var isCentral = false
    var isPeripheral = false
    var links = 0
    var since: Int64
    /// Whether it seems to wait for its first link, by its apps' requests or services. That time counts only once the
    /// machine has had a link.
    var mayScan = false
    var mayAdvertise = false
    private var unprovenScanSeconds = 0.0
    private var unprovenAdvertisingSeconds = 0.0

    init(name: String, since: Int64) {
      use = EnergyUse(machine: name, seconds: 0)
      self.since = since
    }

    mutating func connects() {
      if !isCentral { use.scanSeconds += unprovenScanSeconds }
      isCentral = true
      links += 1
    }

    mutating func isConnected() {
      if !isPeripheral { use.advertisingSeconds += unprovenAdvertisingSeconds }
      isPeripheral = true
      links += 1
    }

    mutating func pass(until t: Int64) {
      let seconds = Double(max(t - since, 0)) / 1e9
      since = max(t, since)
      guard isOn else { return }
      if links > 0 {
        use.linkSeconds += seconds
      } else if isCentral {
        use.scanSeconds += seconds
      } else if mayScan {
        unprovenScanSeconds += seconds
      }
      if isPeripheral {
        use.advertisingSeconds += seconds
      } else if mayAdvertise {
        unprovenAdvertisingSeconds += seconds
      }
    }
  }

  private static func take(_ entry: JournalEntry, _ machines: inout [String: Machine], _ first: Int64) {
    func change(_ name: String?, _ body: (inout Machine) -> Void) {
      guard let name, !name.isEmpty else { return }
      var machine = machines[name] ?? Machine(name: name, since: first)
      machine.pass(until: entry.t)
      body(&machine)
      machines[name] = machine
    }
    switch entry.event(as: Recorded.Radio.self) {
    case .linkUp:
      change(entry[.central]) { $0.connects() }
      change(entry[.peripheral]) { $0.isConnected() }
    case .linkDown:
      for name in [entry[.central], entry[.peripheral]] { change(name) { $0.links = max($0.links - 1, 0) } }
    case .adapterPowered: change(entry[.machine]) { $0.isOn = entry[.on] == "true" }
    default: break
    }
    switch entry.event(as: Recorded.Daemon.self) {
    case .requestHeld: change(entry.machine) { $0.mayScan = true }
    case .managerCreated where entry[.role] == "peripheral": change(entry.machine) { $0.mayAdvertise = true }
    case .appLaunched, .appResumed: change(entry.machine) { $0.use.wakes += 1 }
    case .wakeEnded:
      let milliseconds = entry[.milliseconds].flatMap(Double.init) ?? 0
      change(entry.machine) { $0.use.awakeSeconds += milliseconds / 1000 }
    default: break
    }
  }
}
