import BlueZ
import BusValue
import Radio
import TimeTypes

/// AdvertisementMonitorManager1: clients' monitors, and whom each has found (src/adv_monitor.c, as of a controller that
/// compares nothing by itself).
struct MonitoringState: Sendable {
  /// How many lists of patterns the kernel takes (HCI_MAX_ADV_MONITOR_NUM_HANDLES), and how many monitors there may be in
  /// all, of which bluetoothd says nothing.
  static let patternsLimit = 32
  static let monitorLimit = 1024

  static let properties: Properties = {
    var properties = PropertyValues<AdvertisementMonitorManager1>()
    properties.supportedMonitorTypes = [monitorType]
    properties.supportedFeatures = []
    return properties.all
  }()
  static let monitorType = "or_patterns"

  var roots: [Root] = []

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

  /// A device that a monitor with thresholds has heard. Times are whole seconds, as bluetoothd's are.
  struct Tracked: Sendable {
    var isFound = false
    var aboveSince: Int64?
    var belowSince: Int64?
    var lastSeen: Int64?
    /// When it is lost unless it is heard.
    var deadline: Instant?
  }

  /// A monitor by its places.
  struct Place: Sendable, Hashable {
    var root: Int
    var monitor: Int
  }

  var places: [Place] {
    roots.indices.flatMap { root in roots[root].monitors.indices.map { Place(root: root, monitor: $0) } }
  }

  subscript(_ place: Place) -> Monitor {
    get { roots[place.root].monitors[place.monitor] }
    set { roots[place.root].monitors[place.monitor] = newValue }
  }

  /// The next one of each device.
  var deadlines: [(ObjectPath, Instant)] {
    var result: [ObjectPath: Instant] = [:]
    for monitor in roots.lazy.flatMap(\.monitors) {
      for (path, device) in monitor.tracked {
        if let deadline = device.deadline { result[path] = min(result[path] ?? deadline, deadline) }
      }
    }
    return result.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}

/// Clients' monitors.
extension BlueZModel {
  mutating func registerMonitor(_ root: ObjectPath, _ objects: ManagedObjects, _ pending: PendingCall) {
    guard !monitoring.roots.contains(where: { $0.client == pending.client && $0.path == root }) else {
      return reply(to: pending, .failure(.alreadyExists))
    }
    monitoring.roots.append(MonitoringState.Root(client: pending.client, path: root))
    var later: [(ObjectPath, MonitorOutcome)] = []
    for path in objects.keys.sorted() {
      guard let properties = objects[path]?[InterfaceName.advertisementMonitor] else { continue }
      let outcome = addMonitor(path, properties, below: root, of: pending.client)
      if outcome.asksKernel { later.append((path, outcome)) } else { tell(outcome, path, pending.client) }
    }
    reply(to: pending, .success(.none))
    // What the kernel has to say comes after the answer.
    for (path, outcome) in later { tell(outcome, path, pending.client) }
    refreshMonitoring()
  }

  mutating func unregisterMonitor(_ root: ObjectPath, from client: ClientIdentifier) -> Result<Reply, BlueZError> {
    guard let index = monitoring.roots.firstIndex(where: { $0.client == client && $0.path == root }) else {
      return .failure(.doesNotExist)
    }
    release(monitoring.roots.remove(at: index))
    refreshMonitoring()
    return .success(.none)
  }

  mutating func monitorAdded(
    _ path: ObjectPath, _ properties: Properties, below root: ObjectPath, of client: ClientIdentifier
  ) {
    guard let known = monitoring.roots.first(where: { $0.client == client && $0.path == root }),
      !known.monitors.contains(where: { $0.path == path })
    else { return }
    tell(addMonitor(path, properties, below: root, of: client), path, client)
    refreshMonitoring()
  }

  /// Its object is gone, and so is not told.
  mutating func monitorRemoved(_ path: ObjectPath, below root: ObjectPath, of client: ClientIdentifier) {
    guard let index = monitoring.roots.firstIndex(where: { $0.client == client && $0.path == root }) else { return }
    monitoring.roots[index].monitors.removeAll { $0.path == path }
    refreshMonitoring()
  }

  mutating func forgetMonitors(of client: ClientIdentifier) {
    let before = monitoring.roots.count
    monitoring.roots.removeAll { $0.client == client }
    if monitoring.roots.count != before { refreshMonitoring() }
  }

  mutating func releaseMonitors() {
    for root in monitoring.roots { release(root) }
  }

  private mutating func release(_ root: MonitoringState.Root) {
    for monitor in root.monitors { tell(.released, monitor.path, root.client) }
  }

