import Foundation
import Glibc
import Worlds

/// A ratio: a figure that is nearly the same on every machine.
struct Figure: Sendable, Codable {
  var name: String
  var value: Double
  /// At most this, or `nil` if nothing was promised.
  var target: Double?

  enum CodingKeys: String, CodingKey {
    case name = "name"
    case value = "value"
  }

  init(_ name: String, _ value: Double, target: Double? = nil) {
    (self.name, self.value, self.target) = (name, value, target)
  }
}

/// The figures of an earlier run, which are kept with the sources.
struct Baseline: Sendable, Codable {
  var machine: String
  var date: String
  var figures: [Figure]

  static func read(_ path: String) throws -> Baseline {
    try JSONDecoder().decode(Baseline.self, from: try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  func write(_ path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try (encoder.encode(self) + Data("\n".utf8)).write(to: URL(fileURLWithPath: path))
  }

  /// What a figure was, or `nil` if it is new.
  func last(_ name: String) -> Double? { figures.first { $0.name == name }?.value }

  /// The figures that have become worse by more than a tenth. All of them are better if they are smaller.
  func worse(_ now: [Figure]) -> [Figure] {
    now.filter { figure in last(figure.name).map { figure.value > $0 * 1.1 } ?? false }
  }

  /// A table in Markdown: each figure beside its target and its last value.
  func table(_ now: [Figure]) -> String {
    let rows = now.map { figure in
      "| \(figure.name) | \(Self.text(figure.value)) | \(figure.target.map(Self.text) ?? "") "
        + "| \(last(figure.name).map(Self.text) ?? "") |"
    }
    return (["| | now | at most | last (\(machine), \(date)) |", "|---|---|---|---|"] + rows).joined(separator: "\n")
  }

  private static func text(_ value: Double) -> String {
    value >= 1000 ? String(Int(value.rounded())) : String((value * 1000).rounded() / 1000)
  }
}

/// What is compared for `make bench-check`: ratios of processor times and of page faults, taken side by side. The least of
/// many is used, so that a busy machine changes little.
enum Ratios {
  static func measure(executables: Executables, progress: (String) -> Void) throws -> [Figure] {
    let starts = try AppStart.measure(41, executables: executables, progress: progress)
    return decisions(progress) + [
      Figure("the agent's start to its first event, dbus-send's = 1", starts.agent.seconds / starts.least.seconds),
      Figure(
        "page faults of that, dbus-send's = 1", Double(starts.agent.pageFaults) / Double(starts.least.pageFaults)),
    ]
  }

  private static func decisions(_ progress: (String) -> Void) -> [Figure] {
    progress("events with 1, 1,000 and 10,000 requests held")
    var holders = [1, 1000, 10_000].map { HeldRequests(holding: $0) }
    var least = holders.map { _ in Double.infinity }
    for _ in 0..<200 {
      for index in holders.indices {
        least[index] = min(least[index], seconds { for _ in 0..<10 { holders[index].carryOutRound() } })
      }
    }
    progress("starts with 2,000 and 8,000 requests held")
    let starts = [2000, 8000].map { count in
      (0..<7).map { _ in seconds { _ = HeldRequests(holding: count) } }.min() ?? 0
    }
    return [
      Figure("an event with 1,000 requests held, with 1 = 1", least[1] / least[0]),
      Figure("an event with 10,000 requests held, with 1 = 1", least[2] / least[0]),
      Figure("a start for each request with 8,000 held, with 2,000 = 1", starts[1] / starts[0] / 4),
    ]
  }

  /// Of this thread's processor time.
  private static func seconds(_ work: () -> Void) -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let begin = now()
    work()
    return now() - begin
  }
}
