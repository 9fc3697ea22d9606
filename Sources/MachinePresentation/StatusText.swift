import AppLink
import ConsoleOutput

/// What latchkeyd says, in lines for a person.
package struct StatusText: Sendable {
  private let terminal: Terminal
  private let words: StatusWords

  /// - Parameter now: in seconds since 1970.
  package init(_ terminal: Terminal, clock: LocalClock, now: Double) {
    self.terminal = terminal
    words = StatusWords(clock: clock, now: now)
  }

  /// The movements that a status shows; `latchkey watch` shows as many as fit.
  private static let movementCount = 10

  /// First what needs the person's attention, then Bluetooth, the doors, the apps, the links that no app asked for, and the
  /// last movements.
  package func status(_ status: SystemStatus) -> [String] {
    var lines = StatusWords.attention(status).flatMap { text in
      terminal.hanging("! ", text, narrowIndent: 2).map { terminal.styled($0, .yellow) }
    }
    if !lines.isEmpty { lines.append("") }
    lines += terminal.hanging("Bluetooth: ", StatusWords.bluetooth(status.bluetooth))
    if !status.states.isEmpty {
      lines += heading("Doors")
      lines += status.states.flatMap { terminal.hanging("  \($0.subject)  ", words.state($0)) }
      lines += more(status.statesLeftOut, "door")
    }
    let appLines = apps(status, withAlerts: false)
    if !appLines.isEmpty { lines += heading("Apps") + appLines }
    let held = Set(status.apps.flatMap(\.peers).filter(\.isConnected).map(\.identifier))
    let others = status.links.filter { !held.contains($0.identifier) }
    if !others.isEmpty {
      lines += heading("Devices that connected by themselves")
      lines += others.flatMap { detail("", $0) }
    }
    lines += more(status.linksLeftOut, "link")
    if !status.movements.isEmpty {
      lines += heading("Last movements")
      lines += status.movements.suffix(Self.movementCount).reversed().flatMap { movement in
        terminal.hanging(
          "  \(words.clock.second(movement.unixSeconds, now: words.now))  ", "\(movement.subject): \(movement.text)")
      }
      lines += more(max(0, status.movements.count - Self.movementCount) + status.movementsLeftOut, "movement")
    }
    return lines
  }

  /// A line for each alert: when, of which app, and what happened.
  package func alerts(_ alerts: [UserAlert]) -> [String] {
    alerts.flatMap { alert in
      terminal.hanging(
        words.clock.second(alert.unixSeconds, now: words.now) + "  ",
        alert.title == alert.app ? "\(alert.app): \(alert.text)" : "\(alert.title) (\(alert.app)): \(alert.text)")
    }
  }

  private func heading(_ title: String) -> [String] {
    [""] + terminal.wrapped(title).map { terminal.styled($0, .bold) }
  }

  private func more(_ count: Int, _ what: String) -> [String] {
    count > 0 ? terminal.hanging("    ", "and \(StatusWords.count(count, "more \(what)"))") : []
  }

  package func apps(_ status: SystemStatus) -> [String] {
    let lines = apps(status, withAlerts: true)
    return lines.isEmpty ? terminal.wrapped("There are no apps. latchkeyd's folder of apps is empty.") : lines
  }

  private func apps(_ status: SystemStatus, withAlerts: Bool) -> [String] {
    let apps = status.apps.sorted { $0.bundleIdentifier < $1.bundleIdentifier }
    var lines = apps.flatMap { entry($0, withAlert: withAlerts) }
    if status.appsLeftOut > 0 { lines += terminal.wrapped("and \(StatusWords.count(status.appsLeftOut, "more app"))") }
    return lines
  }

  private func entry(_ app: AppStatus, withAlert: Bool) -> [String] {
    var text = StatusWords.state(app.state)
    if let process = app.processIdentifier { text += ", process \(process)" }
    if app.quitByUser { text += ", quit by the user" }
    if !app.isAllowed { text += ", not allowed to use Bluetooth" }
    text += ", \(StatusWords.count(app.connections, "connection"))"
    text += ", \(StatusWords.count(app.pendingConnections, "request")) held, "
    text += app.launches == 1 ? "1 launch" : "\(app.launches) launches"
    var lines = terminal.hanging("\(app.bundleIdentifier)  ", text)
    for peer in app.peers { lines += detail(peer.isConnected ? "connected to " : "waits for ", peer) }
    if app.peersLeftOut > 0 { lines += terminal.hanging("    ", "and \(app.peersLeftOut) more") }
    let activity = StatusWords.activity(app.activity)
    if !activity.isEmpty { lines += terminal.hanging("    ", activity.joined(separator: ", ")) }
    if withAlert, let alert = app.alert {
      lines += terminal.hanging("  ! ", alert).map { terminal.styled($0, .yellow) }
    }
    return lines
  }

  private func detail(_ verb: String, _ peer: PeerStatus) -> [String] {
    let parts = ["\(StatusWords.device(peer)) \(words.since(peer.sinceUnixSeconds))", StatusWords.signal(peer)]
    return terminal.hanging("    ", verb + parts.compactMap(\.self).joined(separator: ", "))
  }

  /// A line for each wake, or one that says that there were none.
  /// - Parameter app: only this app's wakes.
  /// - Throws: `unknownApp` if there is no such app.
  package func wakes(_ status: SystemStatus, app: String?) throws(AppLinkError) -> [String] {
    let wakes = try Self.wakes(status, of: app)
    guard !wakes.isEmpty else {
      let nobody = app.map { "\($0) was not" } ?? "No app was"
      return terminal.wrapped("\(nobody) woken for Bluetooth yet.")
    }
    var lines: [String] = []
    if status.wakesLeftOut > 0 {
      lines += terminal.wrapped("\(status.wakesLeftOut) earlier ones are in the journal, as wake.ended.")
    }
    return lines
      + wakes.flatMap { wake in
        terminal.hanging(
          words.clock.second(wake.unixSeconds, now: words.now) + "  ",
          "\(wake.app)  \(StatusWords.reason(wake.because)), \(StatusWords.course(wake))")
      }
  }

  /// The wakes of one app, or of all.
  static func wakes(_ status: SystemStatus, of app: String?) throws(AppLinkError) -> [WakeRecord] {
    let known = status.apps.map(\.bundleIdentifier).sorted()
    if let app, !known.contains(app), status.appsLeftOut == 0 {
      throw AppLinkError(
        .unknownApp,
        "There is no app \"\(app)\" here; there are: \(known.isEmpty ? "none" : known.joined(separator: ", ")).")
    }
    return status.wakes.filter { app == nil || app == $0.app }
  }
}
