import BluetoothTypes
import Radio
import Testing
import TimeTypes

@testable import Radio

@Suite("Connections")
struct LinkTests {
  @Test("An initiator connects to the first of its targets that it hears; both sides learn, and stop")
  func connect() throws {
    var (world, link) = RadioWorld.linked()
    let (central, peripheral) = (try #require(world.links(of: phone).first), try #require(world.links(of: lock).first))
    #expect(central.role == .central && peripheral.role == .peripheral)
    #expect(central.link == link && peripheral.link == link)
    #expect(central.peerAddress == lockAddress && peripheral.peerAddress == phoneAddress)
    #expect(central.ownAddress == phoneAddress && peripheral.ownAddress == lockAddress)
    #expect(world.radio.nextDeadline == nil)
    // The set has stopped, so a scanner hears nothing.
    world.put(.setScan(phone, .of()))
    world.run(for: .seconds(10))
    #expect(world.reports(to: phone).isEmpty)
  }

  @Test("A private address is found by its key, and only by its own")
  func identity() {
    var world = RadioWorld.pair()
    world.put(.setAdvertising(lock, set: 0, .of(.resolvable(lockKey))))
    world.put(.setInitiator(phone, .to(.identity(IdentityResolvingKey(high: 3, low: 4)), .address(lockAddress))))
    world.run(for: .seconds(60))
    #expect(world.links(of: phone).isEmpty)
    #expect(world.radio.nextDeadline == nil)
    world.put(.setInitiator(phone, .to(.identity(lockKey))))
    world.run(for: .seconds(60))
    #expect(world.links(of: phone).count == 1)
    #expect(world.links(of: phone)[0].peerAddress.isResolvablePrivate)
  }

  @Test("Frames arrive at the next connection event, in order, in both directions, whatever is lost on the way")
  func frames() {
    var (world, link) = RadioWorld.linked(physics: RadioPhysics(shadowing: 0, wayShadowing: 0, linkInterference: 0.1))
    let sent = (0..<200).map { [UInt8($0)] }
    for payload in sent {
      world.put(.send(phone, link, Frame(channel: 4, payload: payload)))
      world.put(.send(lock, link, Frame(channel: 4, payload: payload)))
      world.run(for: .milliseconds(37))
    }
    world.run(for: .seconds(20))
    #expect(world.frames(to: lock) == sent)
    #expect(world.frames(to: phone) == sent)
    #expect(world.radio.nextDeadline == nil, "an idle link costs nothing")
  }

  @Test("A frame waits at most one connection interval on a link that loses nothing")
  func frameLatency() throws {
    var (world, link) = RadioWorld.linked()
    for _ in 0..<20 {
      world.run(for: .milliseconds(13))
      let start = world.now
      world.put(.send(phone, link, Frame(channel: 4, payload: [1])))
      let due = try #require(world.radio.nextDeadline)
      #expect(due > start && due <= start + .milliseconds(50))
      world.run(until: due)
      #expect(world.heard.last?.time == due && world.heard.last?.output.controller == lock)
    }
  }

  @Test("A link whose ends lose each other ends at each side one supervision timeout after it last heard the other")
  func supervision() {
    let losses: [(String, RadioInput)] = [
      ("moved away", .move(phone, to: Position(x: 9000, y: 0))), ("shielded", .setShielded(phone, true)),
      ("switched off", .setPower(phone, false)), ("unplugged", .removeController(phone)),
    ]
    for (what, input) in losses {
      var (world, link) = RadioWorld.linked()
      let start = world.now
      world.put(input)
      world.run(for: .seconds(5))
      let ended = world.disconnections(of: lock)
      #expect(ended.count == 1 && ended[0].reason == .connectionTimeout, "\(what)")
      // The last event was up to one interval before.
      #expect(ended[0].time > start + .milliseconds(370) && ended[0].time <= start + .milliseconds(420), "\(what)")
      let isThere = what == "moved away" || what == "shielded"
      #expect(world.disconnections(of: phone).map(\.reason) == (isThere ? [.connectionTimeout] : []), "\(what)")
      #expect(world.put(.send(lock, link, Frame(channel: 4, payload: []))) == [.refused("no such link")])
      #expect(world.radio.nextDeadline == nil)
    }
  }

  @Test("A controller that is switched off still tells the peers of links that its host has ended")
  func switchedOffInOrder() {
    for reason in [DisconnectReason.remotePoweredOff, .remoteUserTerminated] {
      var (world, link) = RadioWorld.linked()
      let start = world.now
      world.put(.disconnect(phone, link, reason))
      world.put(.setPower(phone, false))
      world.run(for: .seconds(5))
      let ended = world.disconnections(of: lock)
      #expect(ended.map(\.reason) == [reason])
      #expect(ended[0].time <= start + .milliseconds(50), "at the next connection event")
      #expect(world.disconnections(of: phone).isEmpty, "its host has switched it off and hears nothing")
      #expect(world.radio.nextDeadline == nil)
    }
  }

  @Test("A controller that is switched on again at once, or unplugged, has forgotten the links that its host has ended")
  func switchedOnAgain() {
    let ends: [[RadioInput]] = [
      [.setPower(phone, false), .setPower(phone, true)], [.setPower(phone, false), .removeController(phone)],
    ]
    for inputs in ends {
      var (world, link) = RadioWorld.linked()
      world.put(.disconnect(phone, link, .remotePoweredOff))
      for input in inputs { world.put(input) }
      world.run(for: .seconds(5))
      #expect(world.disconnections(of: lock).map(\.reason) == [.connectionTimeout])
      #expect(world.disconnections(of: phone).isEmpty)
    }
  }

  @Test("Ends that find each other again in time keep their link")
  func shortLoss() {
    var (world, link) = RadioWorld.linked()
    world.put(.setShielded(phone, true))
    world.put(.send(lock, link, Frame(channel: 4, payload: [7])))
    world.run(for: .milliseconds(350))
    world.put(.setShielded(phone, false))
    world.run(for: .seconds(5))
    #expect(world.disconnections(of: lock).isEmpty && world.disconnections(of: phone).isEmpty)
    #expect(world.frames(to: phone) == [[7]])
  }

  @Test("An idle link on the edge of its range dies sooner or later, the same time in every run")
  func edge() {
    func deathTime() -> Instant? {
      var (world, _) = RadioWorld.linked(physics: RadioPhysics(shadowing: 0, wayShadowing: 0))
      world.put(.move(phone, to: Position(x: 42, y: 0)))
      world.run(for: .seconds(600))
      return world.disconnections(of: lock).first?.time
    }
    let first = deathTime()
    #expect(first != nil)
    #expect(deathTime() == first)
  }

  @Test(
    "H4: on the edge of its range, only those events of a link are due at which something arrives", arguments: 1...8)
  func rareDeliveries(seed: UInt64) {
    func isDue(_ heard: RadioWorld.Heard) -> Bool {
      if case .refused = heard.output.event { false } else { true }
    }
    func world(isStepped: Bool) -> RadioWorld {
      var (world, link) = RadioWorld.linked(
        seed: seed, physics: RadioPhysics(shadowing: 0, wayShadowing: 0, bodyLoss: 0))
      world.put(.move(phone, to: Position(x: 37, y: 0)))
      (world.deadlineCount, world.heard) = (0, [])
      for round: UInt8 in 0..<40 {
        world.put(.send(phone, link, Frame(channel: 4, payload: [round])))
        world.put(.send(lock, link, Frame(channel: 4, payload: [round])))
        let end = world.now + .milliseconds(400)
        while isStepped, world.now < end { world.run(until: min(end, world.now + .milliseconds(1))) }
        world.run(until: end)
      }
      return world
    }
    let (edge, stepped) = (world(isStepped: false), world(isStepped: true))
    #expect(edge.heard == stepped.heard)
    let due = edge.heard.filter(isDue).count
    #expect(due > 0 && edge.deadlineCount <= due, "\(edge.deadlineCount) for \(due)")
  }

  @Test("An idle link in range lives for days and costs nothing")
  func idle() {
    var (world, link) = RadioWorld.linked(physics: RadioPhysics())
    #expect(world.radio.nextDeadline == nil)
    world.run(for: .seconds(5 * 86400))
    world.put(.send(phone, link, Frame(channel: 4, payload: [1])))
    world.run(for: .seconds(1))
    #expect(world.frames(to: lock) == [[1]])
  }

  @Test("A host that ends the link tells the peer, after everything that it sent before")
  func disconnect() {
    var (world, link) = RadioWorld.linked()
    for number: UInt8 in 0..<10 { world.put(.send(phone, link, Frame(channel: 4, payload: [number]))) }
    world.put(.disconnect(phone, link, .localHostTerminated))
    #expect(world.put(.send(phone, link, Frame(channel: 4, payload: [99]))) == [.refused("no such link")])
    world.run(for: .seconds(1))
    #expect(world.frames(to: lock).count == 10)
    #expect(world.disconnections(of: phone).map(\.reason) == [.localHostTerminated])
    #expect(world.disconnections(of: lock).map(\.reason) == [.remoteUserTerminated])
    #expect(world.radio.rssi(of: link, at: phone) == nil)
  }

  @Test("A host that ends a link whose peer is gone learns so at the supervision timeout")
  func disconnectFromNobody() {
    var (world, link) = RadioWorld.linked()
    world.put(.setShielded(lock, true))
    world.put(.disconnect(phone, link, .remoteUserTerminated))
    world.run(for: .seconds(1))
    #expect(world.disconnections(of: phone).map(\.reason) == [.localHostTerminated])
    #expect(world.disconnections(of: lock).map(\.reason) == [.connectionTimeout])
  }

  @Test("A connection whose first events all fail was never established")
  func neverEstablished() {
    var world = RadioWorld.pair()
    world.put(.setAdvertising(lock, set: 0, .of()))
    world.put(.setInitiator(phone, .to(.address(lockAddress))))
    world.run(until: .zero + .seconds(60)) { !$0.links(of: phone).isEmpty }
    world.put(.setShielded(lock, true))
    world.run(for: .seconds(5))
    #expect(world.disconnections(of: phone).map(\.reason) == [.failedToEstablish])
    #expect(world.disconnections(of: lock).map(\.reason) == [.failedToEstablish])
  }

  @Test("The signal of a link falls with distance, and is read at both ends")
  func signal() throws {
    var (world, link) = RadioWorld.linked(physics: RadioPhysics(shadowing: 0, wayShadowing: 0))
    var earlier: Int8 = 0
    for metres in [1.0, 5, 20] {
      world.put(.move(phone, to: Position(x: metres, y: 0)))
      let reading = try #require(world.radio.rssi(of: link, at: phone))
      #expect(reading < earlier)
      #expect(world.radio.rssi(of: link, at: lock) != nil)
      earlier = reading
    }
    #expect(world.radio.rssi(of: link, at: ControllerIdentifier("nobody")) == nil)
    #expect(world.radio.rssi(of: LinkIdentifier(999), at: phone) == nil)
  }
}
