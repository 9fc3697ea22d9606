import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

/// What adapters and devices can do only with `--experimental`.
@Suite struct ConnectDeviceTests {
  private static let invalid = BlueZError.invalidArguments("Invalid arguments in method call")
  private static let refused = BlueZError.failed("Connect failed")
  private static let failed = BlueZError(name: "org.bluez.Failed", message: "")

  private func bench() -> Bench {
    var bench = Bench(isExperimental: true)
    bench.serveLock(encrypted: false)
    return bench
  }

  /// The argument that names the door.
  private func door(_ bench: Bench) -> Properties {
    let objects = bench.world.managedObjects(of: Bench.door)
    return [
      "Address": objects[Bench.adapter]?[InterfaceName.adapter]?["Address"] ?? .string(""),
      "AddressType": .string("public"),
    ]
  }

  private func connect(_ bench: inout Bench, _ members: Properties) -> Result<Reply, BlueZError>? {
    bench.ask(Bench.phone, Bench.adapter, .connectDevice(members))
  }

  @Test("H4: ConnectDevice links to a device that was never heard, and returns its path; its services follow")
  func unknown() throws {
    var bench = bench()
    let target = door(bench)
    #expect(bench.phoneObjects.keys.allSatisfy { $0.parent != Bench.adapter })
    let answer = connect(&bench, target)
    let path = try #require(bench.phoneObjects.keys.first { $0.parent == Bench.adapter })
    #expect(answer == .success(.path(path)))
    #expect(bench.device(path, "Connected") == .bool(true))
    let isResolved = bench.run(within: .seconds(10)) { $0.isResolved(path) }
    #expect(isResolved)
    #expect(bench.lockPath == path)
    // A link that exists has its channel already.
    #expect(connect(&bench, target)?.error == Self.refused)
    #expect(bench.ask(Bench.phone, path, .disconnect)?.isSuccess == true)
    #expect(connect(&bench, target) == .success(.path(path)))
  }

  @Test("H4: ConnectDevice to an absent device fails after 41 s; meanwhile the address is in use")
  func absent() {
    var bench = bench()
    let target = door(bench)
    bench.command(.move(machine: Bench.phone, x: 5000, y: 0))
    let start = bench.now
    let call = bench.call(Bench.phone, Bench.adapter, .connectDevice(target))
    bench.run(.seconds(10))
    #expect(bench.phoneObjects.keys.allSatisfy { $0.parent != Bench.adapter })
    #expect(connect(&bench, target)?.error == Self.refused)
    #expect(bench.answer(call)?.error == Self.failed)
    #expect(bench.now - start == .seconds(41))
    // The kernel looks for it no longer.
    bench.comeHome()
    let isConnected = bench.run(within: .seconds(60)) { $0.isConnected }
    #expect(!isConnected)
  }

  @Test("H4: the arguments of ConnectDevice are those that bluetoothd takes")
  func arguments() {
    var bench = bench()
    let target = door(bench)
    let address = target["Address"]
    #expect(connect(&bench, [:])?.error == Self.invalid)
    #expect(connect(&bench, ["AddressType": .string("public")])?.error == Self.invalid)
    for (name, value) in [
      ("Address", Value.string("00:00:00:00:00:00")), ("Address", .string("door")), ("Address", .byte(1)),
      ("AddressType", .string("bredr")), ("AddressType", .byte(1)), ("Name", .string("door")),
    ] {
      #expect(connect(&bench, target.merging([name: value]) { $1 })?.error == Self.invalid, "\(name) \(value)")
    }
    // Without a type the address is one of classic Bluetooth.
    #expect(connect(&bench, ["Address": address ?? .byte(0)])?.error == Self.refused)
    _ = bench.ask(
      Bench.phone, Bench.adapter,
      .setProperty(interface: InterfaceName.adapter, name: "Powered", value: .bool(false)))
    #expect(connect(&bench, [:])?.error == .notReady)
  }

  @Test("H4: calls of ConnectDevice end with the power, and with a link that is refused")
  func ends() throws {
    var bench = bench()
    let target = door(bench)
    let found = bench.discover()
    let path = try #require(found)
    _ = bench.ask(
      Bench.phone, path, .setProperty(interface: InterfaceName.device, name: "Blocked", value: .bool(true)))
    #expect(connect(&bench, target)?.error == Self.failed)
    bench.command(.move(machine: Bench.phone, x: 5000, y: 0))
    let call = bench.call(Bench.phone, Bench.adapter, .connectDevice(target))
    bench.run(.seconds(1))
    bench.command(.power(machine: Bench.phone, isOn: false))
    #expect(bench.replies[call]?.error == Self.failed)
  }

  @Test("H4: a device of Low Energy has no service records")
  func serviceRecords() {
    var bench = bench()
    let path = bench.meet()
    func ask() -> BlueZError? { bench.ask(Bench.phone, path, .getServiceRecords)?.error }
    #expect(ask() == .notReady)
    #expect(bench.ask(Bench.phone, path, .disconnect)?.isSuccess == true)
    #expect(ask() == .notConnected)
  }

  @Test("H4: without --experimental both methods are unknown")
  func plain() {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    let path = bench.meet()
    for (object, request) in [(Bench.adapter, Request.connectDevice([:])), (path, .getServiceRecords)] {
      #expect(bench.ask(Bench.phone, object, request)?.error?.kind == .unknownMethod)
    }
  }
}
