import Journal
import JournalEvents
import Stories
import TimeTypes

/// Draws up the scene of a story from its timeline.
struct SceneBuilder {
  /// The lanes of a machine, in this order from top to bottom.
  private enum Subject: Hashable, Comparable {
    case people
    case range(String)
    case link(String)
    case bluetooth
    case daemon
    case app(String)
    case door
    case bolt

    /// Whether the lane shows nothing while the machine is off, because the machine's own band shows that.
    var isOffWithMachine: Bool {
      switch self {
      case .daemon, .app, .bluetooth: true
      case .people, .range, .link, .door, .bolt: false
      }
    }

    var name: String {
      switch self {
      case .people: "what happens"
      case .range(let other): "range of \(other)"
      case .link(let other): "link to \(other)"
      case .bluetooth: "Bluetooth"
      case .daemon: "latchkeyd"
      case .app(let identifier): Words.app(identifier).replacing("the ", with: "", maxReplacements: 1)
      case .door: "door"
      case .bolt: "bolt"
      }
    }
  }

  private struct Key: Hashable {
    var machine: String
    var subject: Subject
  }

  private var tracks: [Key: Track] = [:]
  private var marks: [Key: [PictureScene.Mark]] = [:]
  private var machines: [String]
  private var scene = PictureScene()
  private var narrator = Narrator()
  private var simulated: Set<String> = []
  /// The machines that are switched off.
  private var down: Set<String> = []

  static func scene(of report: Report) -> PictureScene {
    var builder = SceneBuilder(machines: report.stage?.map(\.name) ?? [])
    for (index, entry) in report.timeline.enumerated() { builder.take(entry, index) }
    let end = max(
      report.timeline.map(\.instant).max() ?? .zero, Instant(nanoseconds: Int64(report.virtualSeconds * 1e9)))
    builder.addRanges(RadioRange.bands(of: report, until: end))
    return builder.finished(at: end)
  }

  private init(machines: [String]) { self.machines = machines }

  private mutating func change(
    _ machine: String, _ subject: Subject, to state: PictureScene.State?, _ label: String = "", at now: Instant
  ) {
    note(machine)
    // When a machine goes off, everything on it ends. A later record of such an end is not shown.
    if down.contains(machine), subject.isOffWithMachine { return }
    tracks[Key(machine: machine, subject: subject), default: Track()].change(to: state, label, at: now)
  }

  private mutating func note(_ machine: String) {
    if !machine.isEmpty, !machines.contains(machine) { machines.append(machine) }
  }

  private mutating func take(_ entry: JournalEntry, _ index: Int) {
    let now = entry.instant
    let deed = narrator.tell(entry)
    var subject = Subject.people
    if let event = entry.event(as: Recorded.Story.self) {
      take(event, entry)
    } else if let event = entry.event(as: Recorded.Radio.self) {
      subject = take(event, entry) ?? .bluetooth
    } else if let event = entry.event(as: Recorded.Lock.self) {
      subject = take(event, entry) ?? .app(Recorded.lockIdentifier)
    } else if let event = entry.event(as: Recorded.Daemon.self) {
      subject = take(event, entry) ?? .daemon
    } else if entry.process == Recorded.agent {
      subject = .app(Recorded.agentIdentifier)
    }
    guard let deed, deed.kind != .chapter else { return }
    note(deed.place)
    let mark = PictureScene.Mark(at: now, kind: deed.kind, text: deed.text, entry: index)
    marks[Key(machine: deed.place.isEmpty ? machines.first ?? "" : deed.place, subject: subject), default: []].append(
      mark)
  }

