import CoreBluetoothTestKit
import Foundation
import LockProtocol

/// How long a command takes to reach the lock, from the moment when the link is up. It goes over the simulated
/// bluetoothd and latchkeyd of two machines, with the protocol's own messages. The computing time of real machines is
/// not included.
package struct AcceptanceTimes: Sendable {
  /// In the order of the arrivals, in seconds.
  package private(set) var times: [Double] = []
  /// How many arrivals had no accepted command after ten seconds.
  package private(set) var missed = 0
  /// How often the phone wrote and read, in all arrivals.
  package private(set) var writes = 0
  package private(set) var reads = 0
  /// How many messages of the attribute protocol both sides and their bluetoothds sent from the link to the lock's
  /// acceptance, in all arrivals.
  package private(set) var messages = 0
  /// The same numbers for the first meeting, before which the phone has discovered nothing.
  package private(set) var firstMessages = 0
  package private(set) var firstWrites = 0
  package private(set) var firstReads = 0

  private static let app = "org.example.visitor"

  /// - Parameters:
  ///   - connectionInterval: between two events of the link, 7.5 ms to 4 s.
  ///   - isDead: the phone's app is killed while it is away, and started again by the link.
  package static func measure(
    _ count: Int, seed: UInt64, connectionInterval: Duration, isDead: Bool
  ) async -> AcceptanceTimes? {
    guard let identity = LockIdentity([UInt8](repeating: 1, count: LockIdentity.byteCount)) else { return nil }
    let keys = Keys(identity: identity)
    let writes = Visitor.Writes()
    var result = AcceptanceTimes()
    let home = SimulatedHome(seed: seed)
    home.addMachine("door")
    home.addMachine("phone", x: 2, connectionInterval: connectionInterval)
    home.install("org.example.door", on: "door", backgroundModes: ["bluetooth-peripheral"]) { launch in
      Door(keys, clock: launch.clock)
    }
    home.install(app, on: "phone", backgroundModes: ["bluetooth-central"]) { launch in
      Visitor(keys, clock: launch.clock, writes: writes)
    }
    home.open("org.example.door")
    home.open(app)
    // The app exists only after its process has run for a moment.
    var spent = Duration.zero
    while spent < .seconds(60), (home.app("org.example.door") as? Door)?.accepted.isEmpty != false {
      await home.advance(by: .milliseconds(10))
      spent += .milliseconds(10)
    }
    guard let door = home.app("org.example.door") as? Door, !door.accepted.isEmpty else { return nil }
    result.firstMessages = home.attributeFrameCount
    (result.firstWrites, result.firstReads) = (writes.count, door.readCount)
    await home.advance(by: .seconds(60) - spent)
    home.leave(app)
    let readsBefore = door.readCount
    writes.count = 0
    for number in 0..<count {
      home.move("phone", x: 500)
      // The time differs for each arrival, so that every phase of the advertisements and the link occurs.
      await home.advance(by: .milliseconds(15_000 + number * 7919 % 1000))
      if isDead { home.kill(app) }
      await home.advance(by: .seconds(1))
      let (accepted, moved, sent) = (door.accepted.count, home.clock.now, home.attributeFrameCount)
      home.move("phone", x: 2)
      let came = await home.advance(by: .seconds(10)) { door.accepted.count > accepted }
      guard came, let at = door.accepted.last, let up = home.latestLinkUp, up >= moved else {
        result.missed += 1
        continue
      }
      result.messages += home.attributeFrameCount - sent
      result.times.append((at - up) / .seconds(1))
      await home.advance(by: .seconds(2))
    }
    result.writes = writes.count
    result.reads = door.readCount - readsBefore
    return result
  }
}
