import AppLink
import BlueZ
import BluetoothTypes

/// One manager's scan: what it looks for, and what it has found.
struct Scan: Sendable {
  let request: ScanRequest
  /// Peripherals that this scan has already reported.
  private(set) var reported: Set<PeerIdentifier> = []

  init(_ request: ScanRequest, reported: Set<PeerIdentifier> = []) {
    (self.request, self.reported) = (request, reported)
  }

  /// In the background, a scan without a filter finds nothing (Apple, "Core Bluetooth Background Processing").
  func goesOn(inForeground isInForeground: Bool) -> Bool { isInForeground || request.services?.isEmpty == false }

  /// The services that this scan asks for and that an overflow area may contain (B6).
  func found(in overflow: OverflowArea) -> [BluetoothUUID] { (request.services ?? []).filter(overflow.mayContain) }

  /// A peripheral that offers and solicits these services was seen. Returns whether to tell the app.
  /// - Parameter overflow: its overflow area. Only a scan that asks for a service finds it there.
  mutating func takes(
    _ peer: PeerIdentifier, offering services: Set<BluetoothUUID>, soliciting solicited: [BluetoothUUID],
    overflow: OverflowArea?, inForeground isInForeground: Bool
  ) -> Bool {
    let isAsked =
      request.uuidCount == 0 || request.services?.contains(where: services.contains) == true
      || request.solicitedServices.contains(where: solicited.contains)
      || overflow.map({ !found(in: $0).isEmpty }) ?? false
    guard isAsked else { return false }
    let isFirst = reported.insert(peer).inserted
    return isFirst || request.allowDuplicates && isInForeground
  }

  mutating func forgetReported() { reported = [] }

  /// The app was connected to this peripheral, and no longer is. It is news again. Returns whether it was reported.
  mutating func forgetReported(_ peer: PeerIdentifier) -> Bool { reported.remove(peer) != nil }

  /// The app will be told of this peripheral.
  mutating func isReported(_ peer: PeerIdentifier) { reported.insert(peer) }
}

extension ScanRequest {
  var uuidCount: Int { (services?.count ?? 0) + solicitedServices.count }
}

extension DiscoveryFilter {
  /// What one discovery has to find for all these scans.
  /// - Parameters:
  ///   - isSearching: it also has to find a peripheral by its address.
  ///   - findsOverflow: it also has to find services in overflow areas. bluetoothd's filter does not know these.
  init(for scans: [(scan: Scan, isInForeground: Bool)], isSearching: Bool, findsOverflow: Bool) {
    self.init(transport: "le", duplicateData: isSearching)
    var uuids: Set<BluetoothUUID> = []
    var isOpen = isSearching || findsOverflow
    for (scan, isInForeground) in scans {
      if isInForeground, scan.request.allowDuplicates { duplicateData = true }
      // bluetoothd's filter looks at offered services only.
      if scan.request.uuidCount == 0 || !scan.request.solicitedServices.isEmpty { isOpen = true }
      uuids.formUnion(scan.request.services ?? [])
    }
    self.uuids = isOpen ? [] : uuids.sorted()
    // For a peripheral whose advertisement does not set a discoverable flag, bluetoothd reports only the address,
    // unless the filter has services or an RSSI limit. The limit used here is the weakest signal that can be heard.
    if isOpen { rssi = -127 }
  }
}
