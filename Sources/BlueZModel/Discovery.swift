import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// The clients' discovery sessions and their filters.
struct Discovery: Sendable {
  /// The clients' filters. A client may set one before it starts.
  private var filters: [ClientIdentifier: DiscoveryFilter] = [:]
  private(set) var sessions: Set<ClientIdentifier> = []
  var isActive = false
  var restartDeadline: Instant?
  /// Smaller changes of the signal strength, in dB, are not reported unless a filter asks for it.
  static let rssiThreshold = 8

  /// Returns why it can't start, or `nil` if it has started.
  mutating func start(_ client: ClientIdentifier) -> BlueZError? { sessions.insert(client).inserted ? nil : .busy }

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
      filtersDuplicates: !tellsDuplicates(to: sessions))
  }

  mutating func scheduleRestart(_ scan: ScanParameters, after limit: Duration, at now: Instant) {
    // Unless duplicates are filtered, every advertisement is heard anyway.
    restartDeadline = scan.filtersDuplicates ? now + limit : nil
  }

  func add(to deadlines: inout Deadlines) { deadlines.add(restartDeadline, .discoveryRestart) }

  /// The clients whose filters let an advertisement through.
  func interested(in data: AdvertisementData, _ report: AdvertisementReport, name: String?) -> Set<ClientIdentifier> {
    sessions.filter { filters[$0]?.admits(data, report, name: name) ?? true }
  }

  func tellsDuplicates(to clients: Set<ClientIdentifier>) -> Bool {
    clients.contains { filters[$0]?.duplicateData ?? true }
  }

  func tellsEveryRSSI(to clients: Set<ClientIdentifier>) -> Bool { clients.contains { filters[$0]?.rssi != nil } }

  /// Whether a client has asked for every advertisement. Newer data then replaces older data instead of adding to it.
  var wantsEach: Bool { sessions.contains { filters[$0]?.duplicateData == true } }

  /// Whether an advertisement's content is reported: if the peer is discoverable, or if a client looks for services,
  /// for near devices, or for a name that matches.
  func tells(of data: AdvertisementData, _ interested: Set<ClientIdentifier>) -> Bool {
    let limitedOrGeneral: UInt8 = 0x03
    if (data.flags ?? 0) & limitedOrGeneral != 0 { return true }
    let looksForSome = sessions.contains { client in
      filters[client].map { !$0.uuids.isEmpty || $0.rssi != nil } ?? false
    }
    return looksForSome || interested.contains { filters[$0]?.pattern?.isEmpty == false }
  }
}

extension DiscoveryFilter {
  fileprivate func admits(_ data: AdvertisementData, _ report: AdvertisementReport, name: String?) -> Bool {
    if !uuids.isEmpty, Set(uuids).isDisjoint(with: data.serviceUUIDs) { return false }
    if let rssi, Int16(report.rssi) < rssi { return false }
    if transport == "bredr" { return false }
    if let pattern, !pattern.isEmpty {
      guard report.address.description.hasPrefix(pattern) || name?.hasPrefix(pattern) == true else { return false }
    }
    return true
  }
}
