import CSystemd
import Foundation
import Glibc

/// The processes of a world, recognised by a variable in their environment. Every child inherits it, and no process
/// can lose it by accident.
package struct WorldProcesses: Sendable {
  package static let worldVariable = "LATCHKEY_WORLD"
  static let machineVariable = "LATCHKEY_MACHINE"
  private static let appVariable = "LATCHKEY_INFO_PLIST"

  let world: String

  package init(world: String) { self.world = world }

  package struct Found: Sendable {
    package var pid: pid_t
    package var machine: String?
    /// The last component of its program's path.
    package var program: String
    /// The `Info.plist` of the app that it belongs to, if latchkeyd started it.
    package var infoPlist: String?
    package var parent: pid_t
  }

  /// Every living process of the world, including stopped ones.
  package func all() -> [Found] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc") else { return [] }
    return names.compactMap { name in pid_t(name).flatMap(examine) }
  }

  private func examine(_ pid: pid_t) -> Found? {
    guard pid != getpid(), let variables = Self.environment(of: pid), variables[Self.worldVariable] == world else {
      return nil
    }
    return Found(
      pid: pid, machine: variables[Self.machineVariable], program: Self.program(of: pid),
      infoPlist: variables[Self.appVariable], parent: Self.parent(of: pid))
  }

  /// The machine that a process says it belongs to.
  static func machine(of pid: pid_t) -> String? { environment(of: pid)?[machineVariable] }

  /// `nil` for another user's process, a zombie, or one that is just starting another program.
  private static func environment(of pid: pid_t) -> [String: String]? {
    var status = stat()
    guard stat("/proc/\(pid)", &status) == 0, status.st_uid == geteuid(),
      let data = FileManager.default.contents(atPath: "/proc/\(pid)/environ"), !data.isEmpty
    else { return nil }
    var variables: [String: String] = [:]
    for entry in data.split(separator: 0) {
      guard let equals = entry.firstIndex(of: UInt8(ascii: "=")) else { continue }
      let name = String(decoding: entry[..<equals], as: UTF8.self)
      if name.hasPrefix("LATCHKEY_") { variables[name] = String(decoding: entry[(equals + 1)...], as: UTF8.self) }
    }
    return variables
  }

  /// 0 if it is gone.
  private static func parent(of pid: pid_t) -> pid_t {
    let fields = status(of: pid)
    return fields.count > 1 ? pid_t(fields[1]) ?? 0 : 0
  }

  /// Whether it was stopped by a signal (proc_pid_stat(5)).
  static func isStopped(_ pid: pid_t) -> Bool { status(of: pid).first == "T" }

  private static func status(of pid: pid_t) -> [Substring] {
    guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat") else { return [] }
    // The program's name is in parentheses and may contain anything. The state and the parent follow.
    return String(decoding: data, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
  }

  private static func program(of pid: pid_t) -> String {
    let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")) ?? ""
    return String(path.split(separator: "/").last ?? "")
  }

  /// Sends a signal to the processes that match. After SIGSTOP, none of them runs another instruction of its own.
  func signal(_ number: Int32, where matches: (Found) -> Bool) {
    for process in all() where matches(process) {
      let descriptor = latchkey_pidfd_open(process.pid)
      guard descriptor >= 0 else { continue }
      defer { close(descriptor) }
      if examine(process.pid) != nil { _ = latchkey_pidfd_send_signal(descriptor, number) }
    }
  }

  /// Kills the processes that match, and those that they start in the meantime, until none is left. Waits until they
  /// have ended.
  ///
  /// - Returns: how many were killed.
  @discardableResult
  package func kill(where matches: (Found) -> Bool = { _ in true }) throws -> Int {
    var killed = 0
    // A process that is just starting another program shows no environment, so finding none once is not enough.
    var emptyRounds = 0
    var rounds = 0
    while emptyRounds < 2 {
      rounds += 1
      guard rounds < 1000 else { throw WorldError("processes of the world appear faster than they can be killed") }
      let found = all().filter(matches)
      if found.isEmpty {
        emptyRounds += 1
        sched_yield()
        continue
      }
      emptyRounds = 0
      for process in found where try Self.kill(process.pid, while: { examine(process.pid) != nil }) { killed += 1 }
    }
    return killed
  }

  /// Kills by a descriptor, so that a reused process number can't hit another process.
  private static func kill(_ pid: pid_t, while isOurs: () -> Bool) throws -> Bool {
    let descriptor = latchkey_pidfd_open(pid)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    guard isOurs(), latchkey_pidfd_send_signal(descriptor, SIGKILL) == 0 else { return false }
    var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&poller, 1, 10_000) < 0, errno == EINTR {}
    guard poller.revents != 0 else { throw WorldError("process \(pid) does not die of SIGKILL") }
    return true
  }
}
