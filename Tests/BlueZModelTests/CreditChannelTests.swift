import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

/// L2CAP channels between a phone and a door.
@Suite struct CreditChannelTests {
  /// The phone is connected, and the door listens.
  private static func meeting(requiresEncryption: Bool = false, agents: Bool = false) throws -> (Bench, ObjectPath) {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    if agents { bench.registerAgents() }
    let path = bench.meet()
    bench.run(.seconds(2))
    let listen = Request.listenForChannels(psm: 0, requiresEncryption: requiresEncryption)
    #expect(bench.ask(Bench.door, Bench.adapter, listen) == .success(.psm(0x80)))
    return (bench, path)
  }

  private static func opened(_ bench: Bench, _ machine: String) -> (ChannelIdentifier, mtu: UInt16)? {
    for case .openCredit(let channel, _, _, let mtu, _) in bench.channelsOf[machine] ?? [] { return (channel, mtu) }
    return nil
  }

  private static func packets(_ bench: Bench, _ machine: String) -> [[UInt8]] {
    (bench.channelsOf[machine] ?? []).compactMap { if case .data(_, let packet) = $0 { packet } else { nil } }
  }

  private static func reads(_ bench: Bench, _ machine: String) -> Int {
    (bench.channelsOf[machine] ?? []).count { if case .read = $0 { true } else { false } }
  }

  /// Both ends of an open channel.
  private static func open(_ bench: inout Bench, _ path: ObjectPath) throws -> (
    phone: ChannelIdentifier, door: ChannelIdentifier
  ) {
    bench.call(Bench.door, Bench.adapter, .acceptChannel(psm: 0x80))
    bench.call(Bench.phone, path, .openChannel(psm: 0x80))
    bench.run(.seconds(1))
    let phone = try #require(opened(bench, Bench.phone))
    let door = try #require(opened(bench, Bench.door))
    #expect(phone.mtu == 2048 && door.mtu == 2048)
    return (phone.0, door.0)
  }

  @Test("C7: packets go both ways, whole and in order, and a receiver that takes none stops the sender")
  func packetsBothWays() throws {
    var (bench, path) = try Self.meeting()
    let ends = try Self.open(&bench, path)
    let long = (0..<2000).map { UInt8(truncatingIfNeeded: $0) }
    bench.pass(.data([1, 2, 3]), through: ends.door, of: Bench.door)
    bench.run(.seconds(1))
    #expect(Self.packets(bench, Bench.phone) == [[1, 2, 3]])
    // Two long packets and a little more are what the receiver has given credits for.
    var sent = 0
    while Self.reads(bench, Bench.phone) > sent, sent < 10 {
      sent += 1
      bench.pass(.data(long), through: ends.phone, of: Bench.phone)
      bench.run(.seconds(5))
    }
    #expect(sent == 3, "the third waits for credits")
    #expect(Self.packets(bench, Bench.door) == [long, long])
    bench.pass(.taken, through: ends.door, of: Bench.door)
    bench.run(.seconds(5))
    #expect(Self.packets(bench, Bench.door) == [long, long, long])
    #expect(Self.reads(bench, Bench.phone) == 4)
  }

  @Test("C7: what a peer sends before it is asked for waits, and a closed end is found after all that came before")
  func earlyAndClosed() throws {
    var (bench, path) = try Self.meeting()
    bench.call(Bench.phone, path, .openChannel(psm: 0x80))
    bench.run(.seconds(1))
    let phone = try #require(Self.opened(bench, Bench.phone)).0
    bench.pass(.data([7]), through: phone, of: Bench.phone)
    bench.pass(.closed, through: phone, of: Bench.phone)
    #expect(bench.channelsOf[Bench.phone]?.last == .close(phone))
    // The channel ended before anybody took it.
    bench.run(.seconds(1))
    let accept = bench.call(Bench.door, Bench.adapter, .acceptChannel(psm: 0x80))
    bench.run(.seconds(1))
    #expect(bench.replies[accept] == nil)
    bench.call(Bench.phone, path, .openChannel(psm: 0x80))
    bench.run(.seconds(1))
    let door = try #require(Self.opened(bench, Bench.door)).0
    bench.pass(.data([9]), through: door, of: Bench.door)
    bench.pass(.closed, through: door, of: Bench.door)
    bench.run(.seconds(1))
    guard case .data(_, [9])? = bench.channelsOf[Bench.phone]?.dropLast().last,
      case .close? = bench.channelsOf[Bench.phone]?.last
    else {
      Issue.record("\(bench.channelsOf)")
      return
    }
  }

  @Test("C7: a PSM that nobody listens at is refused, and one that is withdrawn")
  func unknownPSM() throws {
    var (bench, path) = try Self.meeting()
    #expect(bench.ask(Bench.phone, path, .openChannel(psm: 0x81)) == .failure(.rejected))
    #expect(bench.ask(Bench.phone, path, .openChannel(psm: 0x100))?.error?.kind == .invalidArguments)
    let accept = bench.call(Bench.door, Bench.adapter, .acceptChannel(psm: 0x80))
    #expect(bench.ask(Bench.door, Bench.adapter, .stopListening(psm: 0x80)) == .success(.none))
    #expect(bench.replies[accept] == .failure(.canceled))
    #expect(bench.ask(Bench.phone, path, .openChannel(psm: 0x80)) == .failure(.rejected))
    #expect(bench.ask(Bench.door, Bench.adapter, .stopListening(psm: 0x80)) == .failure(.doesNotExist))
  }

  @Test("C7, B3: a channel that requires encryption makes the machines pair first; without a user it is refused")
  func encryption() throws {
    var (bench, path) = try Self.meeting(requiresEncryption: true, agents: true)
    _ = try Self.open(&bench, path)
    #expect(bench.isBonded(path))
    var (bare, other) = try Self.meeting(requiresEncryption: true)
    bare.answers = { _ in .failure(.rejected) }
    let result = bare.ask(Bench.phone, other, .openChannel(psm: 0x80))
    #expect(result?.error != nil)
    #expect(Self.opened(bare, Bench.door) == nil)
  }

  @Test("C7: a lost link ends channels at both ends, and attempts to open one")
  func lostLink() throws {
    var (bench, path) = try Self.meeting()
    let ends = try Self.open(&bench, path)
    bench.command(.shield(machine: Bench.door, isOn: true))
    let attempt = bench.call(Bench.phone, path, .openChannel(psm: 0x80))
    bench.run(.seconds(5))
    #expect(bench.replies[attempt] == .failure(.notConnected))
    #expect(bench.channelsOf[Bench.phone]?.last == .close(ends.phone))
    #expect(bench.channelsOf[Bench.door]?.last == .close(ends.door))
    #expect(bench.ask(Bench.phone, path, .openChannel(psm: 0x80)) == .failure(.notConnected))
  }

  @Test("C7: a client that leaves the bus stops listening; its open channels are the apps' and stay")
  func clientLeaves() throws {
    var (bench, path) = try Self.meeting()
    let ends = try Self.open(&bench, path)
    bench.vanish(Bench.door)
    bench.run(.seconds(1))
    bench.pass(.data([5]), through: ends.phone, of: Bench.phone)
    bench.run(.seconds(1))
    #expect(Self.packets(bench, Bench.door) == [[5]])
    #expect(bench.ask(Bench.phone, path, .openChannel(psm: 0x80)) == .failure(.rejected))
  }
}
