import BluetoothTypes
import Radio
import Testing
import TimeTypes

@testable import Radio

@Suite("Advertising and scanning")
struct AdvertisingTests {
  @Test("Advertisements come an interval and up to 10 ms apart, and a scanner that always listens hears them all")
  func interval() {
    var world = RadioWorld.pair()
    world.put(.setAdvertising(lock, set: 0, .of(milliseconds: 100)))
    world.put(.setScan(phone, .of()))
    world.run(for: .seconds(60))
    let times = world.heard.map(\.time)
    let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
    #expect(times.count > 500)
    #expect(gaps.allSatisfy { $0 >= .milliseconds(100) && $0 < .milliseconds(110) })
    let mean = gaps.reduce(.zero, +) / gaps.count
    #expect(mean > .milliseconds(104) && mean < .milliseconds(106))
    #expect(Set(gaps).count > 400, "the delay is random")
  }

  @Test("A scanner hears the share of advertisements that its window has of its interval")
  func dutyCycle() {
    var world = RadioWorld.pair()
    world.put(.setAdvertising(lock, set: 0, .of(milliseconds: 20)))
    world.put(.setScan(phone, .of(30, in: 300)))
    world.run(for: .seconds(600))
    let share = Double(world.heard.count) / (600 / 0.025)
    #expect(share > 0.08 && share < 0.12)
    #expect(world.deadlineCount == world.heard.count, "nobody is woken for what nobody hears")
  }

  @Test("A passive scan gets no scan response, an active one does")
  func active() {
    for isActive in [false, true] {
      var world = RadioWorld.pair()
      world.put(.setAdvertising(lock, set: 0, .of(scanResponse: [2, 0x0A, 4])))
      world.put(.setScan(phone, .of(active: isActive)))
      world.run(for: .seconds(1))
      let expected: [UInt8]? = isActive ? [2, 0x0A, 4] : nil
      #expect(world.reports(to: phone).count > 5)
      #expect(world.reports(to: phone).allSatisfy { $0.scanResponse == expected })
    }
  }

  @Test("The duplicate filter lets each content of each address through once, and costs nothing then")
  func duplicates() {
    var world = RadioWorld.pair(physics: RadioPhysics(shadowing: 0, wayShadowing: 0))
    world.put(.setAdvertising(lock, set: 0, .of(scanResponse: [2, 0x0A, 4])))
    world.put(.setScan(phone, .of(active: true, filtered: true)))
    world.run(for: .seconds(86400))
    #expect(world.reports(to: phone).filter { $0.scanResponse != nil }.count == 1)
    #expect(world.reports(to: phone).count <= 2, "once more, where the first response was lost")
    #expect(world.deadlineCount < 50)
    #expect(world.radio.nextDeadline == nil)
    world.put(.setAdvertising(lock, set: 0, .of(data: [2, 1, 4], scanResponse: [2, 0x0A, 4])))
    world.run(for: .seconds(60))
    #expect(world.reports(to: phone).last?.data == [2, 1, 4])
    let count = world.reports(to: phone).count
    world.put(.setScan(phone, .of(active: true, filtered: true)))
    world.run(for: .seconds(60))
    #expect(world.reports(to: phone).count > count, "a new scan starts with an empty filter")
  }

  @Test("A filter reports an advertiser again when its private address has changed")
  func rotation() {
    var world = RadioWorld.pair()
    world.put(.setAdvertising(lock, set: 0, .of(.resolvable(lockKey))))
    world.put(.setScan(phone, .of(filtered: true)))
    world.run(for: .seconds(3600))
    let addresses = world.reports(to: phone).map(\.address)
    #expect(Set(addresses).count == 5, "four changes in an hour")
    #expect(addresses.count == 5)
    #expect(addresses.allSatisfy { ResolvableAddress.resolves($0, with: lockKey) })
    #expect(world.deadlineCount < 20)
  }

  @Test("Five days of advertising and scanning out of range cost nothing")
  func idle() {
    var world = RadioWorld.pair(metres: 5000, physics: RadioPhysics())
    world.put(.setAdvertising(lock, set: 0, .of(.resolvable(lockKey))))
    world.put(.setScan(phone, .of()))
    world.put(.setInitiator(phone, .to(.identity(lockKey))))
    #expect(world.radio.nextDeadline == nil)
    world.run(for: .seconds(5 * 86400))
    world.put(.move(phone, to: Position(x: 1, y: 0)))
    world.run(for: .seconds(10))
    #expect(world.links(of: phone).count == 1)
  }

