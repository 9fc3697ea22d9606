import AppLink
import BlueZ
import BluetoothTypes
import FoundationEssentials
import TimeTypes

/// What apps scan for, and what they are told of what is seen.
extension BluetoothSystem {
  func refusal(of request: ScanRequest, _ key: ManagerKey) -> String? {
    func count(_ scan: ScanRequest?) -> Int { (scan?.services?.count ?? 0) + (scan?.solicitedServices.count ?? 0) }
    let others = managers.values.reduce(0) { sum, manager in
      manager.key.app == key.app && manager.key != key ? sum + count(manager.scan) : sum
    }
    guard count(request) + others > configuration.uuidLimit else { return nil }
    return "An app scans for at most \(configuration.uuidLimit) services."
  }

  mutating func scan(_ key: ManagerKey, _ request: ScanRequest) {
    if let reason = refusal(of: request, key) { return misplaced(key.app, reason) }
    managers[key]?.scan = request
    managers[key]?.reported = []
    persistManager(key)
    // Devices that bluetoothd sees right now will not be announced again.
    for device in bluez.devices.values.sorted(by: { $0.path < $1.path }) where device.rssi != nil {
      reportSighting(device.peer)
    }
  }

  mutating func stopScan(_ key: ManagerKey) {
    managers[key]?.scan = nil
    managers[key]?.reported = []
    persistManager(key)
    apps[key.app]?.queue.removeAll { waiting in
      if case .discovered = waiting.body { waiting.manager == key } else { false }
    }
  }

  private func isInForeground(_ key: ManagerKey) -> Bool { apps[key.app]?.state == .foreground }

  /// Scans that go on now: in the background one without a filter finds nothing.
  private var activeScans: [ManagerKey] {
    sortedManagers(.central).filter { key in
      guard let scan = managers[key]?.scan, mayWork(key), !(apps[key.app]?.quitByUser ?? true) || isInForeground(key)
      else { return false }
      return isInForeground(key) || scan.services?.isEmpty == false
    }
  }

  private func wantedFilter(searching: Bool) -> DiscoveryFilter {
    var filter = DiscoveryFilter(transport: "le", duplicateData: searching)
    var uuids: Set<BluetoothUUID> = []
    var isOpen = searching
    for key in activeScans {
      guard let scan = managers[key]?.scan else { continue }
      if isInForeground(key), scan.allowDuplicates { filter.duplicateData = true }
      let asked = (scan.services ?? []) + scan.solicitedServices
      if asked.isEmpty { isOpen = true }
      uuids.formUnion(asked)
    }
    filter.uuids = isOpen ? [] : uuids.sorted()
    // Of peripherals that say that they are not discoverable, or nothing, bluetoothd tells nothing but the address,
    // unless somebody looks for services or for what is near: as near as can be heard.
    if isOpen { filter.rssi = -127 }
    return filter
  }

  /// Discovery blocks the kernel's passive scan for the accept list, so it runs only while something needs it.
  mutating func reconcileDiscovery(needed: Bool) {
    guard let adapter = bluez.adapter else { return }
    let wanted = needed || !activeScans.isEmpty ? wantedFilter(searching: needed) : nil
    for step in discovery.steps(wanted: wanted, at: now) {
      switch step {
      case .setFilter(let filter): call(adapter, .setDiscoveryFilter(filter), for: .setFilter)
      case .start: call(adapter, .startDiscovery, for: .startDiscovery)
      case .stop: call(adapter, .stopDiscovery, for: .stopDiscovery)
      }
    }
  }

  mutating func filterSet(_ result: Result<Reply, BlueZError>) {
    discovery.filterWasSet()
    if case .failure(let error) = result { journal(.discoveryFilterRefused, [.error: error.description]) }
  }

  mutating func discoveryStarted(_ result: Result<Reply, BlueZError>) {
    guard discovery.started(result, at: now) else { return }
    guard discovery.isRunning else {
      if case .failure(let error) = result { journal(.discoveryRefused, [.error: error.description]) }
      return
    }
    for device in bluez.devices.values.sorted(by: { $0.path < $1.path }) where device.rssi != nil {
      sighted(device.peer)
    }
  }

  /// Tells the scans that look for such a device.
  mutating func reportSighting(_ peer: PeerIdentifier) {
    guard let device = bluez.device(peer), let rssi = device.rssi else { return }
    let offered = Set(device.uuids)
    for key in activeScans {
      guard let scan = managers[key]?.scan else { continue }
      let asked = (scan.services ?? []) + scan.solicitedServices
      guard asked.isEmpty || asked.contains(where: offered.contains) else { continue }
      let repeats = scan.allowDuplicates && isInForeground(key)
      let isFirst = managers[key]?.reported.insert(peer).inserted ?? false
      guard isFirst || repeats else { continue }
      tell(key, .discovered(snapshot(peer, key), device.advertisementData, rssi: rssi))
    }
  }
}
