import BlueZ
import BusValue
import Radio
import TimeTypes

/// AdvertisementMonitorManager1: clients' monitors, and the devices each has found (src/adv_monitor.c, for a
/// controller that compares nothing by itself).
struct Monitors: Sendable {
  /// How many lists of patterns the kernel accepts (HCI_MAX_ADV_MONITOR_NUM_HANDLES), and how many monitors there may
  /// be in all. The second limit is this model's; bluetoothd has none.
  static let patternsLimit = 32
  static let monitorLimit = 1024

  static let properties: Properties = {
    var properties = PropertyValues<AdvertisementMonitorManager1>()
    properties.supportedMonitorTypes = [monitorType]
    properties.supportedFeatures = []
    return properties.all
  }()
  static let monitorType = "or_patterns"

  private var roots: [Root] = []

  struct Root: Sendable {
    var client: ClientIdentifier
    var path: ObjectPath
    var monitors: [Monitor] = []
  }

  struct Monitor: Sendable {
    var path: ObjectPath
    var thresholds: MonitorThresholds
    var patterns: [MonitorPattern]
    var tracked: [ObjectPath: Tracked] = [:]
  }

  /// A device that a monitor with thresholds has heard. Times are in whole seconds, as in bluetoothd.
  struct Tracked: Sendable {
    var isFound = false
    var aboveSince: Int64?
    var belowSince: Int64?
    var lastSeen: Int64?
    /// When the device is lost unless it is heard.
    var deadline: Instant?
  }

  /// The position of a monitor in the lists.
  struct Place: Sendable, Hashable {
    var root: Int
    var monitor: Int
  }

  private var places: [Place] {
    roots.indices.flatMap { root in roots[root].monitors.indices.map { Place(root: root, monitor: $0) } }
  }

  private subscript(_ place: Place) -> Monitor {
    get { roots[place.root].monitors[place.monitor] }
    set { roots[place.root].monitors[place.monitor] = newValue }
  }

  /// Adds the next deadline of each device.
  func add(to deadlines: inout Deadlines) {
    var next: [ObjectPath: Instant] = [:]
    for monitor in roots.lazy.flatMap(\.monitors) {
      for (path, device) in monitor.tracked {
        if let deadline = device.deadline { next[path] = min(next[path] ?? deadline, deadline) }
      }
    }
    for (path, deadline) in next.sorted(by: { $0.key < $1.key }) { deadlines.add(deadline, .monitored(path)) }
  }
}

/// What clients register.
extension Monitors {
  /// Returns the notices that the client gets before the call's answer, and those that come after it, because they
  /// depend on the kernel. Returns `nil` if the client has already registered this root.
  mutating func register(
    _ root: ObjectPath, _ objects: ManagedObjects, of client: ClientIdentifier
  ) -> (before: [Notice], after: [Notice])? {
    guard index(of: root, client) == nil else { return nil }
    roots.append(Root(client: client, path: root))
    var (before, after): ([Notice], [Notice]) = ([], [])
    for path in objects.keys.sorted() {
      guard let monitor = PropertyValues<AdvertisementMonitor1>(objects[path]) else { continue }
      let outcome = take(path, monitor, below: root, of: client)
      if outcome.asksKernel {
        after.append(outcome.notice(client, path))
      } else {
        before.append(outcome.notice(client, path))
      }
    }
    return (before, after)
  }

  /// Returns what the root's monitors are told, or `nil` if the root is unknown.
  mutating func unregister(_ root: ObjectPath, of client: ClientIdentifier) -> [Notice]? {
    index(of: root, client).map { Self.releases(of: roots.remove(at: $0)) }
  }

  /// Returns what the monitor is told. `nil` if the root is unknown or the monitor is already known.
  mutating func add(
    _ path: ObjectPath, _ properties: Properties, below root: ObjectPath, of client: ClientIdentifier
  ) -> Notice? {
    guard let index = index(of: root, client), !roots[index].monitors.contains(where: { $0.path == path }) else {
      return nil
    }
    return take(path, PropertyValues(properties), below: root, of: client).notice(client, path)
  }

