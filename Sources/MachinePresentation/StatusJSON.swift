import AppLink

/// What latchkeyd says, for programs. `man latchkey` describes the keys, which stay as they are.
package enum StatusJSON {
  /// Everything, as an object on one line.
  package static func status(_ status: SystemStatus) -> String {
    JSONText.object(
      [
        ("available", .bool(true)), ("version", .string(status.version)),
        ("bluetooth", .string(String(describing: status.bluetooth))),
        ("storeTrouble", .optional(status.storeTrouble) { .string($0) }),
      ] + apps(of: status) + [
        ("links", .array(status.links.map(peer))), ("linksLeftOut", .integer(status.linksLeftOut)),
        ("pairings", .array(status.pairings.map(pairing))), ("alerts", .array(status.alerts.map(alert))),
        ("doors", .array(status.states.map(door))), ("doorsLeftOut", .integer(status.statesLeftOut)),
        ("movements", .array(status.movements.map(movement))),
        ("movementsLeftOut", .integer(status.movementsLeftOut)),
      ] + wakes(status.wakes, leftOut: status.wakesLeftOut)
    ).text
  }

  /// latchkeyd is not on the bus.
  package static let away = JSONText.object([("available", .bool(false))]).text

  package static func apps(_ status: SystemStatus) -> String { JSONText.object(apps(of: status)).text }

  /// - Throws: `unknownApp` if there is no such app.
  package static func wakes(_ status: SystemStatus, app: String?) throws(AppLinkError) -> String {
    JSONText.object(wakes(try StatusText.wakes(status, of: app), leftOut: status.wakesLeftOut)).text
  }

  private static func apps(of status: SystemStatus) -> [(String, JSONText)] {
    [("apps", .array(status.apps.map(app))), ("appsLeftOut", .integer(status.appsLeftOut))]
  }

  private static func wakes(_ wakes: [WakeRecord], leftOut: Int) -> [(String, JSONText)] {
    [("wakes", .array(wakes.map(wake))), ("wakesLeftOut", .integer(leftOut))]
  }

  private static func app(_ app: AppStatus) -> JSONText {
    .object([
      ("bundleIdentifier", .string(app.bundleIdentifier)), ("state", .string(app.state.rawValue)),
      ("processIdentifier", .optional(app.processIdentifier) { .integer(Int($0)) }),
      ("quitByUser", .bool(app.quitByUser)), ("isAllowed", .bool(app.isAllowed)),
      ("launches", .integer(app.launches)),
      ("alert", .optional(app.alert) { .string($0) }), ("connectionCount", .integer(app.connections)),
      ("requestCount", .integer(app.pendingConnections)),
      ("connections", .array(app.peers.filter(\.isConnected).map(peer))),
      ("requests", .array(app.peers.filter { !$0.isConnected }.map(peer))),
      ("peersLeftOut", .integer(app.peersLeftOut)), ("isScanning", .bool(app.activity.isScanning)),
      ("isAdvertising", .bool(app.activity.isAdvertising)),
      ("publishedServices", .integer(app.activity.publishedServices)),
      ("subscribers", .integer(app.activity.subscribers)),
    ])
  }

  private static func peer(_ peer: PeerStatus) -> JSONText {
    .object([
      ("identifier", .string(peer.identifier.uuidString)), ("name", .optional(peer.name) { .string($0) }),
      ("address", .optional(peer.address) { .string($0) }),
      ("sinceUnixSeconds", .optional(peer.sinceUnixSeconds) { .number($0) }),
      ("signalDBm", .optional(peer.signalDBm) { .integer($0) }),
    ])
  }

  private static func door(_ state: ReportedState) -> JSONText {
    .object([
      ("app", .string(state.app)), ("subject", .string(state.subject)), ("text", .string(state.text)),
      ("sinceUnixSeconds", .optional(state.sinceUnixSeconds) { .number($0) }),
    ])
  }

  private static func movement(_ movement: ReportedMovement) -> JSONText {
    .object([
      ("app", .string(movement.app)), ("subject", .string(movement.subject)), ("text", .string(movement.text)),
      ("unixSeconds", .number(movement.unixSeconds)),
    ])
  }

  private static func pairing(_ question: PairingQuestion) -> JSONText {
    .object([
      ("identifier", .integer(Int(clamping: question.identifier))), ("kind", .string(question.kind.rawValue)),
      ("address", .string(question.address)), ("name", .optional(question.name) { .string($0) }),
      ("passkey", .integer(Int(question.passkey))),
    ])
  }

  private static func alert(_ alert: UserAlert) -> JSONText {
    .object([
      ("identifier", .integer(Int(clamping: alert.identifier))), ("app", .string(alert.app)),
      ("title", .string(alert.title)), ("text", .string(alert.text)), ("unixSeconds", .number(alert.unixSeconds)),
    ])
  }

  /// What an app that is still awake has done so far would change all the time, so it is `null`.
  private static func wake(_ wake: WakeRecord) -> JSONText {
    let isOver = wake.outcome != nil
    return .object([
      ("app", .string(wake.app)), ("because", .string(wake.because.rawValue)),
      ("beganUnixSeconds", .number(wake.unixSeconds)), ("seconds", isOver ? .number(wake.seconds) : .null),
      ("told", isOver ? .integer(wake.told) : .null), ("said", isOver ? .integer(wake.said) : .null),
      ("outcome", .optional(wake.outcome) { .string($0) }),
    ])
  }
}
