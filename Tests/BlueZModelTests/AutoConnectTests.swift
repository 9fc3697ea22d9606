import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

@Suite struct AutoConnect {
  @Test("H4: a bonded device comes back by itself while a profile asks for it, and again after every loss")
  func armedByProfile() {
    var bench = Bench()
    let path = bench.settle()
    #expect(bench.isBonded(path))
    for _ in 0..<2 {
      bench.leave()
      #expect(!bench.isConnected)
      #expect(bench.comeHomeAndConnect(within: .seconds(5)) == true)
    }
  }

  @Test("H4: a bond alone does not reconnect a device")
  func bondAlone() {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgents()
    _ = bench.meet()
    if let offer = bench.characteristic(Bench.offer) { _ = bench.ask(Bench.phone, offer, .readValue(offset: 0)) }
    bench.run(.seconds(1))
    bench.leave()
    #expect(bench.comeHomeAndConnect() == false)
  }

  @Test("H4: the death of the application that asked changes nothing")
  func survivesClient() {
    var bench = Bench()
    _ = bench.settle()
    bench.leave()
    bench.vanish(Bench.phone)
    #expect(bench.comeHomeAndConnect() == true)
  }

  @Test("H4: a restart of bluetoothd forgets which devices to connect; a new registration arms them again")
  func restart() {
    var bench = Bench()
    let path = bench.settle()
    bench.leave()
    bench.command(.restartBluetoothd(machine: Bench.phone, killed: false))
    #expect(bench.isBonded(path))
    #expect(bench.comeHomeAndConnect() == false)
    bench.registerProfile()
    #expect((bench.run(within: .seconds(5)) { $0.isConnected }) == true)
  }

  @Test("H4: a device that Connect() or Pair() reached is connected once more after bluetoothd was killed")
  func restartAfterKill() {
    var bench = Bench()
    let path = bench.settle()
    bench.leave()
    bench.command(.restartBluetoothd(machine: Bench.phone, killed: true))
    #expect(bench.isBonded(path))
    #expect(bench.comeHomeAndConnect() == true)
    bench.leave()
    #expect(bench.comeHomeAndConnect() == false, "once")
    bench.registerProfile()
    #expect((bench.run(within: .seconds(5)) { $0.isConnected }) == true)
  }

  @Test("H4: after bluetoothd was killed, power off drops what its kernel went on with")
  func powerOffAfterKill() {
    var bench = Bench()
    _ = bench.settle()
    bench.leave()
    bench.command(.restartBluetoothd(machine: Bench.phone, killed: true))
    for isOn in [true, false] { bench.command(.block(machine: Bench.phone, isOn: isOn)) }
    #expect(bench.comeHomeAndConnect() == false)
  }

  @Test("H4: a device that only the list connected is forgotten when bluetoothd is killed")
  func killedAfterBoot() {
    var bench = Bench()
    _ = bench.settle()
    bench.leave()
    bench.command(.shutDown(machine: Bench.phone))
    bench.command(.boot(machine: Bench.phone))
    bench.run(.seconds(1))
    bench.registerProfile()
    #expect(bench.comeHomeAndConnect() == true)
    bench.leave()
    bench.command(.restartBluetoothd(machine: Bench.phone, killed: true))
    #expect(bench.comeHomeAndConnect() == false)
  }

  @Test("H4: a device comes back also where a thousand others are waited for")
  func amongThousand() {
    var bench = Bench()
    _ = bench.settle()
    bench.leave()
    bench.command(.stopBluetoothd(machine: Bench.phone, killed: false))
    bench.command(
      .remember(
        machine: Bench.phone,
        devices: (0..<1000).map {
          RememberedDevice(address: DeviceAddress(bits: 0x001B_DC00_0000 + $0, kind: .public), service: Bench.service)
        }))
    bench.command(.startBluetoothd(machine: Bench.phone))
    #expect(bench.refusals == [])
    bench.registerProfile()
    #expect(bench.comeHomeAndConnect() == true)
  }

  @Test("A machine remembers ten thousand devices, and no more than its limit")
  func rememberedLimit() {
    func devices(_ numbers: Range<UInt64>) -> [RememberedDevice] {
      numbers.map {
        RememberedDevice(address: DeviceAddress(bits: 0x001B_DC00_0000 + $0, kind: .public), service: Bench.service)
      }
    }
    var bench = Bench()
    _ = bench.settle()
    bench.command(.stopBluetoothd(machine: Bench.phone, killed: false))
    bench.command(.remember(machine: Bench.phone, devices: devices(0..<10_000)))
    #expect(bench.refusals == [])
    bench.command(.remember(machine: Bench.phone, devices: devices(10_000..<20_000)))
    #expect(bench.refusals.count == 1)
    bench.command(.startBluetoothd(machine: Bench.phone))
    #expect(bench.phoneObjects.values.count { $0[InterfaceName.device] != nil } >= 10_000)
  }