  /// Removes a monitor. It is not told, because its object is gone. Returns `false` if the root is unknown.
  mutating func remove(_ path: ObjectPath, below root: ObjectPath, of client: ClientIdentifier) -> Bool {
    guard let index = index(of: root, client) else { return false }
    roots[index].monitors.removeAll { $0.path == path }
    return true
  }

  /// Returns whether the client had any monitors.
  mutating func forget(_ client: ClientIdentifier) -> Bool {
    let before = roots.count
    roots.removeAll { $0.client == client }
    return roots.count != before
  }

  /// What all monitors are told when bluetoothd ends or the adapter is removed.
  var releases: [Notice] { roots.flatMap(Self.releases) }

  /// The kernel's scan for monitors while no client is discovering: passive, without a filter of duplicates.
  var scan: ScanParameters? {
    guard roots.contains(where: { !$0.monitors.isEmpty }) else { return nil }
    return ScanParameters(
      interval: .milliseconds(60), window: .milliseconds(30), isActive: false, filtersDuplicates: false)
  }

  private func index(of root: ObjectPath, _ client: ClientIdentifier) -> Int? {
    roots.firstIndex { $0.client == client && $0.path == root }
  }

  private static func releases(of root: Root) -> [Notice] {
    root.monitors.map { Outcome.released.notice(root.client, $0.path) }
  }

  private enum Outcome {
    /// The monitor is invalid.
    case released
    /// The kernel refuses the monitor.
    case refused
    /// The kernel accepts the monitor.
    case added
    /// The kernel already compares with these patterns.
    case joined

    var asksKernel: Bool { self == .refused || self == .added }

    func notice(_ client: ClientIdentifier, _ path: ObjectPath) -> Notice {
      switch self {
      case .released, .refused:
        Notice(client: client, path: path, callback: .release(interface: AdvertisementMonitor1.interface))
      case .added, .joined: Notice(client: client, path: path, callback: .monitor(.activate))
      }
    }
  }

  private mutating func take(
    _ path: ObjectPath, _ monitor: PropertyValues<AdvertisementMonitor1>, below root: ObjectPath,
    of client: ClientIdentifier
  ) -> Outcome {
    guard monitor.type == Self.monitorType, let thresholds = MonitorThresholds(monitor),
      let patterns = MonitorPattern.read(monitor.patterns), let index = index(of: root, client)
    else { return .released }
    let all = places.map { self[$0] }
    let same = all.filter { $0.patterns == patterns }.map(\.thresholds)
    guard patterns.count <= MonitorPattern.countLimit, all.count < Self.monitorLimit,
      !same.isEmpty || Set(all.map(\.patterns)).count < Self.patternsLimit
    else { return .refused }
    roots[index].monitors.append(Monitor(path: path, thresholds: thresholds, patterns: patterns))
    let isKnown = MonitorThresholds.merged(same) == MonitorThresholds.merged(same + [thresholds])
    return !same.isEmpty && isKnown ? .joined : .added
  }
}

/// What is heard.
extension Monitors {
  func matching(_ report: AdvertisementReport) -> [Place] {
    guard !roots.isEmpty else { return [] }
    let structures = MonitorPattern.structures(report.data) + MonitorPattern.structures(report.scanResponse ?? [])
    return places.filter { place in
      self[place].patterns.contains { pattern in
        structures.contains { pattern.matches($0.kind, $0.body) }
      }
    }
  }

  /// A device that matches some monitors was heard.
  mutating func heard(_ device: ObjectPath, rssi: Int8, by places: [Place], at now: Instant) -> [Notice] {
    places.flatMap { place in heard(device, Int(rssi), by: place, at: now).map { notice($0, place) } }
  }

