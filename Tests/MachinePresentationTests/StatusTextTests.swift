import AppLink
import ConsoleOutput
import Foundation
import Testing

@testable import MachinePresentation

@Suite("The status in words and as JSON")
struct StatusTextTests {
  private func text(_ width: Int?) -> StatusText {
    StatusText(Terminal(width: width), clock: .utc, now: Statuses.now)
  }

  @Test("What needs attention comes first, then who is connected, and what is waited for and since when")
  func status() {
    #expect(
      text(nil).status(Statuses.phone) == [
        "! org.latchkey.agent: Is that you at the door? latchkey unlock opens it.",
        "",
        "Bluetooth: on",
        "",
        "Doors",
        "  Door  unlocked, door shut, since 6 Jan 07:59, says org.latchkey.agent",
        "  Cellar  locked, says org.latchkey.agent",
        "",
        "Apps",
        "org.example.scanner  not running, quit by the user, 0 connections, 0 requests held, 1 launch",
        "    looks for devices, advertises, publishes 1 service, 2 subscribers",
        "org.latchkey.agent  background, process 412, 1 connection, 1 request held, 2 launches",
        "    connected to Front door (C0:FF:EE:00:00:01) since 6 Jan 07:59, -61 dBm",
        "    waits for Garage (C0:FF:EE:00:00:02) since before latchkeyd started",
        "",
        "Devices that connected by themselves",
        "    C0:FF:EE:00:00:03 since before latchkeyd started",
        "",
        "Last movements",
        "  6 Jan 07:59:10  Door: unlocked, because you came",
      ] + (3...11).reversed().map { "  6 Jan 07:59:0\($0 - 2)  Door: turn \($0)" } + ["    and 2 more movements"])
    #expect(text(nil).apps(Statuses.quiet) == ["There are no apps. latchkeyd's folder of apps is empty."])
  }

  @Test("It fits the terminal", arguments: [40, 80, 200])
  func widths(columns: Int) {
    for lines in [text(columns).status(Statuses.crowd), text(columns).apps(Statuses.phone)] {
      #expect(lines.allSatisfy { $0.count <= columns })
    }
  }

  @Test("Each state of Bluetooth that keeps apps from connecting is told with what to do, and so is a store that fails")
  func attention() {
    func first(_ change: (inout SystemStatus) -> Void) -> String? {
      var status = Statuses.quiet
      change(&status)
      return text(nil).status(status).first
    }
    #expect(first { $0.bluetooth = .poweredOff }?.hasSuffix("latchkey bluetooth on") == true)
    #expect(first { $0.bluetooth = .resetting }?.hasSuffix("systemctl status bluetooth") == true)
    #expect(first { $0.bluetooth = .unsupported } == "! There is no Bluetooth adapter, so nothing connects.")
    #expect(first { $0.storeTrouble = "The disk is full." } == "! The state can't be stored. The disk is full.")
    #expect(
      first {
        $0.pairings = [
          PairingQuestion(identifier: 1, kind: .compare, address: "C0:FF:EE:00:00:09", name: "Pho\u{1B}[2Jne")
        ]
      } == "! Pho?[2Jne (C0:FF:EE:00:00:09) wants to pair. Answer it: latchkey pairings")
    #expect(first { _ in } == "Bluetooth: on")
  }

  @Test("W3: a wake is a line; an unknown app is an error that names the known ones")
  func wakes() throws {
    #expect(
      try text(nil).wakes(Statuses.phone, app: nil) == [
        "6 Jan 07:00:00  org.latchkey.agent  woken by a connection, awake for 0.812 s, told 5 events, made 3 requests, "
          + "then suspended",
        "6 Jan 07:59:00  org.latchkey.agent  woken by a connection, awake for 0.812 s, told 5 events, made 3 requests, "
          + "still awake",
      ])
    #expect(
      try text(nil).wakes(Statuses.phone, app: "org.example.scanner")
        == ["org.example.scanner was not woken for Bluetooth yet."])
    let error = #expect(throws: AppLinkError.self) { try text(nil).wakes(Statuses.phone, app: "x") }
    #expect(error?.message == "There is no app \"x\" here; there are: org.example.scanner, org.latchkey.agent.")
    #expect(try text(nil).wakes(Statuses.crowd, app: nil).first?.hasPrefix("9 earlier ones are in the journal") == true)
  }

  @Test("For programs, it is one line of JSON with the keys that the manual names, all of them every time")
  func json() throws {
    let manual = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/man/latchkey.1"),
      encoding: .utf8)
    var status = Statuses.phone
    status.pairings = [PairingQuestion(identifier: 1, kind: .compare, address: "x", name: "\"\\\n\u{1}")]
    let line = StatusJSON.status(status)
    #expect(!line.contains("\n"))
    let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    func check(_ object: [String: Any]) {
      for (key, value) in object {
        #expect(manual.contains(".It Sy \(key)"), "the manual does not describe \(key)")
        for member in value as? [[String: Any]] ?? [] { check(member) }
      }
    }
    check(object)
    #expect(object["available"] as? Bool == true && object["bluetooth"] as? String == "poweredOn")
    #expect(object["storeTrouble"] is NSNull)
    let apps = try #require(object["apps"] as? [[String: Any]])
    let connections = try #require(apps[0]["connections"] as? [[String: Any]])
    #expect(connections[0]["signalDBm"] as? Int == -61)
    #expect(connections[0]["sinceUnixSeconds"] as? Double == Statuses.now - 60)
    let requests = try #require(apps[0]["requests"] as? [[String: Any]])
    #expect(requests[0]["sinceUnixSeconds"] is NSNull)
    let doors = try #require(object["doors"] as? [[String: Any]])
    #expect(doors[0]["text"] as? String == "unlocked, door shut" && doors[1]["sinceUnixSeconds"] is NSNull)
    let movements = try #require(object["movements"] as? [[String: Any]])
    #expect(movements.count == 12 && movements[11]["unixSeconds"] as? Double == Statuses.now - 50)
    let pairings = try #require(object["pairings"] as? [[String: Any]])
    #expect(pairings[0]["name"] as? String == "\"\\\n\u{1}")
    // An app that stays awake is no change.
    let wakes = try #require(object["wakes"] as? [[String: Any]])
    #expect(wakes[1]["seconds"] is NSNull && wakes[1]["outcome"] is NSNull)
    #expect(StatusJSON.status(status.news) == line)
    #expect(StatusJSON.away == "{\"available\":false}")
    #expect(try StatusJSON.wakes(status, app: "org.example.scanner") == "{\"wakes\":[],\"wakesLeftOut\":0}")
  }
}