  @Test(
    "H4: a device stays armed when the power goes off and on, and when rfkill blocks the adapter",
    arguments: [false, true])
  func powerCycle(byRfkill: Bool) {
    var bench = Bench()
    _ = bench.settle()
    bench.leave()
    if byRfkill {
      bench.command(.block(machine: Bench.phone, isOn: true))
      #expect(bench.phoneObjects[Bench.adapter]?[InterfaceName.adapter]?["PowerState"] == .string("off-blocked"))
      bench.run(.seconds(10))
      bench.command(.block(machine: Bench.phone, isOn: false))
    } else {
      for isOn in [false, true] {
        bench.call(
          Bench.phone, Bench.adapter,
          .setProperty(interface: InterfaceName.adapter, name: "Powered", value: .bool(isOn)))
        bench.run(.seconds(10))
      }
    }
    #expect(bench.comeHomeAndConnect() == true)
  }

  /// How a machine's radio goes.
  enum PowerLoss: CaseIterable, Sendable {
    case switchedOff, switchedOffByCommand, blocked, bluetoothdStopped, shutDown, unplugged, powerCut

    var isSilent: Bool { self == .unplugged || self == .powerCut }
  }

  @Test(
    "C3: a machine whose Bluetooth goes off ends its links first, so the other one knows at once; one that is unplugged or loses its power says nothing",
    arguments: PowerLoss.allCases)
  func linksEndFirst(_ how: PowerLoss) throws {
    var bench = Bench()
    _ = bench.settle()
    let began = bench.now
    switch how {
    case .switchedOff:
      bench.call(
        Bench.door, Bench.adapter, .setProperty(interface: InterfaceName.adapter, name: "Powered", value: .bool(false)))
    case .switchedOffByCommand:
      bench.command(.power(machine: Bench.door, isOn: false))
      #expect(bench.world.managedObjects(of: Bench.door)[Bench.adapter] != nil, "the controller stays")
    case .blocked: bench.command(.block(machine: Bench.door, isOn: true))
    case .bluetoothdStopped: bench.command(.stopBluetoothd(machine: Bench.door, killed: false))
    case .shutDown: bench.command(.shutDown(machine: Bench.door))
    case .unplugged: bench.command(.plug(machine: Bench.door, isOn: false))
    case .powerCut: bench.command(.cutPower(machine: Bench.door))
    }
    bench.run(within: .seconds(30)) { !$0.isConnected }
    #expect(!bench.isConnected)
    let reasons = bench.events.compactMap { if case .linkDown(_, _, _, let reason) = $0.event { reason } else { nil } }
    if how.isSilent {
      #expect(bench.now - began > .milliseconds(300))
      #expect(reasons == ["connectionTimeout"])
    } else {
      #expect(bench.now - began < .milliseconds(100))
      #expect(reasons == ["remotePoweredOff"])
    }
  }

  @Test("H4: an unplugged controller forgets the devices to connect; bonds stay")
  func unplugged() {
    var bench = Bench()
    let path = bench.settle()
    bench.leave()
    bench.command(.plug(machine: Bench.phone, isOn: false))
    #expect(bench.phoneObjects[Bench.adapter] == nil)
    bench.run(.seconds(5))
    bench.command(.plug(machine: Bench.phone, isOn: true))
    #expect(bench.isBonded(path))
    #expect(bench.comeHomeAndConnect() == false)
    bench.registerProfile()
    #expect((bench.run(within: .seconds(5)) { $0.isConnected }) == true)
  }

  @Test("H4: Disconnect disarms an untrusted device, until a registration or a Connect", arguments: [false, true])
  func disconnectDisarms(byConnect: Bool) {
    var bench = Bench()
    let path = bench.settle()
    let start = bench.now
    #expect(bench.ask(Bench.phone, path, .disconnect)?.isSuccess == true)
    #expect(bench.now - start >= .milliseconds(1900) && bench.now - start <= .milliseconds(2400))
    #expect((bench.run(within: .seconds(60)) { $0.isConnected }) == false)
    if byConnect {
      bench.command(.move(machine: Bench.phone, x: 5000, y: 0))
      // It fails, but still arms the device.
      #expect(bench.ask(Bench.phone, path, .connect)?.error != nil)
      bench.comeHome()
    } else {
      bench.registerProfile(from: ClientIdentifier(":1.9"))
    }
    #expect((bench.run(within: .seconds(5)) { $0.isConnected }) == true)
  }

