import Foundation
import Glibc
import Worlds

/// A measured figure, and its target.
struct Figure: Sendable, Codable {
  enum Target: Sendable {
    case atMost(Double)
    case atLeast(Double)

    func isMet(by value: Double) -> Bool {
      switch self {
      case .atMost(let most): value <= most
      case .atLeast(let least): value >= least
      }
    }
  }

  var name: String
  var value: Double
  var unit = ""
  /// The value that was promised, or `nil` if none was.
  var target: Target?
  /// Whether an earlier value can tell that it got worse. One that varies by more than a tenth can't.
  var isCompared = true

  enum CodingKeys: String, CodingKey {
    case name = "name"
    case value = "value"
  }

  init(_ name: String, _ value: Double, _ unit: String = "", _ target: Target? = nil) {
    (self.name, self.value, self.unit, self.target) = (name, value, unit, target)
  }

  /// The same figure, which is only shown.
  var shown: Figure {
    var figure = self
    figure.isCompared = false
    return figure
  }
}

/// The figures of an earlier run, which are stored with the sources.
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

  /// The figure's value in the earlier run, or `nil` if the figure is new.
  func last(_ name: String) -> Double? { figures.first { $0.name == name }?.value }

  /// The figures that have become worse by more than a tenth. For all of them, smaller is better.
  func worse(_ now: [Figure]) -> [Figure] {
    now.filter(\.isCompared).filter { figure in last(figure.name).map { figure.value > $0 * 1.1 } ?? false }
  }

  /// A table in Markdown: each figure beside its target and its last value.
  func table(_ now: [Figure]) -> String { Self.table(now, last: self) }

  static func table(_ now: [Figure], last: Baseline?) -> String {
    let head = last.map { "last (\($0.machine), \($0.date))" } ?? "last"
    let rows = now.map { figure in
      let wanted = figure.target.map { "\(words($0)): \($0.isMet(by: figure.value) ? "yes" : "no")" } ?? ""
      let name = figure.unit.isEmpty ? figure.name : "\(figure.name), \(figure.unit)"
      return "| \(name) | \(text(figure.value)) | \(wanted) | \(last?.last(figure.name).map(text) ?? "") |"
    }
    return (["| | now | wanted | \(head) |", "|---|---|---|---|"] + rows).joined(separator: "\n")
  }

  private static func words(_ target: Figure.Target) -> String {
    switch target {
    case .atMost(let most): "at most \(text(most))"
    case .atLeast(let least): "at least \(text(least))"
    }
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
      Figure("the agent's start to its first event, dbus-send's = 1", starts.agent.seconds / starts.least.seconds)
        .shown,
      Figure(
        "page faults of that, dbus-send's = 1", Double(starts.agent.pageFaults) / Double(starts.least.pageFaults)),
    ]
  }

  private static func decisions(_ progress: (String) -> Void) -> [Figure] {
    progress("events with 1, 1,000 and 10,000 requests held, and with 100 apps")
    var holders = [
      HeldRequests(holding: 1), HeldRequests(holding: 1000), HeldRequests(holding: 10_000),
      HeldRequests(holding: 100), HeldRequests(holding: 100, apps: 100),
    ]
    var least = holders.map { _ in Dictionary(uniqueKeysWithValues: kinds.map { ($0, Double.infinity) }) }
    for _ in 0..<2000 {
      for index in holders.indices {
        for kind in kinds {
          let took = seconds { holders[index].carryOut(kind) }
          least[index][kind] = min(least[index][kind] ?? took, took)
        }
      }
    }
    func ratio(_ one: Int, _ other: Int, _ kinds: [HeldRequests.Kind]) -> Double {
      kinds.compactMap { least[one][$0] }.reduce(0, +) / kinds.compactMap { least[other][$0] }.reduce(0, +)
    }
    progress("starts with 2,000 and 8,000 requests held")
    let starts = [2000, 8000].map { count in
      (0..<7).map { _ in seconds { _ = HeldRequests(holding: count) } }.min() ?? 0
    }
    return [
      Figure("an event with 1,000 requests held, with 1 = 1", ratio(1, 0, kinds), "", .atMost(1.1)),
      Figure("an event with 10,000 requests held, with 1 = 1", ratio(2, 0, kinds), "", .atMost(1.1)),
    ]
      + kinds.map { kind in
        Figure("\(kind.rawValue), with 10,000 requests held, with 1 = 1", ratio(2, 0, [kind]), "", .atMost(1.1))
      } + [
        Figure("an event with 100 apps of one request each, with one app of 100 = 1", ratio(4, 3, kinds)),
        Figure("a start for each request with 8,000 held, with 2,000 = 1", starts[1] / starts[0] / 4, "", .atMost(1.1))
          .shown,
      ]
  }

  private static let kinds = HeldRequests.Kind.allCases

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
