import AppLink
import AppLinkBus
import Logging

/// The link of a process that is an app, to latchkeyd over the bus.
enum ProcessLink {
  static func make(_ delegate: any AppLinkDelegate, _ logger: Logger) -> AppSession.Link {
    let client = AppLinkClient(logger: logger, delegate: delegate)
    return AppSession.Link(connection: client) { try client.start() }
  }
}
