/// Why a difference between the simulator and bluetoothd is accepted.
package struct Explanation: Sendable, Hashable, CustomStringConvertible {
  /// The case, or `nil` for every case.
  package var caseName: String?
  /// The steps, or `nil` for all steps.
  package var steps: [String]?
  /// The lines of each side that the explanation is about: each text stands for all lines that contain it.
  package var simulator: [String]
  package var bluetoothd: [String]
  /// Lines that both transcripts have, at different places.
  package var moved: [String]
  /// The heading under which docs/bluez.md explains it.
  package var heading: String
  /// Whether the difference may or may not occur from run to run. Such an explanation need not match anything.
  package var isChance: Bool

  package init(
    in caseName: String? = nil, steps: [String]? = nil, simulator: [String] = [], bluetoothd: [String] = [],
    moved: [String] = [], heading: String, isChance: Bool = false
  ) {
    self.caseName = caseName
    self.steps = steps
    self.simulator = simulator
    self.bluetoothd = bluetoothd
    self.moved = moved
    self.heading = heading
    self.isChance = isChance
  }

  /// - Parameter isMove: whether the other transcript also has the line, at another place of the same column.
  func explains(_ difference: Difference, isMove: Bool) -> Bool {
    guard caseName == nil || caseName == difference.caseName, steps?.contains(difference.step) != false else {
      return false
    }
    let parts = (difference.side == .onlySimulator ? simulator : bluetoothd) + (isMove ? moved : [])
    return parts.contains { difference.line.contains($0) }
  }

  package var description: String {
    "\"\(heading)\" in \(caseName ?? "any case"), \(steps?.joined(separator: ", ") ?? "any step"): "
      + "simulator \(simulator), bluetoothd \(bluetoothd), moved \(moved)"
  }

  /// All known explanations. Each names a heading under "Where the simulator differs" in docs/bluez.md.
  package static let known: [Explanation] = [
    linkToTheEnd(in: "the lock's bluetoothd is restarted"), linkToTheEnd(in: "the lock's bluetoothd is killed"),
    subscribedAgain(in: "the lock's bluetoothd is killed"),
    subscribedAgain(in: "the lock's bluetoothd is restarted"),
    Explanation(
      in: "the link drops while the lock's services change",
      steps: ["the lock's bluetoothd is new, and serves nothing"], bluetoothd: ["lock Connected = "],
      heading: chance, isChance: true),
    linkAcrossRestart(in: "the lock's bluetoothd is killed"),
    linkAcrossRestart(in: "the lock's bluetoothd is restarted"),
    pluggedIn("adapter", steps: ["back"], in: "the controller is unplugged and back"),
    pluggedIn("adapter", steps: ["it is back"], in: "the first adapter goes, and the second stays"),
    // How many of them one Service Changed covers, and so how often the list of services grows, is chance.
    Explanation(
      in: "a read while many services come", steps: ["they come"], simulator: ["lock UUIDs = "],
      bluetoothd: ["lock UUIDs = "], moved: ["lock/door/offer", "+ lock/c0f0e"], heading: chance, isChance: true),
    // Whether the value comes before the lock's bluetoothd has the link's attribute protocol, or just after it.
    Explanation(
      in: "used too early", steps: ["back"],
      bluetoothd: ["lock/door/offer Value = <000102030405060708090a0b0c0d0e0f1011>"],
      heading: chance, isChance: true),
    Explanation(
      in: "a long write before the MTU is agreed on", steps: ["back"], moved: ["phone ServicesResolved = true"],
      heading: chance, isChance: true),
    // A machine that boots slowly can be reached when its bluetoothd has added all its objects.
    Explanation(
      in: "the phone reboots", steps: ["shut down and booted"],
      simulator: [
        "+ adapter ", "+ lock Device1", "+ manager AgentManager1", "adapter PowerState = ", "adapter Powered = ",
      ], heading: chance, isChance: true),
    // bluetoothd tells a property that changed twice once or twice, as its main loop comes to it in between.
    Explanation(
      in: "the lock's application dies while away", steps: ["the application is another"],
      simulator: ["adapter UUIDs = "], bluetoothd: ["adapter UUIDs = "], heading: chance, isChance: true),
    Explanation(
      in: "two centrals subscribe", steps: ["a value"], moved: ["lock/door/offer Value = "], heading: chance,
      isChance: true),
    // The first adapter's device, which was only found, vanishes after half a minute.
    Explanation(
      in: "an agent is for all adapters, a bond for one", bluetoothd: ["- lock Device1"], heading: chance,
      isChance: true),
    Explanation(
      in: "the first adapter goes, and the second stays", steps: ["both again"],
      bluetoothd: ["- adapter#2/lock Device1"],
      heading: chance, isChance: true),
    // The answer and the loss of the link come to bluetoothd from the kernel on two sockets.
    Explanation(
      in: "each adapter serves and advertises by itself", steps: ["the first is switched off"],
      moved: ["adapter.Set(org.bluez.Adapter1, Powered, false): ok"], heading: chance, isChance: true),
    namesAreRead(in: "each adapter serves and advertises by itself", step: "the phone connects"),
    namesAreRead(in: "the lock's application dies while connected", step: "the phone pairs and subscribes"),
    namesAreRead(in: "the lock's application dies while away", step: "the phone pairs and subscribes"),
    namesAreRead(in: "fixed handles, the application dies while away", step: "the phone pairs and subscribes"),
    // Which of two advertisers is heard first, and which of two devices loses its signal strength first.
    Explanation(
      in: "each adapter serves and advertises by itself", steps: ["the phone finds it"],
      moved: ["lock RSSI is there", "lock RSSI is gone", "lock#2 RSSI is gone"], heading: chance, isChance: true),
    pluggedIn(
      "adapter#2",
      steps: ["the phone's second controller is plugged in", "the lock's second controller is plugged in"]),
    pluggedIn("adapter#2", steps: ["bluetoothd is restarted"], in: "a second adapter comes and goes"),
    // The requests of one side and the reports of a loss are independent of each other.
    Explanation(
      in: "a battery", steps: ["the phone pairs"], moved: ["phone Modalias = "], heading: chance, isChance: true),
    Explanation(
      in: "a battery of a device, and one that a client provides", steps: ["the phone pairs", "connected again"],
      moved: ["phone Modalias = ", "phone ServicesResolved = true", "bluetoothd: level.ReadValue("], heading: chance,
      isChance: true),
    Explanation(
      in: "encrypted, with agents", steps: ["read what needs encryption"],
      moved: ["lock/door/secret Value = ", "bluetoothd: secret.ReadValue("], heading: chance, isChance: true),
    // After the discovery the monitor's scan hears the lock, before or after the next step begins.
    Explanation(
      in: "a passive scan", steps: ["a discovery beside it", "and after it"], simulator: ["lock RSSI is there"],
      bluetoothd: ["lock RSSI is there"], heading: chance, isChance: true),
    // What the other side sees of the link that `Connect` makes is chance.
    Explanation(
      in: "a device that is blocked", steps: ["Connect", "Pair", "connected"],
      simulator: ["phone Connected = ", "+ phone Device1", "- phone Device1"],
      bluetoothd: ["phone Connected = ", "phone ServicesResolved = "],
      moved: ["phone Connected = "], heading: "A link to a blocked device"),
    // A scan response that is lost comes with the next advertisement.
    Explanation(
      in: "an advertisement that changes", steps: ["the phone listens"],
      simulator: ["+ lock Device1 Alias=", "lock Alias = first", "lock Name = first"],
      bluetoothd: ["+ lock Device1 Alias=first", "+ lock Device1 Name=first"], heading: chance, isChance: true),
  ]

  /// A client calls when it sees that services are resolved, and bluetoothd reads the device's names at that time.
  private static func namesAreRead(in caseName: String, step: String) -> Explanation {
    Explanation(
      in: caseName, steps: [step], moved: ["> lock/door/offer.", "lock Alias = ", "lock Name = ", "lock Modalias = "],
      heading: chance, isChance: true)
  }

  /// A phone may connect to a lock whose bluetoothd is just ending, and lose it again.
  private static func linkToTheEnd(in caseName: String) -> Explanation {
    Explanation(
      in: caseName, steps: ["it goes and comes"], bluetoothd: ["lock Connected = "], heading: chance, isChance: true)
  }

  /// What the lock's next bluetoothd shows of a link that exists, or is made, while there is no bluetoothd. It may
  /// appear between the adapter's interfaces.
  private static func linkAcrossRestart(in caseName: String) -> Explanation {
    let lines = ["+ phone Device1 Connected=", "phone Connected = "]
    return Explanation(
      in: caseName, steps: ["it goes and comes"], simulator: lines, bluetoothd: lines,
      moved: ["+ adapter LEAdvertisingManager1"], heading: chance, isChance: true)
  }

  /// The first link after the restart may be lost again. Then bluetoothd may have lost the session as well.
  private static func subscribedAgain(in caseName: String) -> Explanation {
    let lines = ["bluetoothd: offer.StartNotify()", "phone Connected = ", "lock Connected = "]
    return Explanation(
      in: caseName, steps: ["the application registers again", "the phone subscribes once more"], simulator: lines,
      bluetoothd: lines, moved: lines, heading: chance, isChance: true)
  }

  /// An adapter that is plugged in, or found by a bluetoothd that starts, is on when it is added, or a moment later.
  private static func pluggedIn(_ adapter: String, steps: [String], in caseName: String? = nil) -> Explanation {
    let lines = [
      "+ \(adapter) Adapter1 PowerState=", "+ \(adapter) Adapter1 Powered=", "+ \(adapter) Adapter1 Pairable=",
      "\(adapter) PowerState = on", "\(adapter) Powered = true", "\(adapter) Pairable = true",
    ]
    return Explanation(
      in: caseName, steps: steps, simulator: lines, bluetoothd: lines, heading: chance, isChance: true)
  }

  private static let chance = "What is chance"
}
