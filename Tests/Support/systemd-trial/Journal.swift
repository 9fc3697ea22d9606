import ChildProcesses
import Foundation
import JournalEvents
import Synchronization

/// One entry of the machine's journal.
struct Entry: Sendable {
  /// Its position in what was read.
  var index: Int
  var fields: [String: String]
  /// When it was read.
  var seen: ContinuousClock.Instant

  var event: String? { fields["LATCHKEY_EVENT"] }
  var message: String { fields["MESSAGE"] ?? "" }
  var machine: String { fields["LATCHKEY_MACHINE"] ?? "" }
  var process: Int32 { fields["_PID"].flatMap { Int32($0) } ?? 0 }
  subscript(_ field: String) -> String? { fields["LATCHKEY_FIELD_" + field.uppercased()] }
}

struct TrialError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Follows systemd's journal as `journalctl` reads it.
final class JournalFollower: @unchecked Sendable {
  // Guarded by the condition.
  private let condition = NSCondition()
  private var entries: [Entry] = []
  private var process: LineProcess?

  init() throws {
    process = try LineProcess(
      "journalctl", executable: "/usr/bin/journalctl",
      arguments: ["--follow", "--output=json", "--all", "--lines=all"],
      environment: ProcessInfo.processInfo.environment, log: "/dev/null", onLine: { [weak self] in self?.take($0) },
      onEnd: {})
  }

  private func take(_ line: Data) {
    guard let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any] else { return }
    condition.lock()
    entries.append(
      Entry(index: entries.count, fields: object.compactMapValues { $0 as? String }, seen: ContinuousClock.now))
    condition.broadcast()
    condition.unlock()
  }

  /// The position after everything that has been read.
  var end: Int {
    condition.lock()
    defer { condition.unlock() }
    return entries.count
  }

  func recent(_ count: Int) -> [Entry] {
    condition.lock()
    defer { condition.unlock() }
    return Array(entries.suffix(count))
  }

  /// Waits for an entry from `start` on.
  @discardableResult
  func wait(
    for what: String, from start: Int, within seconds: Double = 120, where fits: (Entry) -> Bool
  ) throws -> Entry {
    let limit = Date(timeIntervalSinceNow: seconds)
    var next = start
    condition.lock()
    defer { condition.unlock() }
    while true {
      while next < entries.count {
        if fits(entries[next]) { return entries[next] }
        next += 1
      }
      guard condition.wait(until: limit) else { throw TrialError("\(what) did not happen within \(seconds) s") }
    }
  }

  @discardableResult
  func wait(
    _ event: some JournalEvent, machine: String = "", from start: Int, _ fields: [JournalField: String] = [:]
  ) throws -> Entry {
    let fields = fields.named
    return try wait(for: "\(event.rawValue) \(fields)", from: start) { entry in
      entry.event == event.rawValue && entry.machine == machine && fields.allSatisfy { entry[$0.key] == $0.value }
    }
  }
}
