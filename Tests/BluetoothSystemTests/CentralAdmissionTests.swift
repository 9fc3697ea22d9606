import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Testing
import TimeTypes

@testable import BluetoothSystem

/// An app that publishes services, such as a lock, says whom it lets in.
@Suite("Central admission") struct CentralAdmissionTests {
  private func lock(admits: Bool = true, connected: Bool = false) -> Desk {
    var desk = Desk(admitsCentrals: admits)
    desk.appear(bonded: false, connected: connected)
    desk.open()
    desk.say(.createManager(Lock.manager, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Lock.manager, .addService(Lock.definition)))
    return desk
  }

  /// Whether a Just Works pairing with the device is granted.
  private func pairs(_ desk: inout Desk) -> Bool {
    desk.handle(
      .daemon(
        .callback(
          CallbackIdentifier(9), path: BluetoothSystem.agentPath, .requestAuthorization(device: Desk.devicePath))))
    let answers = desk.effects.compactMap { effect -> Result<CallbackReply, BlueZError>? in
      if case .bluez(.answer(CallbackIdentifier(9), let result)) = effect { result } else { nil }
    }
    return answers.last == .success(.none)
  }

  private func disconnects(_ desk: Desk) -> Int { desk.asked { $0 == .disconnect } }

  @Test("attack 33: strangers pair only while the lock says so, and not when its process has ended") func pairings() {
    var desk = lock()
    #expect(!pairs(&desk), "before the lock has said anything")
    #expect(desk.recorded(.pairingRefused) == 1)
    desk.say(.admit(CentralAdmission(acceptsPairings: true)))
    #expect(pairs(&desk))
    desk.say(.admit(CentralAdmission(acceptsPairings: false)))
    #expect(!pairs(&desk))
    desk.say(.admit(CentralAdmission(known: [desk.peer])))
    #expect(!pairs(&desk), "who proved something on an earlier link may be somebody else with that address")
    desk.say(.admit(CentralAdmission(proven: [desk.peer])))
    #expect(pairs(&desk))
    desk.say(.admit(CentralAdmission(acceptsPairings: true, proven: [desk.peer])))
    desk.die()
    #expect(!pairs(&desk))
    var other = lock(admits: false)
    #expect(pairs(&other), "an app that does not say whom it lets in lets everybody in, as before")
  }

  @Test("L1: a phone that pairs as the lock's process ends is let in by what it had proven on this link")
  func pairsAsLockDies() {
    var desk = lock()
    desk.linkUp()
    let peer = desk.peer
    desk.say(.admit(CentralAdmission(acceptsPairings: true, proven: [peer])))
    desk.die()
    #expect(pairs(&desk), "while the lock is not running")
    desk.launchAndAttach()
    desk.say(.admit(CentralAdmission(known: [peer])))
    #expect(pairs(&desk), "before the next process can know of it")
    desk.say(.admit(CentralAdmission(proven: [peer])))
    desk.say(.admit(CentralAdmission(known: [peer])))
    #expect(!pairs(&desk), "what the next process takes back counts")
  }

  @Test("attack 33: what was proven to a process that has ended counts for 30 s, on the same link")
  func provenBefore() {
    var late = lock()
    late.linkUp()
    late.say(.admit(CentralAdmission(proven: [late.peer])))
    late.die()
    late.launchAndAttach()
    late.say(.admit(CentralAdmission(known: [late.peer])))
    late.pass(.seconds(31))
    #expect(!pairs(&late))

    var other = lock()
    other.linkUp()
    other.say(.admit(CentralAdmission(proven: [other.peer])))
    other.die()
    other.linkDown()
    other.linkUp()
    #expect(!pairs(&other), "on another link it may be somebody else")
    other.launchAndAttach()
    other.die()
    #expect(!pairs(&other), "a process that has said nothing passes nothing on")
  }

