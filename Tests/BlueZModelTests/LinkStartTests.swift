import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

/// What bluetoothd does with a link that has just come up (docs/bluez.md, "The first moments of a link").
@Suite struct LinkStart {
  /// A phone that is bonded and subscribed, back at its lock: the link is there, and nothing else.
  private func back(notifying: Bool = true) throws -> (bench: Bench, offer: ObjectPath, command: ObjectPath) {
    var bench = Bench()
    _ = bench.settle(notifying: notifying)
    let offer = try #require(bench.characteristic(Bench.offer))
    let command = try #require(bench.characteristic(Bench.command))
    bench.leave()
    bench.signals = []
    bench.callbacks = []
    let isBack = bench.comeHomeAndConnect()
    #expect(isBack)
    return (bench, offer, command)
  }

  private func mtu(_ bench: Bench, _ path: ObjectPath) -> Value? {
    bench.phoneObjects[path]?[InterfaceName.gattCharacteristic]?["MTU"]
  }

  /// The attribute protocol works, and the MTU is not agreed on.
  private func early() throws -> (bench: Bench, offer: ObjectPath, command: ObjectPath) {
    var (bench, offer, command) = try back()
    bench.run(within: .seconds(1)) { mtu($0, offer) != nil }
    #expect(mtu(bench, offer) == .uint16(23))
    return (bench, offer, command)
  }

  @Test("H4: a link's MTU is missing, then 23, then 517, and never announced")
  func mtuOfLink() throws {
    var (bench, offer, _) = try back()
    #expect(mtu(bench, offer) == nil)
    bench.run(within: .seconds(1)) { mtu($0, offer) != nil }
    #expect(mtu(bench, offer) == .uint16(23))
    bench.run(within: .seconds(1)) { mtu($0, offer) != .uint16(23) }
    #expect(mtu(bench, offer) == .uint16(517))
    bench.run(.seconds(2))
    #expect(bench.changes(InterfaceName.gattCharacteristic, "MTU").isEmpty)
    bench.leave()
    #expect(mtu(bench, offer) == nil)
  }

  @Test("H4: a read at the moment of Connected fails, and later succeeds")
  func earlyRead() throws {
    var (bench, offer, _) = try back()
    let early = bench.ask(Bench.phone, offer, .readValue(offset: 0))
    #expect(early?.error == .failed("Not connected"))
    bench.run(.milliseconds(400))
    let later = bench.ask(Bench.phone, offer, .readValue(offset: 0))
    #expect(later?.isSuccess == true)
  }

  @Test("H4: a long write that begins before the MTU is agreed on ends after 18 bytes, and succeeds")
  func earlyWrite() throws {
    var (bench, _, command) = try early()
    let value = [UInt8](0..<106)
    let early = bench.ask(Bench.phone, command, .writeValue(value, WriteOptions(kind: .request)))
    #expect(early?.isSuccess == true)
    func written(_ bench: Bench) -> [[UInt8]] {
      bench.callbacks.compactMap { if case .writeValue(let bytes, _) = $0.callback { bytes } else { nil } }
    }
    #expect(written(bench) == [Array(value.prefix(18))])
    let later = bench.ask(Bench.phone, command, .writeValue(value, WriteOptions(kind: .request)))
    #expect(later?.isSuccess == true)
    #expect(written(bench).last == value)
  }

  @Test("H4: a write that begins before the MTU is agreed on is answered before the services are resolved")
  func earlyWriteIsFirst() throws {
    var (bench, _, command) = try early()
    #expect(bench.changes(InterfaceName.device, "ServicesResolved").isEmpty)
    let write = bench.ask(Bench.phone, command, .writeValue([UInt8](0..<100), WriteOptions(kind: .request)))
    #expect(write?.isSuccess == true)
    #expect(bench.changes(InterfaceName.device, "ServicesResolved").isEmpty)
  }

  @Test("H4: a linked lock advertises again at the kernel's next rotation, and after a loss at once")
  func rotation() throws {
    var bench = Bench()
    bench.world.recordsAir = true
    _ = bench.settle()
    func advertised(_ bench: Bench) -> Int {
      bench.events.count { if case .advertisingBegan = $0.event { true } else { false } }
    }
    bench.leave()
    bench.comeHomeAndConnect()
    let before = advertised(bench)
    bench.run(within: .seconds(3)) { advertised($0) > before }
    #expect(advertised(bench) == before + 1)
    bench.run(.seconds(3))
    #expect(advertised(bench) == before + 1, "once a link")
    bench.leave()
    #expect(advertised(bench) == before + 2)
  }

  @Test("H4: before the MTU is agreed on, a notification carries 18 bytes")
  func earlyValue() throws {
    var (bench, offer, _) = try early()
    let value = [UInt8](0..<32)
    bench.send(Bench.door, .valueChanged(path: Bench.offerPath, value: value))
    bench.run(.seconds(2))
    #expect(
      bench.changes(InterfaceName.gattCharacteristic, "Value", of: offer).map(\.value)
        == [.bytes(Array(value.prefix(18)))])
  }
}
