import AppLink
import AppLinkBus
import CSystemd
import Foundation
import Logging

/// The link of a process that is an app, to latchkeyd over the bus.
enum ProcessLink {
  static func make(_ delegate: any AppLinkDelegate, _ logger: Logger) -> AppSession.Link {
    // Into a file or a pipe, C's library would keep what the app prints until there is a lot of it. The journal would be
    // late, and an app that is killed would lose its last lines.
    latchkey_write_out_each_line()
    let client = AppLinkClient(logger: logger, delegate: delegate)
    return AppSession.Link(connection: client) { try client.start() }
  }

  /// Foundation on Linux writes UserDefaults only when it is told to. If nothing has changed, that takes 10 µs.
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
