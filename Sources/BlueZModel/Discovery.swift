import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// The clients' discovery sessions and their filters.
struct Discovery: Sendable {
  /// The controller has classic Bluetooth as well (`BlueZConfiguration.isDualMode`).
  private let isDualMode: Bool
  /// The clients' filters. A client may set one before it starts.
  private var filters: [ClientIdentifier: DiscoveryFilter] = [:]
  private(set) var sessions: Set<ClientIdentifier> = []
  var isActive = false
  var restartDeadline: Instant?
  /// When the first of the rounds began in which nothing was heard, if nothing has been heard since.
  private var silentSince: Instant?
  /// Whether this is the pause between two rounds of a discovery without a filter. Nothing is heard in it.
  var isPaused = false

  init(isDualMode: Bool) { self.isDualMode = isDualMode }

  /// Returns the error if the discovery can't start, or `nil` if it has started. On a controller for Low Energy alone, a
  /// discovery is refused while every client asks for classic Bluetooth.
  mutating func start(_ client: ClientIdentifier) -> BlueZError? {
    guard isDualMode || sessions.union([client]).contains(where: { filters[$0]?.transport != "bredr" }) else {
      return .busy
    }
    return sessions.insert(client).inserted ? nil : .busy
  }

  /// Why a client can't stop, or `nil` if it can.
  func refusalToStop(_ client: ClientIdentifier) -> BlueZError? {
    sessions.contains(client) ? nil : .failed("No discovery started")
  }

  /// Returns why the filter is refused, or `nil` if it is set.
  mutating func setFilter(_ filter: DiscoveryFilter, _ client: ClientIdentifier) -> BlueZError? {
    if let transport = filter.transport, !["auto", "le", "bredr"].contains(transport) {
      return .invalidArguments("Invalid arguments in method call")
    }
    filters[client] = filter == DiscoveryFilter() ? nil : filter
    return nil
  }

  /// Returns whether the client had a session.
  mutating func end(_ client: ClientIdentifier) -> Bool { sessions.remove(client) != nil }

  mutating func endAll() { sessions = [] }

  /// Returns whether the client had a session.
  mutating func forget(_ client: ClientIdentifier) -> Bool {
    filters[client] = nil
    return end(client)
  }

  /// The controller's scan parameters, or `nil` if no client is discovering.
  var scan: ScanParameters? {
    guard !sessions.isEmpty else { return nil }
    return ScanParameters(
      interval: .microseconds(11_250), window: .microseconds(11_250), isActive: true,
      filtersDuplicates: !hearsDuplicates)
  }

  /// The controller begins to scan, or goes on.
  mutating func scheduleRestart(_ scan: ScanParameters, after limit: Duration, at now: Instant) {
    isPaused = false
    silentSince = nil
    // The kernel ends a round after a time. If a client has a filter, the next round follows at once. If duplicates are
    // not filtered either, a new round changes nothing, so none is scheduled.
    restartDeadline = scan.filtersDuplicates || !isFiltered ? now + limit : nil
  }

  /// The controller has forgotten what it heard, and scans anew.
  mutating func beginRound(_ scan: ScanParameters, after limit: Duration, at now: Instant) {
    scheduleRestart(scan, after: limit, at: now)
    // A round in which nothing is heard leaves nothing to forget, so it need not end. A phone that waits for days in an
    // empty street costs no work.
    guard isFiltered, restartDeadline != nil else { return }
    restartDeadline = nil
    silentSince = now
  }

  /// An advertisement has come in after a silence. The rounds of the silence count: each began `limit` after the one
  /// before.
  mutating func endSilence(rounds limit: Duration, at now: Instant) {
    guard let began = silentSince else { return }
    silentSince = nil
    let nanoseconds = (now.nanoseconds - began.nanoseconds) % limit.wholeNanoseconds
    restartDeadline = now + limit - .nanoseconds(nanoseconds)
  }

  mutating func endRounds() {
    restartDeadline = nil
    silentSince = nil
    isPaused = false
  }

