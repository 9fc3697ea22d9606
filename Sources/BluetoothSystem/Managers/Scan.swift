import AppLink
import BlueZ
import BluetoothTypes

/// One manager's scan: what it looks for, and what it has found.
struct Scan: Sendable {
  let request: ScanRequest
  /// Peripherals that this scan has already reported, and what it has told about each.
  private var reported: ToldPeripherals

  /// - Parameter reported: peripherals that the app was told of before this system started. It is unknown what the
  ///   app was told about them.
  init(_ request: ScanRequest, reported: some Sequence<PeerIdentifier> = []) {
    self.request = request
    self.reported = ToldPeripherals(reported)
  }

  /// Whether it goes on, and what it is told then.
  enum Activity: Comparable, Sendable { case none, inBackground, inForeground }
  private var activity = Activity.none

  /// Returns whether the app is told more from now on than before.
  mutating func becomes(_ new: Activity) -> Bool {
    defer { activity = new }
    return new > activity
  }

  /// In the background, a scan without a filter finds nothing (Apple, "Core Bluetooth Background Processing").
  func goesOn(inForeground isInForeground: Bool) -> Bool { isInForeground || request.services?.isEmpty == false }

  /// The services that this scan asks for and that an overflow area may contain (B6).
  func found(in overflow: OverflowArea) -> [BluetoothUUID] { (request.services ?? []).filter(overflow.mayContain) }

  /// Whether it looks for a peripheral that offers and solicits these services.
  /// - Parameter overflow: its overflow area. Only a scan that asks for a service finds it there.
  func looksFor(
    _ services: Set<BluetoothUUID>, soliciting solicited: [BluetoothUUID], overflow: OverflowArea?
  ) -> Bool {
    request.uuidCount == 0 || request.services?.contains(where: services.contains) == true
      || request.solicitedServices.contains(where: solicited.contains)
      || overflow.map({ !found(in: $0).isEmpty }) ?? false
  }

  /// A peripheral that the scan looks for was seen, with this advertisement. Returns whether to tell the app. The app
  /// is told the first time. In the foreground it is told again if the advertisement contains something new, or if the
  /// scan allows duplicates. In the background a peripheral is one discovery (B2).
  mutating func takes(
    _ peer: PeerIdentifier, _ advertisement: AdvertisementData, inForeground isInForeground: Bool
  ) -> Bool {
    let isFirst = reported[peer] == nil
    guard isFirst || isInForeground else { return false }
    let isNews = reported.takes(peer, advertisement)
    return isFirst || isNews || request.allowDuplicates
  }

  mutating func forgetReported() { reported = ToldPeripherals() }

  /// The app was connected to this peripheral and no longer is, so the peripheral is news again. Returns whether the
  /// scan had reported it.
  mutating func forgetReported(_ peer: PeerIdentifier) -> Bool { reported.forget(peer) }

  /// The app will be told of this peripheral.
  mutating func isReported(_ peer: PeerIdentifier, _ advertisement: AdvertisementData) {
    _ = reported.takes(peer, advertisement)
  }
}

extension ScanRequest {
  var uuidCount: Int { (services?.count ?? 0) + solicitedServices.count }
}

extension DiscoveryFilter {
  enum Search {
    /// Every advertisement is reported.
    case eager
    /// Each peripheral is reported when it comes, and then once in each of the kernel's rounds.
    case patient
  }

  /// What one discovery has to find for all these scans.
  /// - Parameters:
  ///   - search: how it also has to find a peripheral by its address.
  ///   - findsOverflow: it also has to find services in overflow areas. bluetoothd's filter does not know these.
  init(for scans: [(scan: Scan, isInForeground: Bool)], search: Search?, findsOverflow: Bool) {
    self.init(transport: "le", duplicateData: search == .eager)
    var uuids: Set<BluetoothUUID> = []
    var isOpen = search != nil || findsOverflow
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
