import ChildProcesses
import Foundation
import Glibc
import SystemBus

/// A dbus-daemon for one test, which ends with this object.
package final class PrivateBus: Sendable {
  package let address: BusAddress
  private let daemon: BusDaemon
  private let folder: String

  /// The daemon's process.
  package var processIdentifier: pid_t { daemon.process.pid }

  package struct Failure: Error, CustomStringConvertible {
    package let description: String
    package init(description: String) { self.description = description }
  }

  /// Starts the daemon and returns when it listens.
  package init() throws {
    var template = Array("/tmp/latchkey-bus-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure(description: "mkdtemp: errno \(errno)") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let configuration = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
       "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <type>session</type>
        <listen>unix:path=\(folder)/bus</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          <allow send_destination="*" eavesdrop="true"/>
          <allow eavesdrop="true"/>
          <allow own="*"/>
        </policy>
      </busconfig>
      """
    daemon = try BusDaemon(
      socket: folder + "/bus", folder: folder, configuration: configuration,
      environment: ProcessInfo.processInfo.environment)
    address = BusAddress(daemon.address)
  }

  deinit {
    daemon.end()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Kills the daemon. Every connection to it ends.
  package func stop() { daemon.process.signal(SIGKILL) }
}
