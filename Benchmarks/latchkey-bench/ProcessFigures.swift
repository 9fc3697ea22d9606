import Foundation
import Glibc
import Worlds

/// What one process costs at a given time: memory, and how often it has been woken since its start.
struct ProcessFigures: Sendable, Equatable {
  var residentKiB: Int
  var proportionalKiB: Int
  /// The processor time of all its threads since its start, ended ones included, in steps of 10 ms.
  var processorSeconds: Double
  /// How many times each of its threads was scheduled after waiting: voluntary context switches.
  private var wakeUpsByThread: [Int32: Int] = [:]

  /// - Throws: `WorldError` if the process has ended.
  init(pid: Int32) throws {
    let rollup = try Self.values("/proc/\(pid)/smaps_rollup")
    residentKiB = rollup["Rss"] ?? 0
    proportionalKiB = rollup["Pss"] ?? 0
    processorSeconds = try Self.processorSeconds(of: pid)
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
    for thread in threads {
      guard let identifier = Int32(thread), let status = try? Self.values("/proc/\(pid)/task/\(thread)/status") else {
        continue
      }
      wakeUpsByThread[identifier] = status["voluntary_ctxt_switches"] ?? 0
    }
  }

  /// How often the process was woken since an earlier reading. A thread that has ended since counts once, for its
  /// end.
  func wakeUps(since earlier: ProcessFigures) -> Int {
    let lasting = wakeUpsByThread.reduce(0) { $0 + $1.value - (earlier.wakeUpsByThread[$1.key] ?? 0) }
    return lasting + earlier.wakeUpsByThread.keys.count { wakeUpsByThread[$0] == nil }
  }

  /// The processor time of this process so far.
  static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func processorSeconds(of pid: Int32) throws -> Double {
    let contents = FileManager.default.contents(atPath: "/proc/\(pid)/stat")
    let text = String(decoding: contents ?? Data(), as: UTF8.self)
    // The program's name is in parentheses and may contain anything. User and system time are the 12th and 13th after it.
    let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
    guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
      throw WorldError("/proc/\(pid)/stat can't be read")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// The numbers of lines such as `Rss:    1234 kB`.
  private static func values(_ path: String) throws -> [String: Int] {
    guard let text = FileManager.default.contents(atPath: path).map({ String(decoding: $0, as: UTF8.self) }) else {
      throw WorldError("\(path) can't be read")
    }
    var values: [String: Int] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, let number = Int(parts[1].split(whereSeparator: { " \t".contains($0) }).first ?? "")
      else {
        continue
      }
      values[String(parts[0])] = number
    }
    return values
  }
}