  @Test("attack 25: a link that has proven nothing is ended after 30 s, and one that has stays") func unproven() {
    var desk = lock()
    desk.linkUp()
    desk.pass(.seconds(29))
    #expect(disconnects(desk) == 0)
    desk.pass(.seconds(2))
    #expect(disconnects(desk) == 1 && desk.recorded(.linkUnproven) == 1)

    var proven = lock()
    let peer = proven.peer
    proven.linkUp()
    proven.pass(.seconds(20))
    proven.say(.admit(CentralAdmission(proven: [peer])))
    proven.pass(.seconds(600))
    #expect(disconnects(proven) == 0)
    proven.say(.admit(CentralAdmission(known: [peer])))
    proven.pass(.seconds(600))
    #expect(disconnects(proven) == 0)
    // Who is not proven any more, such as a revoked guest, has as long as a stranger.
    proven.say(.admit(CentralAdmission()))
    proven.pass(.seconds(31))
    #expect(disconnects(proven) == 1)

    var other = lock(admits: false)
    other.linkUp()
    other.pass(.seconds(600))
    #expect(disconnects(other) == 0)
  }

  @Test("attack 25: a link of before the system's start has its time as well") func afterRestart() {
    var desk = lock(connected: true)
    desk.restartSystem()
    desk.appear(bonded: false, connected: true)
    desk.pass(.seconds(31))
    #expect(disconnects(desk) == 1)
  }

  @Test("H4: when latchkeyd starts again, phones keep their links until the lock has said whose they are")
  func manyAfterRestart() throws {
    var desk = lock(connected: true)
    desk.restartSystem()
    desk.appear(bonded: false, connected: true)
    for number in 1...5 {
      let address = "C0:00:00:00:01:0\(number)"
      desk.handle(
        .daemon(
          .signal(
            .interfacesAdded(
              path: try #require(ObjectPath("/org/bluez/hci0/dev_\(address.replacing(":", with: "_"))")),
              [
                InterfaceName.device: [
                  "Address": .string(address), "AddressType": .string("random"), "Paired": .bool(true),
                  "Bonded": .bool(true), "Connected": .bool(true), "ServicesResolved": .bool(true),
                  "Trusted": .bool(false),
                ]
              ]))))
    }
    desk.pass(.seconds(5))
    #expect(disconnects(desk) == 0)
    desk.open()
    desk.say(.admit(CentralAdmission(proven: [desk.peer])))
    #expect(disconnects(desk) == 2, "now five are strangers, and three may be")
    desk.pass(.seconds(31))
    let ended = Set(desk.requests.filter { $0.request == .disconnect }.map(\.path))
    #expect(ended.count == 5 && !ended.contains(Desk.devicePath))
  }

  @Test("attack 25: a stranger who comes again and again is ended each time, and fills no journal") func again() {
    var desk = lock()
    for _ in 1...5 {
      desk.linkUp()
      desk.pass(.seconds(31))
      desk.linkDown()
    }
    #expect(disconnects(desk) == 5 && desk.recorded(.linkUnproven) == 1)
    desk.pass(RareLine.interval)
    desk.linkUp()
    desk.pass(.seconds(31))
    #expect(desk.recorded(.linkUnproven) == 2)
  }

  @Test("H4: a device that the machine's user trusts, such as a keyboard, keeps its link") func trustedDevice() {
    var desk = lock()
    desk.change(["Trusted": .bool(true)])
    desk.linkUp()
    desk.pass(.seconds(600))
    #expect(disconnects(desk) == 0)
    desk.change(["Trusted": .bool(false)])
    desk.pass(.seconds(31))
    #expect(disconnects(desk) == 1)
  }

  @Test("attack 25: of too many links that have proven nothing, the oldest makes room") func tooMany() {
    var links = UnprovenLinks()
    let peers = (0..<5).map { _ in PeerIdentifier(UUID()) }
    for (index, peer) in peers.enumerated() {
      let ended = links.examine(Array(peers[...index].suffix(4)), at: .zero + .seconds(index))
      #expect(ended == (index < 3 ? [] : [peers[index - 3]]), "\(peer)")
    }
    #expect(links.deadline == Instant.zero + .seconds(2) + UnprovenLinks.patience)
    #expect(links.examine([peers[3]], at: .zero + .seconds(33)).count == 1)
    #expect(links.examine([], at: .zero + .seconds(40)).isEmpty && links.deadline == nil)
  }
}
