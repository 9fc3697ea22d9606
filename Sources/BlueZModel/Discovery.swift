import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// Who wants devices to be discovered, and which.
struct DiscoveryState: Sendable {
  /// A client's filter, also before it starts.
  var filters: [ClientIdentifier: DiscoveryFilter] = [:]
  var sessions: Set<ClientIdentifier> = []
  var isActive = false
  var restartDeadline: Instant?
  /// Below this a change of the signal strength is not told, unless a filter asks for it, in dB.
  static let rssiThreshold = 8
}

extension BlueZModel {
  mutating func startDiscovery(_ client: ClientIdentifier) -> Result<Reply, BlueZError> {
    guard adapter.isPowered else { return .failure(.notReady) }
    guard discovery.sessions.insert(client).inserted else { return .failure(.busy) }
    refreshDiscovery()
    return .success(.none)
  }

  mutating func stopDiscovery(_ client: ClientIdentifier) -> Result<Reply, BlueZError> {
    guard adapter.isPowered else { return .failure(.notReady) }
    guard discovery.sessions.contains(client) else { return .failure(.failed("No discovery started")) }
    return .success(.none)
  }

  /// Its session is over: the properties change after the caller has had its answer.
  mutating func endDiscovery(of client: ClientIdentifier) {
    if discovery.sessions.remove(client) != nil { refreshDiscovery() }
  }

  mutating func setDiscoveryFilter(
    _ filter: DiscoveryFilter, _ client: ClientIdentifier
  ) -> Result<Reply, BlueZError> {
    guard adapter.isPowered else { return .failure(.notReady) }
    if let transport = filter.transport, !["auto", "le", "bredr"].contains(transport) {
      return .failure(.invalidArguments("Invalid arguments in method call"))
    }
    discovery.filters[client] = filter == DiscoveryFilter() ? nil : filter
    if discovery.sessions.contains(client) { refreshDiscovery() }
    return .success(.none)
  }

  mutating func forgetDiscovery(of client: ClientIdentifier) {
    discovery.filters[client] = nil
    endDiscovery(of: client)
  }

  /// Power went: sessions end without a word but the property's.
  mutating func endDiscovery() {
    discovery.sessions = []
    refreshDiscovery()
  }

  mutating func restartDiscovery() {
    discovery.restartDeadline = nil
    guard discovery.isActive, let scan = kernel.scan else { return }
    tellScan(scan, again: true)
    scheduleRestart(scan)
  }

  private mutating func scheduleRestart(_ scan: ScanParameters) {
    // Without a filter of duplicates every advertisement is heard anyway.
    discovery.restartDeadline = scan.filtersDuplicates ? now + configuration.timings.discoveryRestart : nil
  }

  private mutating func refreshDiscovery() {
    let isActive = !discovery.sessions.isEmpty
    if isActive {
      let scan = ScanParameters(
        interval: .microseconds(11_250), window: .microseconds(11_250), isActive: true,
        filtersDuplicates: !discovery.sessions.contains { discovery.filters[$0]?.duplicateData ?? true })
      tellScan(scan)
      scheduleRestart(scan)
    } else {
      tellScan(monitoringScan)
      discovery.restartDeadline = nil
    }
    guard discovery.isActive != isActive else { return }
    discovery.isActive = isActive
    changed(adapterPath, \Adapter1.discovering)
    guard !isActive else { return }
    // How strong a device is, is known only while somebody listens.
    for path in devices.keys.sorted() {
      if devices[path]?.rssi != nil {
        devices[path]?.rssi = nil
        changed(path, \Device1.rssi)
      }
      if devices[path]?.transmitPower != nil {
        devices[path]?.transmitPower = nil
        changed(path, \Device1.txPower)
      }
    }
  }

  // MARK: What is heard

  mutating func receive(_ report: AdvertisementReport) {
    var data = AdvertisementData()
    guard AdvertisementCodec.read(report.data, into: &data),
      AdvertisementCodec.read(report.scanResponse ?? [], into: &data)
    else {
      malformedAdvertisementCount += 1
      effects.append(.diagnostic(.malformedAdvertisement(report.address, count: malformedAdvertisementCount)))
      return
    }
    let monitors = monitors(matching: report)
    guard discovery.isActive || !monitors.isEmpty else { return }
    let known = device(onAir: report.address)
    let interested = discovery.sessions.filter { client in
      guard let filter = discovery.filters[client] else { return true }
      return Self.matches(filter, data, report, name: data.localName ?? known.flatMap { devices[$0]?.name })
    }
    guard !interested.isEmpty || !monitors.isEmpty else { return }
    // What a monitor matches is told in any case.
    guard isDiscoverable(data, interested) || !monitors.isEmpty else {
      // An object, and no word of what it says (src/adapter.c, btd_adapter_device_found).
      if let known {
        devices[known]?.lastSeen = now
        devices[known]?.vanishesAt = nil
      } else {
        added(makeDevice(report.address))
      }
      return
    }
    if let known {
      let tellsAll = interested.contains { discovery.filters[$0]?.duplicateData ?? true }
      let isExact = interested.contains { discovery.filters[$0]?.rssi != nil }
      update(known, data, report, tellsDuplicates: tellsAll, tellsEveryRSSI: isExact)
      tell(monitors, of: known, rssi: report.rssi)
    } else {
      let path = makeDevice(report.address)
      take(data, report, into: path)
      devices[path]?.uuids = data.serviceUUIDs.sorted()
      devices[path]?.name = data.localName
      added(path)
      tell(monitors, of: path, rssi: report.rssi)
    }
  }

