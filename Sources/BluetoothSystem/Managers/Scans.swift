import AppLink
import BlueZ
import BluetoothTypes
import FoundationEssentials
import TimeTypes

/// Apps' scans, and what apps are told about what is seen.
extension BluetoothSystem {
  func refusal(of request: ScanRequest, _ key: ManagerKey) -> String? {
    let others = managers.values.reduce(0) { sum, manager in
      manager.key.app == key.app && manager.key != key ? sum + (manager.scan?.request.uuidCount ?? 0) : sum
    }
    guard request.uuidCount + others > configuration.uuidLimit else { return nil }
    return "An app scans for at most \(configuration.uuidLimit) services."
  }

  mutating func scan(_ key: ManagerKey, _ request: ScanRequest) {
    if let reason = refusal(of: request, key) { return misplaced(key.app, reason) }
    managers[key]?.scan = Scan(request)
    persistManager(key)
    discovery.shortenIntervals(at: now)
  }

  mutating func stopScan(_ key: ManagerKey) {
    managers[key]?.scan = nil
    persistManager(key)
    apps[key.app]?.queue.removeAll { waiting in
      if case .discovered = waiting.body { waiting.manager == key } else { false }
    }
  }

  private func isInForeground(_ key: ManagerKey) -> Bool { apps[key.app]?.state == .foreground }

  /// The scans that are active now.
  private var activeScans: [ManagerKey] { managers.scanning.filter { activity(of: $0) != .none } }

  private func activity(of key: ManagerKey) -> Scan.Activity {
    let isInForeground = isInForeground(key)
    guard let scan = managers[key]?.scan, mayWork(key), !(apps[key.app]?.quitByUser ?? true) || isInForeground,
      scan.goesOn(inForeground: isInForeground)
    else { return .none }
    return isInForeground ? .inForeground : .inBackground
  }

  /// A scan that begins, or goes on in the foreground, finds what is in range now. A discovery that runs already announces that
  /// again in the kernel's next round only. What bluetoothd shows may have left long ago: it forgets a signal only at
  /// the end of the discovery.
  private mutating func beginScans() {
    for key in managers.scanning {
      let activity = activity(of: key)
      guard managers[key]?.scan?.becomes(activity) == true, !bluez.devices.inSight.isEmpty else { continue }
      discovery.beginAnew()
    }
  }

  /// Discovery blocks the kernel's passive scan for the accept list, so it runs only while something needs it. While
  /// all apps that scan are in the background, it runs for a short time in each interval (B3). So their scans cost
  /// little, and devices on the accept list can be connected in between.
  mutating func reconcileDiscovery(needed: Bool) {
    guard let adapter = bluez.adapter else { return }
    beginScans()
    let scans = activeScans.compactMap { key in
      managers[key]?.scan.map { (scan: $0, isInForeground: isInForeground(key)) }
    }
    let isForBackground = !needed && !scans.contains { $0.isInForeground }
    discovery.setPace(
      isForBackground && !scans.isEmpty ? .background(BackgroundScan(configuration)) : .continuous, at: now)
    let isWanted = needed || !scans.isEmpty && discovery.isDue(at: now)
    let wanted =
      isWanted
      ? DiscoveryFilter(
        for: scans, search: needed ? search : nil, findsOverflow: configuration.overflowCompany != nil) : nil
    for step in discovery.steps(wanted: wanted, at: now) {
      switch step {
      case .setFilter(let filter): call(adapter, .setDiscoveryFilter(filter), for: .setFilter)
      case .start: call(adapter, .startDiscovery, for: .startDiscovery)
      case .stop: call(adapter, .stopDiscovery, for: .stopDiscovery)
      }
    }
  }

  private var search: DiscoveryFilter.Search {
    discovery.isEager(at: now) || pairing.wish?.isSearching == true ? .eager : .patient
  }

  /// The app is no longer connected to this peripheral. If its scan finds it, the app is told once more.
  mutating func mayDiscoverAgain(_ peer: PeerIdentifier, _ key: ManagerKey) {
    guard managers[key]?.scan?.forgetReported(peer) == true, activeScans.contains(key) else { return }
    discovery.beginAnew()
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
    // If another client's discovery has gone on, a device may have left long ago that is shown. So apps are not told of it, but
    // connecting to it is tried.
    for device in bluez.devices.devicesInSight { noteSighting(device.peer) }
  }

  /// Tells the scans that look for such a device.
  mutating func reportSighting(_ peer: PeerIdentifier) {
    guard let device = bluez.device(peer), let rssi = device.rssi else { return }
    let offered = Set(device.uuids)
    var advertisement = device.advertisement
    let overflow = configuration.overflowCompany.flatMap { advertisement.takeOverflow(of: $0) }
    for key in activeScans {
      guard let scan = managers[key]?.scan,
        scan.looksFor(offered, soliciting: advertisement.solicitedServiceUUIDs, overflow: overflow)
      else { continue }
      let asked = scan.request.services ?? []
      if let overflow {
        advertisement.overflowServiceUUIDs = scan.found(in: overflow).filter { !offered.contains($0) }
      }
      // A service that the scan asks for is listed even if it was found over a link only: the device may advertise it
      // by now, and bluetoothd has one list for both.
      advertisement.serviceUUIDs = device.uuids.filter { !device.found.contains($0) || asked.contains($0) }
      let isInForeground = isInForeground(key)
      guard managers[key]?.scan?.takes(peer, advertisement, inForeground: isInForeground) == true else { continue }
      discovery.shortenIntervals(at: now)
      tell(key, .discovered(snapshot(peer, key), advertisement, rssi: rssi))
    }
  }
}

extension AdvertisementData {
  /// Removes the overflow area from the manufacturer data, and returns it. Apps are shown what it means for them instead.
  fileprivate mutating func takeOverflow(of company: UInt16) -> OverflowArea? {
    guard let overflow = manufacturerData[company].flatMap(OverflowArea.init) else { return nil }
    manufacturerData[company] = nil
    return overflow
  }
}
