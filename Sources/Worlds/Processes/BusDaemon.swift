import Foundation
import Glibc

/// A machine's own system bus: a private dbus-daemon on a socket in the run's folder.
final class BusDaemon {
  let address: String
  let process: RunningProcess

  /// Returns when the bus takes connections.
  init(
    executable: String, socket: String, folder: String, environment: [String: String]
  ) throws {
    address = BusConfiguration.address(ofSocket: socket)
    // A bus that was killed leaves its socket behind.
    unlink(socket)
    let configuration = "\(folder)/bus.xml"
    try BusConfiguration.text(socket: socket).write(toFile: configuration, atomically: true, encoding: .utf8)
    let log = "\(folder)/bus.log"
    let standardError = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard standardError >= 0 else { throw WorldError.system(log, errno) }
    defer { close(standardError) }
    let (reading, writing) = try makePipe()
    defer { close(reading) }
    do {
      defer { close(writing) }
      process = try RunningProcess(
        "dbus-daemon",
        ProcessStart(
          executable: executable,
          arguments: [
            "--config-file=\(configuration)", "--nofork", "--nopidfile", "--nosyslog", "--print-address=1",
          ], environment: environment, standardOutput: writing, standardError: standardError))
    }
    // It prints its address when it listens; the end of the pipe means that it ended.
    var poller = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
    while poll(&poller, 1, 20_000) < 0, errno == EINTR {}
    var byte: UInt8 = 0
    guard poller.revents & Int16(POLLIN) != 0, read(reading, &byte, 1) == 1 else {
      throw WorldError("dbus-daemon does not start\(logTail(log))")
    }
  }
}
