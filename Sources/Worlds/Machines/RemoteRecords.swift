import ChildProcesses
import Foundation
import Glibc
import Journal
import JournalEvents
import TimeTypes

/// What the machines' journals and the air have reported, with the world's times. Several threads add to it, one
/// takes it away.
final class RemoteRecords: @unchecked Sendable {
  // Guarded by the condition.
  private let condition = NSCondition()
  private var entries: [JournalEntry] = []
  private var arrivals = 0
  private var followers: [String: JournalFollower] = [:]
  /// The story's own apps on each machine, by their units.
  private var apps: [String: [String: InstalledApp]] = [:]
  private var expectedEnds: [String: Int] = [:]
  private var unexpectedEnds: [String: [UnexpectedEnd]] = [:]
  private let beginning: Int64
  private let beganAt = unixNanoseconds()
  private let files: [String: Int32]
  /// Whether links are recorded from the machines' bluetoothds, and not from the air.
  let recordsLinks: Bool

  /// - Parameter machines: the whole journal of each goes into a file.
  init(run: RunFolder, machines: [String], recordsLinks: Bool) throws {
    beginning = Self.bootNanoseconds()
    self.recordsLinks = recordsLinks
    var files: [String: Int32] = [:]
    for machine in machines {
      try RunFolder.make(run.folder(of: machine))
      let path = "\(run.folder(of: machine))/journal.txt"
      let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      guard file >= 0 else { throw WorldError.system(path, errno) }
      files[machine] = file
    }
    self.files = files
  }

  deinit {
    for file in files.values { close(file) }
  }

  private static func bootNanoseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_BOOTTIME, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
  }

  /// The world's time, in nanoseconds since its beginning.
  var now: Int64 { Self.bootNanoseconds() - beginning }

  func add(_ machine: String, _ follower: JournalFollower, apps: [InstalledApp] = []) {
    condition.lock()
    followers[machine] = follower
    self.apps[machine] = Dictionary(uniqueKeysWithValues: apps.map { (StoryUnit($0).name, $0) })
    condition.unlock()
  }

  // MARK: Arrivals

  func take(_ line: SystemdJournalLine, machine: String) {
    condition.lock()
    let follower = followers[machine]
    let app = line.fields["_SYSTEMD_UNIT"].flatMap { apps[machine]?[$0] }
    condition.unlock()
    // A line without a time, or from before the clock was asked, gets the present time.
    let t = line.unixNanoseconds.flatMap { follower?.clock.instant(ofUnixNanoseconds: $0) }?.nanoseconds ?? now
    write(line, t, machine)
    if let (unit, end) = line.failedUnit { unitFailed(unit, end, machine, pid: line.fields["_PID"]) }
    if let app, let record = AppRecord(line.fields["MESSAGE"] ?? "") {
      let pid = Int32(line.fields["_PID"] ?? "") ?? 0
      return add(record.entry(app.name, machine: machine, t: t, wall: beganAt + t, pid: pid))
    }
    guard let entry = line.entry(machine: machine, t: t, wall: beganAt + t) else { return }
    add(entry)
  }

  /// Writes a line to the machine's log file. The file has everything, including what other programs logged, for a
  /// person who looks for a cause.
  private func write(_ line: SystemdJournalLine, _ t: Int64, _ machine: String) {
    guard let file = files[machine] else { return }
    let who = line.fields["SYSLOG_IDENTIFIER"] ?? line.fields["_COMM"] ?? "?"
    var text = "\(Instant(nanoseconds: t)) \(who): \(line.fields["MESSAGE"] ?? "")"
    let own = JournalFieldNames.names(line.fields[JournalFieldNames.variable] ?? "")
    for name in own { text += " \(name)=\(line.fields[JournalFieldNames.systemdName(name)] ?? "")" }
    let bytes = Array(text.utf8) + [0x0A]
    _ = Glibc.write(file, bytes, bytes.count)
  }

  /// The air, or a bluetoothd, reports a link.
  func record(_ process: String, _ event: Recorded.Radio, _ fields: [JournalField: String], machine: String = "") {
    let t = now
    add(
      JournalEntry(
        t: t, wall: beganAt + t, machine: machine, process: process, pid: 0, level: "notice", event: event.rawValue,
        message: event.rawValue, fields: fields.named))
  }

  func link(_ device: String, isUp: Bool, machine: String) {
    record(Recorded.bluetoothd, isUp ? .linkUp : .linkDown, [.device: device], machine: machine)
  }

  private func add(_ entry: JournalEntry) {
    condition.lock()
    entries.append(entry)
    arrivals += 1
    condition.broadcast()
    condition.unlock()
  }

  // MARK: Ends

  /// A fault is about to end this unit's process, so its next end is not unexpected.
  func expectEnd(of unit: String, on machine: String) {
    condition.lock()
    expectedEnds["\(machine)/\(unit)", default: 0] += 1
    condition.unlock()
  }

  /// The units whose ends are recorded, and the names of their processes. latchkeyd reports the ends of apps. Units
  /// of others are ignored.
  static let processes = [
    RemoteMachine.daemonUnit: Recorded.daemon, RemoteMachine.bluetoothUnit: Recorded.bluetoothd,
    "dbus.service": "dbus-daemon", "dbus-broker.service": "dbus-broker",
  ]

  private func unitFailed(_ unit: String, _ end: ProcessEnd, _ machine: String, pid: String?) {
    guard let process = Self.processes[unit] else { return }
    condition.lock()
    defer { condition.unlock() }
    arrivals += 1
    condition.broadcast()
    if let count = expectedEnds["\(machine)/\(unit)"], count > 0 {
      expectedEnds["\(machine)/\(unit)"] = count - 1
      return
    }
    unexpectedEnds[machine, default: []].append(UnexpectedEnd(process: process, pid: 0, end: end))
  }

  func takeUnexpectedEnds(of machine: String) -> [UnexpectedEnd] {
    condition.lock()
    defer { condition.unlock() }
    return unexpectedEnds.removeValue(forKey: machine) ?? []
  }

  // MARK: For the thread that takes

  /// What has arrived since the last call.
  func takeEntries() -> [JournalEntry] {
    condition.lock()
    defer { condition.unlock() }
    defer { entries = [] }
    return entries
  }

  /// How many entries have arrived so far.
  var count: Int {
    condition.lock()
    defer { condition.unlock() }
    return arrivals
  }

  /// Returns when more than `count` have arrived, or at `limit` at the latest.
  func wait(beyond count: Int, until limit: Instant) {
    condition.lock()
    defer { condition.unlock() }
    while arrivals == count {
      let left = Double(limit.nanoseconds - now) / 1e9
      guard left > 0 else { return }
      _ = condition.wait(until: Date(timeIntervalSinceNow: left))
    }
  }
}