  private mutating func take(_ event: Recorded.Story, _ entry: JournalEntry) {
    let now = entry.instant
    switch event {
    case .chapterBegan: scene.chapters.append(.init(name: entry[.name] ?? entry.message, from: now))
    case .appHung: entry[.app].map { change(entry.machine, .app($0), to: .hung, "hangs", at: now) }
    case .appContinued: entry[.app].map { change(entry.machine, .app($0), to: .running, "runs", at: now) }
    case .daemonKilled: change(entry.machine, .daemon, to: nil, at: now)
    case .machineDown:
      down.insert(entry.machine)
      for key in tracks.keys where key.machine == entry.machine && key.subject.isOffWithMachine {
        tracks[key]?.change(to: .down, "machine off", at: now)
      }
    case .machineUp:
      down.remove(entry.machine)
      for key in tracks.keys where key.machine == entry.machine && key.subject.isOffWithMachine {
        tracks[key]?.change(to: nil, at: now)
      }
    case .fault:
      guard let door = entry[.door] else { break }
      change(entry.machine, .door, to: door == "open" ? .open : nil, "open", at: now)
    default: break
    }
  }

  private mutating func take(_ event: Recorded.Radio, _ entry: JournalEntry) -> Subject? {
    let now = entry.instant
    let machine = entry.place
    switch event {
    case .linkUp, .linkDown:
      guard let (place, other) = Narrator.ends(entry) else { return nil }
      change(place, .link(other), to: event == .linkUp ? .linked : nil, "connected", at: now)
      return .link(other)
    case .adapterPowered:
      simulated.insert(machine)
      let isOn = entry[.on] == "true"
      change(machine, .bluetooth, to: isOn ? .on : .off, isOn ? "on" : "off", at: now)
    case .bluetoothdStopped: change(machine, .bluetooth, to: .off, "bluetoothd is down", at: now)
    default: break
    }
    return nil
  }

  private mutating func take(_ event: Recorded.Lock, _ entry: JournalEntry) -> Subject? {
    let position: String?
    switch event {
    case .started: position = entry[.bolt]
    case .boltMoved: position = entry[.to]
    case .boltJammed: position = "jammed"
    default: return nil
    }
    let state: PictureScene.State? =
      switch position {
      case "locked": .locked
      case "unlocked": .unlocked
      case "jammed": .jammed
      default: nil
      }
    change(entry.machine, .bolt, to: state, position ?? "", at: entry.instant)
    return event == .started ? nil : .bolt
  }

  private mutating func take(_ event: Recorded.Daemon, _ entry: JournalEntry) -> Subject? {
    let now = entry.instant
    let machine = entry.machine
    let app = entry[.app].map { Subject.app($0) }
    switch event {
    case .started: change(machine, .daemon, to: .running, "runs", at: now)
    case .stopped: change(machine, .daemon, to: nil, at: now)
    case .bluetoothState:
      guard !simulated.contains(machine) else { break }
      let isOn = entry[.state] == "poweredOn"
      change(machine, .bluetooth, to: isOn ? .on : .off, isOn ? "on" : "off", at: now)
      return .bluetooth
    case .appLaunched, .appResumed: app.map { change(machine, $0, to: .running, "runs", at: now) }
    case .appSuspended: app.map { change(machine, $0, to: .suspended, "suspended", at: now) }
    case .appEnded: app.map { change(machine, $0, to: nil, at: now) }
    default: break
    }
    return app
  }

  private mutating func addRanges(_ ranges: [RadioRange.Bands]) {
    for range in ranges {
      note(range.machine)
      var track = Track()
      for band in range.bands {
        track.change(to: band.isNear ? .near : nil, "in range", at: band.from)
      }
      tracks[Key(machine: range.machine, subject: .range(range.other))] = track
    }
  }

  private mutating func finished(at end: Instant) -> PictureScene {
    for key in tracks.keys { tracks[key]?.end(at: end) }
    scene.end = end
    let keys = Set(tracks.keys).union(marks.keys)
    for machine in machines {
      for key in keys.filter({ $0.machine == machine }).sorted(by: { $0.subject < $1.subject }) {
        scene.lanes.append(
          .init(
            machine: machine, name: key.subject.name, bands: tracks[key]?.bands ?? [], marks: marks[key] ?? []))
      }
    }
    return scene
  }
}