  @Test("H4: Disconnect does not disarm a trusted device")
  func trusted() {
    var bench = Bench()
    let path = bench.settle()
    bench.call(
      Bench.phone, path, .setProperty(interface: InterfaceName.device, name: "Trusted", value: .bool(true)))
    _ = bench.ask(Bench.phone, path, .disconnect)
    bench.run(.milliseconds(500))
    #expect((bench.run(within: .seconds(5)) { $0.isConnected }) == true)
  }

  @Test("H4: RemoveDevice ends bond, object and auto-connect")
  func removed() {
    var bench = Bench()
    let path = bench.settle()
    bench.leave()
    #expect(bench.ask(Bench.phone, Bench.adapter, .removeDevice(path))?.isSuccess == true)
    #expect(bench.phoneObjects[path] == nil)
    #expect(bench.world.storage(of: Bench.phone)?.devices.isEmpty == true)
    #expect(bench.comeHomeAndConnect() == false)
  }

  @Test("H4: without a bond a profile is not to be relied on")
  func unbonded() {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    let path = bench.meet()
    bench.registerProfile()
    bench.leave()
    bench.run(.seconds(40))
    #expect(bench.phoneObjects[path] == nil)
    #expect(bench.comeHomeAndConnect() == false)
  }

  @Test("H4: a reboot keeps bonds, objects and cache, and a registration connects at once")
  func reboot() {
    var bench = Bench()
    let path = bench.settle()
    bench.leave()
    bench.command(.shutDown(machine: Bench.phone))
    bench.run(.seconds(86400))
    bench.command(.boot(machine: Bench.phone))
    bench.run(.seconds(1))
    #expect(bench.isBonded(path))
    #expect(bench.device(path, "UUIDs")?.stringsValue?.contains(Bench.service.description) == true)
    bench.comeHome()
    bench.registerProfile()
    #expect((bench.run(within: .seconds(5)) { $0.isConnected }) == true)
    #expect((bench.run(within: .seconds(1)) { $0.isResolved(path) }) == true)
  }

  @Test("H4: a killed bluetoothd's kernel goes on connecting; the next one shows such a link, which ends after 2 s")
  func killed() {
    var bench = Bench()
    let path = bench.settle()
    bench.leave()
    bench.command(.stopBluetoothd(machine: Bench.phone, killed: true))
    bench.comeHome()
    func isLinked(_ bench: Bench) -> Bool {
      bench.events.contains { if case .linkUp = $0.event { $0.at > bench.events[0].at } else { false } }
        && bench.world.managedObjects(of: Bench.door).values.contains {
          $0[InterfaceName.device]?["Connected"] == .bool(true)
        }
    }
    bench.run(within: .seconds(20), until: isLinked)
    #expect(isLinked(bench))
    bench.command(.startBluetoothd(machine: Bench.phone))
    #expect(bench.isConnected)
    #expect(!bench.isResolved(path))
    bench.run(.milliseconds(2100))
    #expect(!bench.isConnected)
    bench.run(.seconds(30))
    #expect(!bench.isConnected, "the list is cleared")
    bench.registerProfile()
    bench.run(within: .seconds(10)) { $0.isResolved(path) }
    #expect(bench.isResolved(path))
  }

  @Test("H4: a link that a killed bluetoothd left is taken over by Connect")
  func adopted() {
    var bench = Bench()
    let path = bench.settle()
    bench.command(.restartBluetoothd(machine: Bench.phone, killed: true))
    #expect(bench.isConnected)
    #expect(bench.ask(Bench.phone, path, .connect)?.isSuccess == true)
    bench.run(within: .seconds(5)) { $0.isResolved(path) }
    #expect(bench.isResolved(path))
    bench.run(.seconds(10))
    #expect(bench.isConnected)
  }

  @Test("H4: an idle machine that waits for a device has nothing to do")
  func idle() {
    var bench = Bench()
    _ = bench.settle()
    bench.leave()
    bench.run(.seconds(120))
    #expect(bench.world.nextDeadline == nil)
    bench.comeHomeAndConnect()
    bench.run(.seconds(120))
    #expect(bench.world.nextDeadline == nil)
  }
}
