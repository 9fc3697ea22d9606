import Foundation
import Glibc
import Synchronization

/// A private dbus-daemon, on a socket in a folder of its own.
package final class BusDaemon: Sendable {
  package let address: String
  package let process: RunningProcess
  /// The writing end of its standard input, if it lives only as long as that.
  private let lifeline: Mutex<Int32?>

  /// Returns when the bus accepts connections.
  ///
  /// - Parameters:
  ///   - configuration: by default `BusConfiguration.text`.
  ///   - folder: for its configuration and its log, `bus.xml` and `bus.log`.
  ///   - endsWithThisProcess: it is killed when this process ends, in whatever way. Then `process` is the shell that
  ///     does so.
  package init(
    executable: String = "/usr/bin/dbus-daemon", socket: String, folder: String, configuration: String? = nil,
    environment: [String: String], endsWithThisProcess: Bool = false
  ) throws {
    address = BusConfiguration.address(ofSocket: socket)
    // A killed bus leaves its socket behind.
    unlink(socket)
    let file = "\(folder)/bus.xml"
    try (configuration ?? BusConfiguration.text(socket: socket)).write(toFile: file, atomically: true, encoding: .utf8)
    let log = "\(folder)/bus.log"
    let standardError = try openLog(log)
    defer { close(standardError) }
    let (reading, writing) = try makePipe()
    defer { close(reading) }
    do {
      defer { close(writing) }
      var start = ProcessStart(
        executable: executable,
        arguments: ["--config-file=\(file)", "--nofork", "--nopidfile", "--nosyslog", "--print-address=1"],
        environment: environment, standardOutput: writing, standardError: standardError)
      if endsWithThisProcess {
        let (inputReading, inputWriting) = try makePipe()
        defer { close(inputReading) }
        start = start.endingWithInput
        start.standardInput = inputReading
        lifeline = Mutex(inputWriting)
        process = try Self.start(start, lifeline: inputWriting)
      } else {
        lifeline = Mutex(nil)
        process = try RunningProcess("dbus-daemon", start)
      }
    }
    // It prints its address when it listens. The end of the pipe means that it has ended.
    var poller = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
    while poll(&poller, 1, 600_000) < 0, errno == EINTR {}
    var byte: UInt8 = 0
    guard poller.revents & Int16(POLLIN) != 0, read(reading, &byte, 1) == 1 else {
      throw ChildProcessError("dbus-daemon does not start\(logTail(log))")
    }
  }

  deinit { cutLifeline() }

  /// Kills it, and returns when it has ended.
  package func end() {
    // The shell beside it kills it, and then ends.
    if !cutLifeline() { process.signal(SIGKILL) }
    try? process.waitForEnd(limit: .seconds(600))
  }

  /// - Returns: whether there was a lifeline.
  @discardableResult
  private func cutLifeline() -> Bool {
    lifeline.withLock { lifeline in
      guard let descriptor = lifeline else { return false }
      close(descriptor)
      lifeline = nil
      return true
    }
  }

  private static func start(_ start: ProcessStart, lifeline: Int32) throws -> RunningProcess {
    do { return try RunningProcess("dbus-daemon", start) } catch {
      close(lifeline)
      throw error
    }
  }
}
