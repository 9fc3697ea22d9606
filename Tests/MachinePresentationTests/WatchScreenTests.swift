import AppLink
import ConsoleOutput
import Foundation
import Testing

@testable import MachinePresentation

@Suite("The full-screen view")
struct WatchScreenTests {
  private func lines(_ view: WatchView, columns: Int, rows: Int, usesColor: Bool = false) -> [String] {
    WatchScreen(
      Terminal(width: columns, usesColor: usesColor, usesUnicode: true, rewritesLines: true), rows: rows, clock: .utc,
      host: "phone"
    ).lines(view, now: Statuses.now)
  }

  /// In one line, so that it does not matter where lines are broken.
  private func words(_ lines: [String]) -> String {
    lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
  }

  @Test("Everything there is to know is on a large enough screen", arguments: [40, 80, 200])
  func whole(columns: Int) {
    let shown = lines(.status(Statuses.phone), columns: columns, rows: 60)
    #expect(shown.allSatisfy { $0.count <= columns }, "\(shown)")
    let words = words(shown)
    for part in [
      "phone Bluetooth: on", "! org.latchkey.agent: Is that you at the door? latchkey unlock opens it.",
      "Doors Door unlocked, door shut, since 6 Jan 07:59, says org.latchkey.agent",
      "Last movements 6 Jan 07:59:10 Door: unlocked, because you came 6 Jan 07:59:09 Door: turn 11",
      "Links Front door (C0:FF:EE:00:00:01) -61 dBm, since 6 Jan 07:59, for org.latchkey.agent",
      "C0:FF:EE:00:00:03 since before latchkeyd started, the other side's",
      "Requests held Garage (C0:FF:EE:00:00:02) since before latchkeyd started, for org.latchkey.agent",
      "org.latchkey.agent background, process 412, 2 launches",
      "org.example.scanner not running, quit by the user, looks for devices, advertises, publishes 1 service, 2 subscribers, 1 launch",
      "Last wakes 6 Jan 07:59:00 org.latchkey.agent woken by a connection, still awake",
      "6 Jan 07:00:00 org.latchkey.agent woken by a connection, awake for 0.812 s, told 5 events, made 3 requests, then suspended",
    ] {
      #expect(words.contains(part), "\(part) is not in:\n\(shown.joined(separator: "\n"))")
    }
    #expect(words.contains("q: quit"))
  }

  @Test(
    "Nothing is longer or wider than the screen, and each part has its share and says what it leaves out",
    arguments: [20, 40, 80, 200], [1, 2, 3, 5, 10, 24, 60])
  func crowded(columns: Int, rows: Int) {
    let shown = lines(.status(Statuses.crowd), columns: columns, rows: rows)
    #expect(shown.count <= rows)
    #expect(shown.allSatisfy { $0.count <= columns }, "\(shown)")
    #expect(shown.first?.hasPrefix("phone") == true)
    guard rows >= 24, columns >= 40 else { return }
    for title in ["Doors (", "Links (", "Requests held (", "Apps (", "Last movements (", "Last wakes ("] {
      #expect(shown.contains { $0.hasPrefix(title) }, "\(title): \(shown)")
    }
    #expect(shown.contains { $0.hasPrefix("Links (") && $0.hasSuffix(" of 71)") }, "\(shown)")
    #expect(shown.contains { $0.hasPrefix("Last wakes (") && $0.hasSuffix(" of 1033)") }, "\(shown)")
  }

  @Test("A quiet machine, one whose latchkeyd is away, and the first moment say so")
  func quiet() {
    let quiet = words(lines(.status(Statuses.quiet), columns: 80, rows: 24))
    for part in [
      "no device is connected", "no app waits for a device", "there are no apps",
      "no app was woken yet",
    ] { #expect(quiet.contains(part)) }
    #expect(!quiet.contains("!"))
    #expect(!quiet.contains("Doors") && !quiet.contains("Last movements"), "nothing is reported")
    let away = words(lines(.away, columns: 40, rows: 24))
    #expect(away.contains("latchkeyd does not run on this machine. This view goes on when it does"))
    #expect(lines(.waiting, columns: 80, rows: 24).count == 3)
  }

  @Test("Without colours there are no codes, and with them the text is the same")
  func colors() {
    let plain = lines(.status(Statuses.phone), columns: 80, rows: 40)
    #expect(!plain.joined().contains("\u{1B}"))
    let colored = lines(.status(Statuses.phone), columns: 80, rows: 40, usesColor: true)
    #expect(colored.joined().contains("\u{1B}["))
    #expect(colored.map { $0.replacing(/\u{1B}\[[0-9;]*m/, with: "") } == plain)
  }

  @Test("What happened on another day has its date, and in another year its year")
  func dates() throws {
    let clock = LocalClock(timeZone: try #require(TimeZone(secondsFromGMT: 3600)))
    #expect(clock.minute(Statuses.now, now: Statuses.now) == "6 Jan 09:00")
    #expect(clock.second(Statuses.now - 86400 * 5.5, now: Statuses.now) == "31 Dec 2025 21:00:00")
    // 29 February 2028, 23:59:59
    #expect(LocalClock.utc.second(1_835_481_599, now: 1_835_000_000) == "29 Feb 23:59:59")
    #expect(LocalClock.utc.minute(-1, now: Statuses.now) == "31 Dec 1969 23:59")
    #expect(LocalClock.utc.minute(1e300, now: Statuses.now) == "an unknown time")
  }
}
