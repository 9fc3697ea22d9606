import BluetoothTypes

/// The peripherals that a scan has told an app of, and what it has told about each.
///
/// Most devices change their addresses every few minutes, and a scan may go on for weeks. So only the peripherals that were
/// heard last are remembered. One that was forgotten and is heard again is told once more.
package struct ToldPeripherals: Sendable {
  private struct Entry: Sendable {
    var advertisement = ToldAdvertisement()
    /// Grows with each advertisement that is heard.
    var heard: UInt64 = 0
  }

  private var entries: [PeerIdentifier: Entry] = [:]
  private var lastHeard: UInt64 = 0

  /// How many are remembered at least.
  package static let kept = 4096
  /// At this many, those not heard for longest are forgotten. Sorting them is then worth its cost.
  private static let limit = 2 * kept

  package init() {}

  /// - Parameter peripherals: those of which an app was told before. It is unknown what it was told about them.
  package init(_ peripherals: some Sequence<PeerIdentifier>) {
    for peripheral in peripherals { note(peripheral) { _ in } }
  }

  /// The peripherals that were heard last, at most `kept`, in no order.
  package var newest: [PeerIdentifier] { Array(byAge.suffix(Self.kept)) }

  private var byAge: [PeerIdentifier] {
    entries.count > Self.kept ? entries.sorted { $0.value.heard < $1.value.heard }.map(\.key) : Array(entries.keys)
  }

  package subscript(peripheral: PeerIdentifier) -> ToldAdvertisement? { entries[peripheral]?.advertisement }

  /// The peripheral was heard, and the app will be told of it. Returns whether anything in the advertisement is news.
  package mutating func takes(_ peripheral: PeerIdentifier, _ advertisement: AdvertisementData) -> Bool {
    note(peripheral) { $0.takes(advertisement) }
  }

  /// Forgets the peripheral: it is news when it is heard again. Returns whether it was known.
  @discardableResult package mutating func forget(_ peripheral: PeerIdentifier) -> Bool {
    entries.removeValue(forKey: peripheral) != nil
  }

  private mutating func note<Result>(
    _ peripheral: PeerIdentifier, _ change: (inout ToldAdvertisement) -> Result
  ) -> Result {
    lastHeard += 1
    entries[peripheral, default: Entry()].heard = lastHeard
    let result = change(&entries[peripheral, default: Entry()].advertisement)
    if entries.count >= Self.limit {
      for oldest in byAge.dropLast(Self.kept) { entries[oldest] = nil }
    }
    return result
  }
}
