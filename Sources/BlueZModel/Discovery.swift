import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// Who wants devices to be discovered, and which.
struct Discovery: Sendable {
  /// A client's filter, also before it starts.
  private var filters: [ClientIdentifier: DiscoveryFilter] = [:]
  private(set) var sessions: Set<ClientIdentifier> = []
  var isActive = false
  var restartDeadline: Instant?
  /// Below this a change of the signal strength is not told, unless a filter asks for it, in dB.
  static let rssiThreshold = 8

  /// `nil`: it has begun.
  mutating func start(_ client: ClientIdentifier) -> BlueZError? { sessions.insert(client).inserted ? nil : .busy }

  /// `nil`: there is something to end.
  func refusalToStop(_ client: ClientIdentifier) -> BlueZError? {
    sessions.contains(client) ? nil : .failed("No discovery started")
  }

  /// `nil`: it is set.
  mutating func setFilter(_ filter: DiscoveryFilter, _ client: ClientIdentifier) -> BlueZError? {
    if let transport = filter.transport, !["auto", "le", "bredr"].contains(transport) {
      return .invalidArguments("Invalid arguments in method call")
    }
    filters[client] = filter == DiscoveryFilter() ? nil : filter
    return nil
  }

  /// Whether it had a session.
  mutating func end(_ client: ClientIdentifier) -> Bool { sessions.remove(client) != nil }

  mutating func endAll() { sessions = [] }

  /// Whether it had a session.
  mutating func forget(_ client: ClientIdentifier) -> Bool {
    filters[client] = nil
    return end(client)
  }

  /// What the controller scans with; `nil`: nobody discovers.
  var scan: ScanParameters? {
    guard !sessions.isEmpty else { return nil }
    return ScanParameters(
      interval: .microseconds(11_250), window: .microseconds(11_250), isActive: true,
      filtersDuplicates: !tellsDuplicates(to: sessions))
  }

  mutating func scheduleRestart(_ scan: ScanParameters, after limit: Duration, at now: Instant) {
    // Without a filter of duplicates every advertisement is heard anyway.
    restartDeadline = scan.filtersDuplicates ? now + limit : nil
  }

  func add(to deadlines: inout Deadlines) { deadlines.add(restartDeadline, .discoveryRestart) }

  /// Whose filter lets an advertisement through.
  func interested(in data: AdvertisementData, _ report: AdvertisementReport, name: String?) -> Set<ClientIdentifier> {
    sessions.filter { filters[$0]?.admits(data, report, name: name) ?? true }
  }

  func tellsDuplicates(to clients: Set<ClientIdentifier>) -> Bool {
    clients.contains { filters[$0]?.duplicateData ?? true }
  }

  func tellsEveryRSSI(to clients: Set<ClientIdentifier>) -> Bool { clients.contains { filters[$0]?.rssi != nil } }

  /// Whether somebody has asked for every advertisement: then the latest of a kind counts alone.
  var wantsEach: Bool { sessions.contains { filters[$0]?.duplicateData == true } }

  /// Whether what a peer advertises is told: where it wants to be found, and where a client looks for services, for
  /// what is near, or for a name that it has.
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
