import BluetoothSystem
import CSystemd
import Foundation
import Glibc
import Synchronization
import Timekeeping

/// Runs apps as plain child processes. They outlive latchkeyd, and its successor adopts them.
package final class ChildProcessSupervisor: Supervisor {
  package let news: AsyncStream<SupervisorNews>

  private struct Watched {
    let bundleIdentifier: String
    let process: ProcessIdentity
    let isChild: Bool
  }

  private struct State {
    /// By pidfd.
    var watched: [Int32: Watched] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())
  private let continuation: AsyncStream<SupervisorNews>.Continuation
  private let wakeUp: Int32
  private let environment: @Sendable (InstalledApp) throws -> [String: String]
  private let logPath: @Sendable (InstalledApp) throws -> String?

  /// - Parameters:
  ///   - environment: an app's environment variables.
  ///   - logPath: the file for an app's output, or `nil` to share latchkeyd's own output.
  package init(
    environment: @escaping @Sendable (InstalledApp) throws -> [String: String],
    logPath: @escaping @Sendable (InstalledApp) throws -> String?
  ) throws {
    (news, continuation) = AsyncStream.makeStream()
    wakeUp = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    self.environment = environment
    self.logPath = logPath
    guard wakeUp >= 0 else { throw DaemonError("No eventfd: \(String(cString: strerror(errno))).") }
    let thread = Thread { [self] in watch() }
    thread.name = "supervisor"
    thread.start()
  }

  /// Stops watching. The apps go on.
  package func close() {
    state.withLock { $0.isClosed = true }
    ring()
  }

  // MARK: Supervisor

  package func launch(_ app: InstalledApp, _ options: LaunchOptions) throws -> ProcessIdentity? {
    let process = try ProcessIdentity.of(spawn(app))
    follow(app.declaration.bundleIdentifier, process, isChild: true)
    return process
  }

  package func adopt(_ bundleIdentifier: String, _ process: ProcessIdentity) {
    guard (try? ProcessIdentity.of(process.processIdentifier)) == process else {
      continuation.yield(
        .ended(ProcessEnd(bundleIdentifier: bundleIdentifier, process: process, how: "gone")))
      return
    }
    follow(bundleIdentifier, process, isChild: false)
  }

  package func suspend(_ bundleIdentifier: String, _ process: ProcessIdentity) { signal(process, SIGSTOP) }
  package func resume(_ bundleIdentifier: String, _ process: ProcessIdentity) { signal(process, SIGCONT) }
  package func kill(_ bundleIdentifier: String, _ process: ProcessIdentity) { signal(process, SIGKILL) }

  /// Child processes run as latchkeyd's own user. A process of root may be any app.
  package func verify(_ claim: AppClaim, answer: @escaping @Sendable (ClaimRefusal?) -> Void) {
    guard claim.userIdentifier == geteuid() || claim.userIdentifier == 0 else {
      answer(.notThatApp("The app runs as user \(claim.userIdentifier), and the system as user \(geteuid())."))
      return
    }
    answer(nil)
  }

  private func signal(_ process: ProcessIdentity, _ number: Int32) {
    // By its pidfd, because the process number may be reused at any moment. The descriptor stays open under the lock.
    state.withLock { state in
      guard let descriptor = state.watched.first(where: { $0.value.process == process })?.key else { return }
      _ = latchkey_pidfd_send_signal(descriptor, number)
    }
  }

  // MARK: Watching

  private func follow(_ bundleIdentifier: String, _ process: ProcessIdentity, isChild: Bool) {
    let descriptor = latchkey_pidfd_open(process.processIdentifier)
    // A child keeps its number until it is reaped. The number of any other process may have been reused before the
    // pidfd was opened.
    guard descriptor >= 0, isChild || (try? ProcessIdentity.of(process.processIdentifier)) == process else {
      if descriptor >= 0 { Glibc.close(descriptor) }
      let how = isChild ? Self.reap(process.processIdentifier) : "gone"
      continuation.yield(.ended(ProcessEnd(bundleIdentifier: bundleIdentifier, process: process, how: how)))
      return
    }
    state.withLock {
      $0.watched[descriptor] = Watched(bundleIdentifier: bundleIdentifier, process: process, isChild: isChild)
    }
    ring()
  }

  private func ring() {
    var one: UInt64 = 1
    _ = write(wakeUp, &one, 8)
  }

  /// One thread waits for the end of every process, and sleeps until there is one.
  private func watch() {
    while true {
      let (descriptors, isClosed) = state.withLock { (Array($0.watched.keys).sorted(), $0.isClosed) }
      if isClosed { break }
      var polled = ([wakeUp] + descriptors).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&polled, nfds_t(polled.count), -1) >= 0 || errno == EINTR else { break }
      if polled[0].revents != 0 {
        var count: UInt64 = 0
        _ = read(wakeUp, &count, 8)
      }
      for entry in polled.dropFirst() where entry.revents != 0 { ended(entry.fd) }
    }
    for descriptor in state.withLock({ Array($0.watched.keys) }) { Glibc.close(descriptor) }
    Glibc.close(wakeUp)
    continuation.finish()
  }

  private func ended(_ descriptor: Int32) {
    guard let watched = state.withLock({ $0.watched.removeValue(forKey: descriptor) }) else { return }
    Glibc.close(descriptor)
    let how = watched.isChild ? Self.reap(watched.process.processIdentifier) : "gone"
    continuation.yield(
      .ended(ProcessEnd(bundleIdentifier: watched.bundleIdentifier, process: watched.process, how: how)))
  }

  private static func reap(_ processIdentifier: Int32) -> String {
    var status: Int32 = 0
    guard waitpid(processIdentifier, &status, 0) == processIdentifier else { return "gone" }
    let signal = status & 0x7F
    return signal == 0 ? "exit \(status >> 8 & 0xFF)" : "signal \(signal)"
  }

  // MARK: Starting

  private func spawn(_ app: InstalledApp) throws -> Int32 {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A group of its own, so that Ctrl-C on latchkeyd does not reach its apps.
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    posix_spawnattr_setpgroup(&attributes, 0)
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    if let log = try logPath(app) {
      posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }
    _ = latchkey_close_from(&actions, 3)

    let arguments = ([app.executable] + app.arguments).map { strdup($0) } + [nil]
    let variables = try environment(app).sorted { $0.key < $1.key }.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var processIdentifier: Int32 = 0
    let result = posix_spawn(&processIdentifier, app.executable, &actions, &attributes, arguments, variables)
    guard result == 0 else {
      throw DaemonError("\(app.executable) can't be started: \(String(cString: strerror(result))).")
    }
    return processIdentifier
  }
}

extension ProcessIdentity {
  /// The process that has this number now (proc_pid_stat(5), field 22).
  /// - Throws: `DaemonError` if there is none.
  package static func of(_ processIdentifier: Int32) throws(DaemonError) -> ProcessIdentity {
    guard let data = FileManager.default.contents(atPath: "/proc/\(processIdentifier)/stat") else {
      throw DaemonError("There is no process \(processIdentifier).")
    }
    // The program's name is in parentheses and may contain anything. After the last parenthesis come only numbers.
    let fields = String(decoding: data, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 19, let ticks = UInt64(fields[19]) else {
      throw DaemonError("/proc/\(processIdentifier)/stat makes no sense.")
    }
    return ProcessIdentity(processIdentifier: processIdentifier, startTicks: ticks, boot: boot)
  }

  private static let boot = (try? BootIdentifier.ofThisBoot()) ?? ""
}
