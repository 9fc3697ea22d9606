import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// Adapter1's discovery, and what received advertisements lead to.
extension BlueZModel {
  /// Answers a method of Adapter1's discovery.
  mutating func discover(_ request: Request, _ pending: PendingCall) {
    guard adapter.isPowered else { return reply(to: pending, .failure(.notReady)) }
    let client = pending.client
    let refusal: BlueZError?
    switch request {
    case .startDiscovery:
      refusal = discovery.start(client)
      if refusal == nil { refreshDiscovery() }
    case .setDiscoveryFilter(let filter):
      refusal = discovery.setFilter(filter, client)
      if refusal == nil, discovery.sessions.contains(client) { refreshDiscovery() }
    default: refusal = discovery.refusalToStop(client)
    }
    reply(to: pending, refusal.map { .failure($0) } ?? .success(.none))
    // The caller is answered first. Then the session ends and the properties change.
    if request == .stopDiscovery, refusal == nil, discovery.end(client) { refreshDiscovery() }
  }

  mutating func restartDiscovery() {
    discovery.restartDeadline = nil
    guard discovery.isActive, let scan = discovery.scan else { return }
    if !discovery.isFiltered, !discovery.isPaused {
      // bluetoothd waits for the next round, unless a client has a filter (src/adapter.c, no_scan_restart_delay).
      discovery.isPaused = true
      discovery.restartDeadline = now + configuration.timings.discoveryPause
      return tellScan(monitoringScan)
    }
    tellScan(scan, again: true)
    discovery.beginRound(scan, after: configuration.timings.discoveryRestart, at: now)
  }

  mutating func refreshDiscovery() {
    let isActive = !discovery.sessions.isEmpty
    refreshDiscoverable()
    if let scan = discovery.scan {
      tellScan(scan)
      discovery.scheduleRestart(scan, after: configuration.timings.discoveryRestart, at: now)
    } else {
      tellScan(monitoringScan)
      discovery.endRounds()
    }
    guard discovery.isActive != isActive else { return }
    discovery.isActive = isActive
    changed(adapterPath, \Adapter1.discovering)
    guard !isActive else { return }
    // A device's signal strength is known only while discovery runs.
    for path in devices.keys.sorted() {
      if devices[path]?.rssi != nil {
        devices[path]?.rssi = nil
        changed(path, \Device1.rssi)
      }
      if devices[path]?.advertised.transmitPowerLevel != nil {
        devices[path]?.advertised.transmitPowerLevel = nil
        changed(path, \Device1.txPower)
      }
    }
  }

  // MARK: Received advertisements

  mutating func receive(_ report: AdvertisementReport) {
    discovery.endSilence(rounds: configuration.timings.discoveryRestart, at: now)
    var data = AdvertisementData()
    guard AdvertisementCodec.read(report.data, into: &data),
      AdvertisementCodec.read(report.scanResponse ?? [], into: &data)
    else {
      malformedAdvertisementCount += 1
      outbox.append(.diagnostic(.malformedAdvertisement(report.address, count: malformedAdvertisementCount)))
      return
    }
    let matching = monitors.matching(report)
    guard discovery.hears(report) || !matching.isEmpty else { return }
    let known = device(onAir: report.address)
    // What a monitor matches is always reported, and so are members of a coordinated set (src/adapter.c,
    // btd_adapter_device_found).
    guard
      discovery.tells(of: data, from: report.address) || !matching.isEmpty
        || AdvertisementCodec.namesSet(AdvertisementCodec.otherStructures(report))
    else {
      // The object is shown, but not what the advertisement says (src/adapter.c, btd_adapter_device_found).
      if let known {
        devices[known]?.wasSeen(at: now)
      } else if report.isConnectable || discovery.admits(data, from: report.address) {
        added(makeDevice(report.address))
      }
      return
    }
    if let known {
      update(known, data, report)
      tell(monitors.heard(known, rssi: report.rssi, by: matching, at: now))
    } else {
      let path = makeDevice(report.address)
      devices[path]?.hear(data, report, replacing: discovery.wantsEach, at: now)
      devices[path]?.uuids = data.serviceUUIDs.sorted()
      devices[path]?.name = data.localName
      added(path)
      tell(monitors.heard(path, rssi: report.rssi, by: matching, at: now))
    }
  }

  private mutating func update(_ path: ObjectPath, _ data: AdvertisementData, _ report: AdvertisementReport) {
    guard let before = devices[path] else { return }
    devices[path]?.hear(data, report, replacing: discovery.wantsEach, at: now)
    let wantsEach = discovery.wantsEach
    let difference = before.rssi.map { abs(Int($0) - Int(report.rssi)) }
    if difference.map({ $0 >= discovery.rssiThreshold }) ?? true {
      changed(path, \Device1.rssi)
    } else {
      devices[path]?.rssi = before.rssi
    }
    guard let after = devices[path] else { return }
    let (said, says) = (before.advertised, after.advertised)
    if said.transmitPowerLevel != says.transmitPowerLevel { changed(path, \Device1.txPower) }
    if said.flags != says.flags { changed(path, \Device1.advertisingFlags) }
    if said.manufacturerData != says.manufacturerData || (wantsEach && !data.manufacturerData.isEmpty) {
      changed(path, \Device1.manufacturerData)
    }
    if said.serviceData != says.serviceData || (wantsEach && !data.serviceData.isEmpty) {
      changed(path, \Device1.serviceData)
    }
    tellOtherStructures(of: path, from: before, wantsEach ? AdvertisementCodec.otherStructures(report) : [:])
    if after.appearance != before.appearance {
      changed(path, \Device1.appearance)
      // The removal of an icon is not reported.
      if Device.icon(after.appearance ?? 0) != nil { changed(path, \Device1.icon) }
    }
    // The beginning of a name does not replace a known one.
    if let name = data.localName, name != after.name, after.name == nil || !AdvertisementCodec.shortensName(report) {
      setName(name, of: path)
    }
    addUUIDs(data.serviceUUIDs, to: path)
    // Real bluetoothd gathers changes. Here every advertisement has its own signal.
    flushChanges()
  }

  /// Takes changes of AdvertisingData. Most of them are not announced.
  ///
  /// - Parameter repeated: structures that are reported even if they are the same as before.
  private mutating func tellOtherStructures(of path: ObjectPath, from before: Device, _ repeated: [UInt8: [UInt8]]) {
    guard let after = devices[path] else { return }
    let kinds = after.otherStructures.keys.filter { kind in
      after.otherStructures[kind] != before.otherStructures[kind] || repeated[kind] != nil
    }
    if kinds.contains(where: AdvertisementCodec.isReported) {
      changed(path, \Device1.advertisingData)
    } else if after.otherStructures != before.otherStructures {
      var shown = PropertyValues<Device1>()
      shown.advertisingData = after.otherStructures
      outbox.append(
        .unannounced(
          .propertiesChanged(path: path, interface: Device1.interface, changed: shown.all, invalidated: [])))
    }
  }
}