  func add(to deadlines: inout Deadlines) { deadlines.add(restartDeadline, .discoveryRestart) }

  /// Whether the kernel passes an advertisement on to bluetoothd (net/bluetooth/mgmt.c, is_filter_match). The kernel
  /// knows the clients' filters as one: all services that any client looks for, and the weakest signal strength of all.
  /// A client without a filter makes it pass on everything. The kernel looks only at lists of services, not at service
  /// data.
  func hears(_ report: AdvertisementReport) -> Bool {
    guard !sessions.isEmpty, !isPaused else { return false }
    guard isFiltered, !sessions.contains(where: { isTrivial(filters[$0]) }) else { return true }
    let all = sessions.compactMap { filters[$0] }
    guard all.contains(where: { $0.transport != "bredr" }) else { return false }
    let signals = all.compactMap(\.rssi)
    if signals.count == all.count, let weakest = signals.min(), Int16(report.rssi) < weakest { return false }
    guard all.allSatisfy({ !$0.uuids.isEmpty }) else { return true }
    return !AdvertisementCodec.listedServices(report).isDisjoint(with: all.flatMap(\.uuids))
  }

  /// Whether a client has a filter that makes bluetoothd set a filter in the kernel.
  var isFiltered: Bool { sessions.contains { !isTrivial(filters[$0]) } }

  /// Whether a client needs no filter in the kernel: it has none, or one that asks for what the controller does anyway
  /// (src/adapter.c, merge_discovery_filters).
  private func isTrivial(_ filter: DiscoveryFilter?) -> Bool {
    guard let filter else { return true }
    return filter.isForAll && filter.transport != "bredr" && !(isDualMode && filter.transport == "le")
  }

  private var hearsDuplicates: Bool { sessions.contains { filters[$0]?.duplicateData ?? true } }

  /// How much the signal strength has to change to be reported, in dB. If any filter is set, bluetoothd reports it each
  /// time, also if it is the same (src/adapter.c, `filtered_discovery`; src/device.c, `device_set_rssi_with_delta`).
  var rssiThreshold: Int { isFiltered ? 0 : hearsDuplicates ? 1 : 8 }

  /// Whether a client has asked for every advertisement. Newer data then replaces older data instead of adding to it, and
  /// is reported even if it is the same.
  var wantsEach: Bool { sessions.contains { filters[$0]?.duplicateData == true } }

  /// Whether a client wants the adapter to be discoverable while it discovers.
  var wantsDiscoverable: Bool { sessions.contains { filters[$0]?.discoverable == true } }

  /// Whether a peer counts as discoverable: its flags say so, or any client has a filter. If a client has a pattern,
  /// only peers that match a pattern count, for all clients (src/adapter.c, device_is_discoverable).
  func admits(_ data: AdvertisementData, from address: DeviceAddress) -> Bool {
    let patterns = sessions.compactMap { filters[$0]?.pattern }
    guard patterns.isEmpty else {
      let texts = [address.description, data.localName ?? ""]
      return patterns.contains { pattern in texts.contains { $0.hasPrefix(pattern) } }
    }
    let limitedOrGeneral: UInt8 = 0x03
    return isFiltered || (data.flags ?? 0) & limitedOrGeneral != 0
  }

  /// Whether an advertisement's content is reported: its peer counts as discoverable, and it fits a client's filter.
  func tells(of data: AdvertisementData, from address: DeviceAddress) -> Bool {
    guard admits(data, from: address) else { return false }
    return !isFiltered
      || sessions.contains { client in
        guard let filter = filters[client], !filter.uuids.isEmpty else { return true }
        return !Set(filter.uuids).isDisjoint(with: data.serviceUUIDs)
      }
  }
}

extension DiscoveryFilter {
  /// Whether it names no devices that are looked for, by whatever transport.
  fileprivate var isForAll: Bool {
    uuids.isEmpty && rssi == nil && pathloss == nil && duplicateData != true && pattern == nil
  }
}
