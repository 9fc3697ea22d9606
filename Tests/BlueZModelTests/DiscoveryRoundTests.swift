import BlueZ
import BlueZModel
import BusValue
import Testing
import TimeTypes

/// The kernel's rounds of a discovery: in each, a device that is still there is reported once.
@Suite("Rounds of a discovery")
struct DiscoveryRoundTests {
  private static let round: Duration = .milliseconds(10_240)

  private func discovering() -> Bench {
    var bench = Bench()
    let filter = DiscoveryFilter(uuids: [Bench.service], duplicateData: false)
    bench.call(Bench.phone, Bench.adapter, .setDiscoveryFilter(filter))
    bench.call(Bench.phone, Bench.adapter, .startDiscovery)
    return bench
  }

  /// When the phone's bluetoothd told of the door's signal.
  private func sightings(_ bench: Bench) -> [Instant] {
    bench.changes(InterfaceName.device, "RSSI").map(\.at)
  }

  @Test("H4: a phone that discovers in an empty street has nothing to do")
  func silence() {
    var bench = discovering()
    bench.run(.seconds(30))
    #expect(bench.world.nextDeadline == nil)
  }

  @Test("H4: rounds that nobody noticed count: a device is seen again when the round ends in which it came")
  func afterSilence() {
    var bench = discovering()
    bench.run(Self.round * 100 + .seconds(4))
    bench.serveLock()
    bench.run(.seconds(60))
    let seen = sightings(bench)
    #expect(seen.count >= 5)
    for instant in seen {
      let sinceItBegan = (instant - .zero).wholeNanoseconds % Self.round.wholeNanoseconds
      #expect(sinceItBegan < Duration.seconds(1).wholeNanoseconds)
    }
  }

  @Test("C2: a discovery with a filter tells of a signal that is as strong as before, once in each round")
  func steadySignal() {
    var bench = discovering()
    var manners = MachineManners()
    manners.radio.strength = -60
    bench.world.setManners(manners, of: Bench.door)
    bench.serveLock()
    bench.run(.seconds(62))
    let seen = bench.changes(InterfaceName.device, "RSSI")
    #expect((5...6).contains(seen.count))
    #expect(Set(seen.map(\.value)) == [.int16(-60)])
  }

  @Test("H4: a device that has gone is not waited for, and is seen again once it is back")
  func goneAndBack() {
    var bench = discovering()
    bench.serveLock()
    bench.run(.seconds(25))
    let before = sightings(bench).count
    #expect(before == 2)
    bench.leave()
    bench.run(.seconds(600))
    #expect(sightings(bench).count == before)
    bench.comeHome()
    bench.run(.seconds(25))
    #expect(sightings(bench).count > before)
  }
}
