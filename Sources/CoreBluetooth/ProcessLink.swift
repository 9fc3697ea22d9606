import AppLink
import AppLinkBus
import CSystemd
import Foundation
import Logging

/// The link of a process that is an app, to latchkeyd over the bus.
enum ProcessLink {
  static func make(_ delegate: any AppLinkDelegate, _ logger: Logger) -> AppSession.Link {
    // If the output is a file or a pipe, the C library would collect a lot of it before it writes. The journal would be
    // late, and an app that is killed would lose its last lines.
    latchkey_write_out_each_line()
    let client = AppLinkClient(logger: logger, delegate: delegate)
    return AppSession.Link(connection: client) { try client.start() }
  }

  /// Writes the app's `UserDefaults` to disk. Foundation on Linux does that only when it is told to. If nothing has
  /// changed, this takes 10 µs.
  static func keepDefaults() { UserDefaults.standard.synchronize() }
}

extension AppSession {
  /// A link, and the function that starts it.
  package struct Link {
    let connection: any AppLinkConnection
    let start: () throws -> Void

    package init(connection: any AppLinkConnection, start: @escaping () throws -> Void) {
      self.connection = connection
      self.start = start
    }
  }
}
