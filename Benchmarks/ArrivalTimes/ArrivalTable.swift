import Foundation

/// The times of many arrivals, as a table for docs/arrival.md.
package enum ArrivalTable {
  package struct Row: Sendable {
    package let connectionInterval: Duration
    package let isDead: Bool
    /// Sorted, in seconds.
    package let toLink: [Double]
    package let toAcceptance: [Double]
    package let total: [Double]
    package let missed: Int
    package let writes: Int
    package let reads: Int
  }

  /// The advertising interval that `setup lock` and latchkeyd ask for.
  package static let advertising: Duration = .microseconds(152_500)
  /// How long the kernel's scan listens in each 60 ms.
  package static let scanWindow: Duration = .milliseconds(30)

  package static func row(_ count: Int, seed: UInt64, connectionInterval: Duration, isDead: Bool) async -> Row? {
    guard
      let accepted = await AcceptanceTimes.measure(
        count, seed: seed, connectionInterval: connectionInterval, isDead: isDead)
    else { return nil }
    var links: [Double] = []
    for number in 0..<accepted.times.count {
      let time = LinkTimes.one(
        seed: seed &* 1_000_003 &+ UInt64(number), advertising: advertising, scanWindow: scanWindow)
      guard let time else { return nil }
      links.append(time / .seconds(1))
    }
    return Row(
      connectionInterval: connectionInterval, isDead: isDead, toLink: links.sorted(),
      toAcceptance: accepted.times.sorted(), total: zip(links, accepted.times).map(+).sorted(),
      missed: accepted.missed, writes: accepted.writes, reads: accepted.reads)
  }

  /// The smallest value that this percentage of all does not exceed; 0 if there are none.
  package static func percentile(_ percent: Double, _ sorted: [Double]) -> Double {
    guard !sorted.isEmpty else { return 0 }
    let rank = Int((percent / 100 * Double(sorted.count)).rounded(.up))
    return sorted[min(max(rank, 1), sorted.count) - 1]
  }

  package static let header = """
    | connection interval | app | arrivals | in range to link p50, p95 | link to accepted p50, p95 | in range to accepted p50, p95 | writes, reads an arrival |
    |---|---|---|---|---|---|---|
    """

  package static func line(_ row: Row) -> String {
    func pair(_ values: [Double]) -> String {
      [50.0, 95].map { "\(Int((percentile($0, values) * 1000).rounded())) ms" }.joined(separator: ", ")
    }
    let arrivals = row.total.count
    func each(_ count: Int) -> String {
      String(format: "%.2f", Double(count) / Double(max(arrivals + row.missed, 1)))
    }
    let missed = row.missed == 0 ? "" : " (\(row.missed) missed)"
    return
      "| \(row.connectionInterval / .milliseconds(1)) ms | \(row.isDead ? "dead" : "alive") | \(arrivals)\(missed) "
      + "| \(pair(row.toLink)) | \(pair(row.toAcceptance)) | \(pair(row.total)) "
      + "| \(each(row.writes)), \(each(row.reads)) |"
  }
}
