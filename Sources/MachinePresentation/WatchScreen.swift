import AppLink
import ConsoleOutput

/// What there is to see.
package enum WatchView: Sendable {
  case status(SystemStatus)
  /// latchkeyd is not on the bus.
  case away
  /// Nothing has been heard yet.
  case waiting
}

/// The full-screen view of a machine: a status and a size become lines. All times are absolute, so a screen is right for
/// as long as nothing changes.
package struct WatchScreen: Sendable {
  private let terminal: Terminal
  private let rows: Int
  private let clock: LocalClock
  private let host: String

  /// - Parameters:
  ///   - terminal: its width is used; 80 columns if it has none.
  ///   - rows: the most lines.
  ///   - host: the machine's name.
  package init(_ terminal: Terminal, rows: Int, clock: LocalClock, host: String) {
    var terminal = terminal
    if terminal.width == nil { terminal.width = 80 }
    self.terminal = terminal
    self.rows = max(1, rows)
    self.clock = clock
    self.host = host
  }

  private struct Section {
    let title: String
    /// Each with its lines.
    let entries: [[String]]
    /// How many more there are than latchkeyd has said.
    var leftOut = 0

    var lineCount: Int { 1 + entries.reduce(0) { $0 + $1.count } }
  }

  /// - Parameter now: in seconds since 1970. It only decides whether times need their year.
  package func lines(_ view: WatchView, now: Double) -> [String] {
    switch view {
    case .waiting: return fitted(header("asking latchkeyd"), ["latchkeyd is asked."], [])
    case .away:
      let text = "latchkeyd does not run on this machine. This view goes on when it does: systemctl start latchkeyd"
      return fitted(header("latchkeyd is away"), note(text), [])
    case .status(let status):
      let words = StatusWords(clock: clock, now: now)
      let attention = StatusWords.attention(status).flatMap(note)
      return fitted(
        header("Bluetooth: \(StatusWords.bluetooth(status.bluetooth))"), attention,
        [
          doors(status, words), links(status, words), requests(status, words), apps(status), movements(status, words),
          wakes(status, words),
        ].compactMap(\.self))
    }
  }

  private func header(_ state: String) -> String {
    let width = terminal.width ?? 80
    let left = terminal.cut("\(host)  \(state)")
    let right = "q: quit"
    guard left.count + 2 + right.count < width else { return terminal.styled(left, .bold) }
    let gap = String(repeating: " ", count: width - 1 - left.count - right.count)
    return terminal.styled(left, .bold) + gap + terminal.styled(right, .dim)
  }

  private func note(_ text: String) -> [String] {
    terminal.hanging("! ", text, narrowIndent: 2).map { terminal.styled($0, .yellow) }
  }

  // MARK: Sections

  /// What apps report about the things that they control. `nil` if none does.
  private func doors(_ status: SystemStatus, _ words: StatusWords) -> Section? {
    guard !status.states.isEmpty else { return nil }
    let entries = status.states.map { ($0.subject, words.state($0)) }
    return section("Doors", entries, nothing: "", leftOut: status.statesLeftOut)
  }

  /// The latest first. `nil` if there was none.
  private func movements(_ status: SystemStatus, _ words: StatusWords) -> Section? {
    guard !status.movements.isEmpty else { return nil }
    let entries = status.movements.reversed().map {
      (clock.second($0.unixSeconds, now: words.now), "\($0.subject): \($0.text)")
    }
    return section("Last movements", entries, nothing: "", leftOut: status.movementsLeftOut)
  }

  private func links(_ status: SystemStatus, _ words: StatusWords) -> Section {
    let entries = status.links.map { link in
      let users = status.apps.filter { app in app.peers.contains { $0.isConnected && $0.identifier == link.identifier }
      }
      let parts = [
        StatusWords.signal(link), words.since(link.sinceUnixSeconds),
        users.isEmpty ? "the other side's" : "for \(users.map(\.bundleIdentifier).joined(separator: ", "))",
      ]
      return (StatusWords.device(link), parts.compactMap(\.self).joined(separator: ", "))
    }
    return section("Links", entries, nothing: "no device is connected", leftOut: status.linksLeftOut)
  }

  private func requests(_ status: SystemStatus, _ words: StatusWords) -> Section {
    let entries = status.apps.flatMap { app in
      app.peers.filter { !$0.isConnected }.map { peer in
        let parts = [
          words.since(peer.sinceUnixSeconds), "for \(app.bundleIdentifier)", StatusWords.signal(peer),
        ]
        return (StatusWords.device(peer), parts.compactMap(\.self).joined(separator: ", "))
      }
    }
    let leftOut = status.apps.reduce(0) { $0 + $1.peersLeftOut }
    return section("Requests held", entries, nothing: "no app waits for a device", leftOut: leftOut)
  }

  private func apps(_ status: SystemStatus) -> Section {
    let entries = status.apps.map { app in
      var parts = [StatusWords.state(app.state)]
      if app.quitByUser { parts.append("quit by the user") }
      if !app.isAllowed { parts.append("not allowed to use Bluetooth") }
      parts += StatusWords.activity(app.activity)
      if let process = app.processIdentifier { parts.append("process \(process)") }
      parts.append(app.launches == 1 ? "1 launch" : "\(app.launches) launches")
      return (app.bundleIdentifier, parts.joined(separator: ", "))
    }
    return section("Apps", entries, nothing: "there are no apps", leftOut: status.appsLeftOut)
  }

  /// The latest first.
  private func wakes(_ status: SystemStatus, _ words: StatusWords) -> Section {
    let entries = status.wakes.reversed().map { wake in
      // How long an app has been awake would not stay right.
      let course = wake.outcome == nil ? "still awake" : StatusWords.course(wake)
      return (
        clock.second(wake.unixSeconds, now: words.now), "\(wake.app) \(StatusWords.reason(wake.because)), \(course)"
      )
    }
    return section(
      "Last wakes", entries, nothing: "no app was woken yet", leftOut: status.wakesLeftOut)
  }

  private func section(
    _ title: String, _ entries: [(head: String, text: String)], nothing: String, leftOut: Int
  ) -> Section {
    guard !entries.isEmpty else {
      return Section(title: title, entries: [terminal.hanging("  ", nothing).map { terminal.styled($0, .dim) }])
    }
    // More can't be shown. What is not shown costs nothing.
    let shown = entries.prefix(rows)
    let column = min((terminal.width ?? 80) / 3, shown.map(\.head.count).max() ?? 0)
    let lines = shown.map { entry in
      let gap = String(repeating: " ", count: max(0, column - entry.head.count) + 2)
      return terminal.hanging("  \(entry.head)\(gap)", entry.text)
    }
    return Section(title: title, entries: lines, leftOut: leftOut + entries.count - shown.count)
  }

  // MARK: Fitting

  /// With an empty line between the parts if there is room for everything. Otherwise each section gets its share, and
  /// says how much it does not show.
  private func fitted(_ header: String, _ notes: [String], _ sections: [Section]) -> [String] {
    let natural = 1 + notes.count + sections.reduce(0) { $0 + $1.lineCount }
    let gaps = sections.count + (notes.isEmpty ? 0 : 1)
    let isRoomy = natural + gaps <= rows
    var room = rows - 1
    let shownNotes =
      isRoomy ? notes : Array(notes.prefix(max(room / 3, room - sections.reduce(0) { $0 + $1.lineCount })))
    room -= shownNotes.count
    var shares = sections.map { _ in 0 }
    // A title alone says nothing.
    for index in sections.indices where room >= 2 {
      shares[index] = 2
      room -= 2
    }
    while room > 0, let index = poorest(shares, sections) {
      shares[index] += 1
      room -= 1
    }
    let gap = isRoomy ? [""] : []
    var lines = [header]
    if !shownNotes.isEmpty { lines += gap + shownNotes }
    for (section, share) in zip(sections, shares) where share > 0 { lines += gap + text(section, share) }
    return Array(lines.prefix(rows))
  }

  /// Of the sections that are shown and have more to say, the one with the fewest lines.
  private func poorest(_ shares: [Int], _ sections: [Section]) -> Int? {
    sections.indices.filter { shares[$0] > 0 && shares[$0] < sections[$0].lineCount }.min { shares[$0] < shares[$1] }
  }

  private func text(_ section: Section, _ share: Int) -> [String] {
    var lines: [String] = []
    var shown = 0
    for entry in section.entries {
      guard lines.count + entry.count <= share - 1 || shown == 0 else { break }
      lines += entry.prefix(share - 1 - lines.count)
      shown += 1
    }
    let all = section.entries.count + section.leftOut
    let title = shown < all ? "\(section.title) (\(shown) of \(all))" : section.title
    return [terminal.styled(terminal.cut(title), .bold)] + lines
  }
}
