import AppLink
import ConsoleOutput
import Foundation

@testable import MachinePresentation

/// Statuses to show.
enum Statuses {
  /// 6 January 2026, 08:00:00
  static let now = 1_767_686_400.0

  static func peer(_ number: Int, name: String? = nil, isConnected: Bool, since: Double? = nil, signal: Int? = nil)
    -> PeerStatus
  {
    PeerStatus(
      identifier: PeerIdentifier(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number)))), name: name,
      address: "C0:FF:EE:00:00:\(number < 10 ? "0" : "")\(number)", isConnected: isConnected, sinceUnixSeconds: since,
      signalDBm: signal)
  }

  static func wake(_ seconds: Double, outcome: String? = "suspended") -> WakeRecord {
    WakeRecord(
      app: "org.latchkey.agent", because: .event(.connected), unixSeconds: now + seconds, seconds: 0.812, told: 5,
      said: 3, outcome: outcome)
  }

  static let phone = SystemStatus(
    version: "1.2.3", bluetooth: .poweredOn,
    apps: [
      AppStatus(
        bundleIdentifier: "org.latchkey.agent", state: .background, processIdentifier: 412, pendingConnections: 1,
        connections: 1, launches: 2, alert: "Is that you at the door? latchkey unlock opens it.",
        peers: [
          peer(1, name: "Front door", isConnected: true, since: now - 60, signal: -61),
          peer(2, name: "Garage", isConnected: false),
        ]),
      AppStatus(
        bundleIdentifier: "org.example.scanner", state: .notRunning, quitByUser: true, launches: 1,
        activity: AppActivity(isScanning: true, isAdvertising: true, publishedServices: 1, subscribers: 2)),
    ],
    links: [
      peer(1, name: "Front door", isConnected: true, since: now - 60, signal: -61),
      peer(3, isConnected: true),
    ],
    wakes: [wake(-3600), wake(-60, outcome: nil)],
    states: [
      ReportedState(
        app: "org.latchkey.agent", subject: "Door", text: "unlocked, door shut", sinceUnixSeconds: now - 50),
      ReportedState(app: "org.latchkey.agent", subject: "Cellar", text: "locked"),
    ],
    movements: (1...12).map { number in
      ReportedMovement(
        app: "org.latchkey.agent", subject: "Door",
        text: number == 12 ? "unlocked, because you came" : "turn \(number)",
        unixSeconds: now - 62 + Double(number))
    })

  static let quiet = SystemStatus(bluetooth: .poweredOn, apps: [])

  /// Far more of everything than fits.
  static let crowd = SystemStatus(
    version: "1.2.3", bluetooth: .poweredOff,
    apps: (1...60).map { app in
      AppStatus(
        bundleIdentifier: "org.example.app\(app)", state: .suspended, pendingConnections: 40, launches: 1,
        alert: "A long text that says what the person should know about this app and do about it.",
        peers: (1...32).map { peer($0, name: "A device with quite a long name", isConnected: false, since: now) },
        peersLeftOut: 8)
    },
    links: (1...64).map { peer($0, name: "Ein Gerät 🔑", isConnected: true, since: now, signal: -90) }, linksLeftOut: 7,
    wakes: (1...1024).map { wake(Double(-$0)) }, wakesLeftOut: 9,
    states: (1...64).map {
      ReportedState(app: "a", subject: "Door \($0) of a long row of doors", text: "locked", sinceUnixSeconds: now)
    }, statesLeftOut: 4,
    movements: (1...256).map {
      ReportedMovement(app: "a", subject: "Door \($0)", text: "opened", unixSeconds: now + Double($0))
    }, movementsLeftOut: 11)
}