  private enum MonitorOutcome {
    /// It makes no sense.
    case released
    /// The kernel refuses.
    case refused
    /// The kernel takes it.
    case added
    /// The kernel compares with its patterns already.
    case joined

    var asksKernel: Bool { self == .refused || self == .added }
  }

  private mutating func tell(_ outcome: MonitorOutcome, _ path: ObjectPath, _ client: ClientIdentifier) {
    switch outcome {
    case .released, .refused:
      callWithoutAnswer(client, path, .release(interface: InterfaceName.advertisementMonitor))
    case .added, .joined: callWithoutAnswer(client, path, .monitor(.activate))
    }
  }

  private mutating func addMonitor(
    _ path: ObjectPath, _ properties: Properties, below root: ObjectPath, of client: ClientIdentifier
  ) -> MonitorOutcome {
    let monitor = PropertyValues<AdvertisementMonitor1>(properties)
    guard monitor.type == MonitoringState.monitorType, let thresholds = MonitorThresholds(monitor),
      let patterns = MonitorPattern.read(monitor.patterns),
      let index = monitoring.roots.firstIndex(where: { $0.client == client && $0.path == root })
    else { return .released }
    let all = monitoring.places.map { monitoring[$0] }
    let same = all.filter { $0.patterns == patterns }.map(\.thresholds)
    guard patterns.count <= MonitorPattern.countLimit, all.count < MonitoringState.monitorLimit,
      !same.isEmpty || Set(all.map(\.patterns)).count < MonitoringState.patternsLimit
    else { return .refused }
    monitoring.roots[index].monitors.append(
      MonitoringState.Monitor(path: path, thresholds: thresholds, patterns: patterns))
    let isKnown = MonitorThresholds.merged(same) == MonitorThresholds.merged(same + [thresholds])
    return !same.isEmpty && isKnown ? .joined : .added
  }

  // MARK: What is heard

  /// What the kernel scans for monitors with, while nobody discovers: passively, and every advertisement counts.
  var monitoringScan: ScanParameters? {
    guard adapter.isPowered, monitoring.roots.contains(where: { !$0.monitors.isEmpty }) else { return nil }
    return ScanParameters(
      interval: .milliseconds(60), window: .milliseconds(30), isActive: false, filtersDuplicates: false)
  }

  mutating func refreshMonitoring() {
    guard !discovery.isActive else { return }
    tellScan(monitoringScan)
  }

  func monitors(matching report: AdvertisementReport) -> [MonitoringState.Place] {
    guard !monitoring.roots.isEmpty else { return [] }
    let structures = MonitorPattern.structures(report.data) + MonitorPattern.structures(report.scanResponse ?? [])
    return monitoring.places.filter { place in
      monitoring[place].patterns.contains { pattern in
        structures.contains { pattern.matches($0.kind, $0.body) }
      }
    }
  }

  /// A device of theirs was heard.
  mutating func tell(_ monitors: [MonitoringState.Place], of device: ObjectPath, rssi: Int8) {
    for place in monitors { heard(device, Int(rssi), by: place) }
  }

  private mutating func heard(_ device: ObjectPath, _ rssi: Int, by place: MonitoringState.Place) {
    let thresholds = monitoring[place].thresholds
    guard thresholds != .none else { return tell(.deviceFound(device), place) }
    var tracked = monitoring[place].tracked[device] ?? MonitoringState.Tracked()
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
    monitoring[place].tracked[device] = tracked
    for call in news { tell(call, place) }
  }

  private mutating func tell(_ call: MonitorCall, _ place: MonitoringState.Place) {
    callWithoutAnswer(monitoring.roots[place.root].client, monitoring[place].path, .monitor(call))
  }

  /// A device was not heard for as long as some monitor grants it.
  mutating func monitoredTimedOut(_ device: ObjectPath) {
    for place in monitoring.places {
      guard let deadline = monitoring[place].tracked[device]?.deadline, deadline <= now else { continue }
      monitoring[place].tracked[device]?.deadline = nil
      monitoring[place].tracked[device]?.isFound = false
      tell(.deviceLost(device), place)
    }
  }

  /// Whatever was found is lost. (That it is forgotten for found, too, bluetoothd 5.82 does not see to: it is not found
  /// again before it was lost once more.)
  mutating func monitoringLosesPower() {
    for place in monitoring.places {
      for device in monitoring[place].tracked.keys.sorted() where monitoring[place].tracked[device]?.deadline != nil {
        monitoring[place].tracked[device]?.deadline = nil
        tell(.deviceLost(device), place)
      }
    }
  }

  /// A device that is not known any more is not tracked, and not told of.
  mutating func forgetMonitored(_ device: ObjectPath) {
    for place in monitoring.places { monitoring[place].tracked[device] = nil }
  }
}