  @Test("Signals get weaker and rarer with distance")
  func distance() {
    var earlier: (mean: Double, count: Int)?
    for metres in [1.0, 4, 16, 30, 36] {
      var world = RadioWorld.pair(metres: metres, physics: RadioPhysics(shadowing: 0, wayShadowing: 0))
      world.put(.setAdvertising(lock, set: 0, .of(milliseconds: 20)))
      world.put(.setScan(phone, .of()))
      world.run(for: .seconds(30))
      let reports = world.reports(to: phone)
      let mean = reports.reduce(0) { $0 + Double($1.rssi) } / Double(reports.count)
      if let earlier {
        #expect(mean < earlier.mean, "at \(metres) m")
        if metres > 16 { #expect(reports.count < earlier.count, "at \(metres) m") }
      } else {
        #expect(abs(mean + 59) < 1)
      }
      #expect(Set(reports.map(\.rssi)).count > 1, "each packet has its own strength")
      earlier = (mean, reports.count)
    }
    var far = RadioWorld.pair(metres: 100, physics: RadioPhysics(shadowing: 0, wayShadowing: 0))
    far.put(.setAdvertising(lock, set: 0, .of(milliseconds: 20)))
    far.put(.setScan(phone, .of()))
    #expect(far.radio.nextDeadline == nil)
  }

  @Test("A shield and a switched-off controller end hearing; power doesn't bring the advertising back, the shield does")
  func shieldAndPower() {
    var world = RadioWorld.pair()
    world.put(.setAdvertising(lock, set: 0, .of()))
    world.put(.setScan(phone, .of()))
    world.put(.setShielded(lock, true))
    #expect(world.radio.nextDeadline == nil)
    world.put(.setShielded(lock, false))
    #expect(world.radio.nextDeadline != nil)
    world.put(.setPower(lock, false))
    #expect(world.radio.nextDeadline == nil)
    world.put(.setPower(lock, true))
    #expect(world.radio.nextDeadline == nil)
  }

  /// From an independent model (a scan that hears the advertiser, then an initiator that always listens, as on Linux;
  /// a tenth of the packets lost): milliseconds until connected.
  @Test(
    "Time to connection is distributed as an independent model says",
    arguments: [
      (20.0, 60, 60, 37.0, 69.0), (100, 60, 60, 168, 299), (100, 30, 60, 242, 494), (152.5, 30, 60, 355, 719),
      (760, 60, 60, 1222, 2216), (100, 30, 300, 947, 2108),
    ])
  func latency(advertising: Double, window: Int, interval: Int, median: Double, percentile95: Double) throws {
    var samples: [Double] = []
    for seed in 0..<400 {
      var world = RadioWorld.pair(
        metres: 5000, seed: UInt64(seed), physics: RadioPhysics(shadowing: 0, wayShadowing: 0))
      world.put(.setAdvertising(lock, set: 0, .of(milliseconds: advertising)))
      world.put(.setScan(phone, .of(window, in: interval)))
      // A phone comes home at any moment of the others' rhythms.
      world.run(for: .seconds(7200))
      world.put(.move(phone, to: Position(x: 1, y: 0)))
      let start = world.now
      world.run(until: start + .seconds(100)) { !$0.reports(to: phone).isEmpty }
      world.put(.setScan(phone, nil))
      world.put(.setInitiator(phone, .to(.address(lockAddress), window: 60, in: 60)))
      world.run(until: start + .seconds(200)) { !$0.links(of: phone).isEmpty }
      let connected = try #require(world.heard.last)
      samples.append((connected.time - start) / .milliseconds(1))
    }
    samples.sort()
    #expect(abs(samples[200] / median - 1) < 0.2, "median \(samples[200])")
    #expect(abs(samples[380] / percentile95 - 1) < 0.25, "95 in 100: \(samples[380])")
  }

  @Test("H4: at the edge of the range, advertisements that don't get through are no events, however many there are")
  func edge() {
    // A packet in five thousand gets through, and a link needs two.
    var physics = RadioPhysics.clear
    physics.noise = 1.5
    physics.sensitivity = physics.signal(over: 100) + 3 * physics.noise
    for seed: UInt64 in 1...3 {
      var world = RadioWorld.pair(metres: 100, seed: seed, physics: physics)
      world.put(.setAdvertising(lock, set: 0, .of()))
      world.put(.setInitiator(phone, .to(.address(lockAddress))))
      world.run(for: .seconds(7200))
      // The radio looks ten minutes ahead. There are some 70,000 advertisements.
      #expect(world.deadlineCount <= 12 && world.links(of: phone).isEmpty, "\(world.deadlineCount)")
      world.put(.move(phone, to: Position(x: 30, y: 0)))
      world.run(for: .seconds(60))
      #expect(!world.links(of: phone).isEmpty, "nearer by it is heard at once")
    }
  }
}