  /// Whether what a peer advertises is told: where it wants to be found, and where a client looks for services, for
  /// what is near, or for a name that it has.
  private func isDiscoverable(_ data: AdvertisementData, _ interested: Set<ClientIdentifier>) -> Bool {
    let limitedOrGeneral: UInt8 = 0x03
    if (data.flags ?? 0) & limitedOrGeneral != 0 { return true }
    let looksForSome = discovery.sessions.contains { client in
      discovery.filters[client].map { !$0.uuids.isEmpty || $0.rssi != nil } ?? false
    }
    return looksForSome || interested.contains { discovery.filters[$0]?.pattern?.isEmpty == false }
  }

  private static func matches(
    _ filter: DiscoveryFilter, _ data: AdvertisementData, _ report: AdvertisementReport, name: String?
  ) -> Bool {
    if !filter.uuids.isEmpty, Set(filter.uuids).isDisjoint(with: data.serviceUUIDs) { return false }
    if let rssi = filter.rssi, Int16(report.rssi) < rssi { return false }
    if filter.transport == "bredr" { return false }
    if let pattern = filter.pattern, !pattern.isEmpty {
      guard report.address.description.hasPrefix(pattern) || name?.hasPrefix(pattern) == true else { return false }
    }
    return true
  }

  private mutating func take(_ data: AdvertisementData, _ report: AdvertisementReport, into path: ObjectPath) {
    devices[path]?.lastSeen = now
    devices[path]?.vanishesAt = nil
    devices[path]?.rssi = report.rssi
    // What an advertisement does not say stays as another of the same device said it: a device may have several.
    if let power = data.transmitPowerLevel { devices[path]?.transmitPower = power }
    if let flags = data.flags { devices[path]?.advertisingFlags = flags }
    // Where every advertisement is to be told of, the latest of a kind counts alone.
    let isEach = discovery.sessions.contains { discovery.filters[$0]?.duplicateData == true }
    if isEach, !data.manufacturerData.isEmpty { devices[path]?.manufacturerData = [:] }
    if isEach, !data.serviceData.isEmpty { devices[path]?.serviceData = [:] }
    devices[path]?.manufacturerData.merge(data.manufacturerData) { $1 }
    devices[path]?.serviceData.merge(data.serviceData) { $1 }
    if let appearance = data.appearance, appearance != 0 { devices[path]?.appearance = appearance }
  }

  private mutating func update(
    _ path: ObjectPath, _ data: AdvertisementData, _ report: AdvertisementReport, tellsDuplicates: Bool,
    tellsEveryRSSI: Bool
  ) {
    guard let before = devices[path] else { return }
    take(data, report, into: path)
    let difference = before.rssi.map { abs(Int($0) - Int(report.rssi)) }
    if difference == nil || (tellsEveryRSSI && difference != 0) || difference ?? 0 >= DiscoveryState.rssiThreshold
      || (tellsDuplicates && difference != 0)
    {
      changed(path, \Device1.rssi)
    } else {
      devices[path]?.rssi = before.rssi
    }
    guard let after = devices[path] else { return }
    if before.transmitPower != after.transmitPower { changed(path, \Device1.txPower) }
    if before.advertisingFlags != after.advertisingFlags { changed(path, \Device1.advertisingFlags) }
    if before.manufacturerData != after.manufacturerData || (tellsDuplicates && !data.manufacturerData.isEmpty) {
      changed(path, \Device1.manufacturerData)
    }
    if before.serviceData != after.serviceData || (tellsDuplicates && !data.serviceData.isEmpty) {
      changed(path, \Device1.serviceData)
    }
    if after.appearance != before.appearance {
      changed(path, \Device1.appearance)
      // An icon that there is no more is not told of.
      if Self.icon(after.appearance ?? 0) != nil { changed(path, \Device1.icon) }
    }
    if let name = data.localName { setName(name, of: path) }
    addUUIDs(data.serviceUUIDs, to: path)
    // Real bluetoothd gathers; every advertisement is one signal of its own here.
    flushChanges()
  }
}