  private mutating func heard(_ device: ObjectPath, _ rssi: Int, by place: Place, at now: Instant) -> [MonitorCall] {
    let thresholds = self[place].thresholds
    guard thresholds != .none else { return [.deviceFound(device)] }
    var tracked = self[place].tracked[device] ?? Tracked()
    let seconds = now.nanoseconds / 1_000_000_000
    if let last = tracked.lastSeen {
      if seconds - last > thresholds.highSeconds { tracked.aboveSince = nil }
      if seconds - last > thresholds.lowSeconds { tracked.belowSince = nil }
    }
    tracked.lastSeen = seconds
    var news: [MonitorCall] = []
    let isAbove = !tracked.isFound && rssi > thresholds.high
    if isAbove, let since = tracked.aboveSince, seconds - since >= thresholds.highSeconds {
      tracked.isFound = true
      news.append(.deviceFound(device))
    }
    tracked.aboveSince = isAbove ? tracked.aboveSince ?? seconds : nil
    let isBelow = tracked.isFound && rssi < thresholds.low
    if isBelow, let since = tracked.belowSince, seconds - since >= thresholds.lowSeconds {
      tracked.isFound = false
      news.append(.deviceLost(device))
    }
    tracked.belowSince = isBelow ? tracked.belowSince ?? seconds : nil
    tracked.deadline = tracked.isFound ? now + .seconds(thresholds.lowSeconds) : nil
    self[place].tracked[device] = tracked
    return news
  }

  private func notice(_ call: MonitorCall, _ place: Place) -> Notice {
    Notice(client: roots[place.root].client, path: self[place].path, callback: .monitor(call))
  }

  /// A device was not heard for as long as some monitor allows.
  mutating func timedOut(_ device: ObjectPath, at now: Instant) -> [Notice] {
    var notices: [Notice] = []
    for place in places {
      guard let deadline = self[place].tracked[device]?.deadline, deadline <= now else { continue }
      self[place].tracked[device]?.deadline = nil
      self[place].tracked[device]?.isFound = false
      notices.append(notice(.deviceLost(device), place))
    }
    return notices
  }

  /// Reports everything found as lost. bluetoothd 5.82 does not clear its "found" mark here, so a device is reported
  /// as found again only after it was lost once more.
  mutating func losePower() -> [Notice] {
    var notices: [Notice] = []
    for place in places {
      for device in self[place].tracked.keys.sorted() where self[place].tracked[device]?.deadline != nil {
        self[place].tracked[device]?.deadline = nil
        notices.append(notice(.deviceLost(device), place))
      }
    }
    return notices
  }

  /// A device that was removed is no longer tracked, and not reported.
  mutating func forget(_ device: ObjectPath) {
    for place in places { self[place].tracked[device] = nil }
  }
}

extension BlueZModel {
  mutating func registerMonitor(_ root: ObjectPath, _ objects: ManagedObjects, _ pending: PendingCall) {
    guard let (before, after) = monitors.register(root, objects, of: pending.client) else {
      return reply(to: pending, .failure(.alreadyExists))
    }
    tell(before)
    reply(to: pending, .success(.none))
    tell(after)
    refreshMonitoring()
  }

  mutating func unregisterMonitor(_ root: ObjectPath, from client: ClientIdentifier) -> Result<Reply, BlueZError> {
    guard let notices = monitors.unregister(root, of: client) else { return .failure(.doesNotExist) }
    tell(notices)
    refreshMonitoring()
    return .success(.none)
  }

  mutating func monitorAdded(
    _ path: ObjectPath, _ properties: Properties, below root: ObjectPath, of client: ClientIdentifier
  ) {
    guard let notice = monitors.add(path, properties, below: root, of: client) else { return }
    tell([notice])
    refreshMonitoring()
  }

  /// The kernel's scan while no client is discovering.
  var monitoringScan: ScanParameters? { adapter.isPowered ? monitors.scan : nil }

  mutating func refreshMonitoring() {
    if !discovery.isActive { tellScan(monitoringScan) }
  }
}
