import BlueZ
import BlueZSimulator
import BusValue
import Testing

/// A machine with several adapters, over its bus.
@Suite("Several adapters", .timeLimit(.minutes(20))) struct SeveralAdaptersTests {
  private static let first = WellKnown.adapter(0)
  private static let second = WellKnown.adapter(1)

  private static func discovering(_ talker: Talker, _ adapter: ObjectPath) -> Bool {
    talker.property(adapter, InterfaceName.adapter, "Discovering") == .bool(true)
  }

  @Test("C: each adapter discovers for itself, has devices of its own, and connects to them by itself")
  func discovers() async throws {
    let stage = try await Stage(["door", "phone"], adapters: ["phone": 2])
    let door = try await stage.talker(on: "door")
    let phone = try await stage.talker(on: "phone")
    #expect(
      phone.property(Self.first, InterfaceName.adapter, "Address")
        != phone.property(Self.second, InterfaceName.adapter, "Address"))
    try await door.serve()
    let device = try await phone.meet(on: Self.second)
    #expect(device.isWithin(Self.second))
    #expect(phone.devices(of: Self.first).isEmpty && !Self.discovering(phone, Self.first))
    #expect(try await phone.ask(Self.first, .startDiscovery) == .success(.none))
    try await phone.until { Self.discovering($0, Self.first) }
    #expect(!Self.discovering(phone, Self.second))
    let offer = try phone.characteristic(Talker.offer, of: device)
    #expect(try await phone.ask(offer, .readValue(offset: 0)) == .success(.bytes([42])))
  }

  @Test("C: both adapters advertise, the same path too; the one that looks finds two devices")
  func advertises() async throws {
    let stage = try await Stage(["door", "phone"], adapters: ["door": 2])
    let door = try await stage.talker(on: "door")
    let phone = try await stage.talker(on: "phone")
    for (number, adapter) in [Self.first, Self.second].enumerated() {
      try await door.advertise(on: adapter, at: Talker.advertisement.appending("a\(number)"))
      try await door.until {
        $0.property(adapter, InterfaceName.advertisingManager, "ActiveInstances") == .byte(1)
      }
    }
    #expect(try await phone.ask(Self.first, .startDiscovery) == .success(.none))
    try await phone.until { $0.devices(of: Self.first).count == 2 }
    let found = Set(phone.devices(of: Self.first).compactMap { phone.property($0, InterfaceName.device, "Address") })
    let own = Set([Self.first, Self.second].compactMap { door.property($0, InterfaceName.adapter, "Address") })
    #expect(found == own)
  }

  @Test(
    "C: an adapter that is pulled out leaves the other, its link and what was registered with it; and it comes back")
  func unplugged() async throws {
    let stage = try await Stage(["door", "phone"], adapters: ["door": 2])
    let door = try await stage.talker(on: "door")
    let phone = try await stage.talker(on: "phone")
    try await door.serve(on: Self.first)
    let device = try await phone.meet()
    let offer = try phone.characteristic(Talker.offer, of: device)
    #expect(try await phone.ask(offer, .startNotify) == .success(.none))
    #expect(try await stage.obey(.plug(machine: "door/hci1", isOn: false)).error == nil)
    try await door.until { $0.objects[Self.second] == nil }
    #expect(door.objects[Self.first] != nil)
    door.client.send(.valueChanged(path: Talker.offerPath, value: [3]))
    try await phone.until { $0.signals.contains { $0.tellsValue(of: offer) } }
    #expect(phone.property(device, InterfaceName.device, "Connected") == .bool(true))
    #expect(try await stage.obey(.plug(machine: "door/hci1", isOn: true)).error == nil)
    try await door.until { $0.property(Self.second, InterfaceName.adapter, "Powered") == .bool(true) }
    #expect(door.appearances == 1)
  }

  @Test("H4: the default adapter has the host's name; one that comes when there is another gets a number")
  func names() async throws {
    let stage = try await Stage(["phone"], adapters: ["phone": 2])
    let phone = try await stage.talker(on: "phone")
    func name(_ talker: Talker, _ adapter: ObjectPath) -> Value? {
      talker.property(adapter, InterfaceName.adapter, "Name")
    }
    #expect(name(phone, Self.first) == .string("phone") && name(phone, Self.second) == .string("phone #2"))
    // The second becomes the default adapter, and keeps its name.
    #expect(try await stage.obey(.plug(machine: "phone/hci0", isOn: false)).error == nil)
    try await phone.until { $0.objects[Self.first] == nil }
    #expect(name(phone, Self.second) == .string("phone #2"))
    #expect(try await stage.obey(.plug(machine: "phone/hci0", isOn: true)).error == nil)
    try await phone.until { $0.objects[Self.first] != nil }
    #expect(name(phone, Self.first) == .string("phone #1"))
    for isOn in [false, true] { #expect(try await stage.obey(.plug(machine: "phone", isOn: isOn)).error == nil) }
    try await phone.until { name($0, Self.first) == .string("phone") }
  }

  @Test("C: AcquireNotify of a device of the second adapter gives a socket")
  func acquires() async throws {
    let stage = try await Stage(["door", "phone"], adapters: ["phone": 2])
    let door = try await stage.talker(on: "door")
    let phone = try await stage.talker(on: "phone")
    try await door.serve()
    let device = try await phone.meet(on: Self.second)
    let offer = try phone.characteristic(Talker.offer, of: device)
    let socket = try await phone.acquire(offer, .acquireNotify)
    door.client.send(.valueChanged(path: Talker.offerPath, value: [5]))
    #expect(await socket.receive() == [5])
  }

  @Test("C: bluetoothd is one process: it leaves and comes back with all adapters", arguments: [false, true])
  func restarts(killed: Bool) async throws {
    let stage = try await Stage(["phone"], adapters: ["phone": 3])
    let phone = try await stage.talker(on: "phone")
    for (round, name) in ["phone", "phone/hci2"].enumerated() {
      #expect(try await stage.obey(.restartBluetoothd(machine: name, killed: killed)).error == nil)
      try await phone.until { $0.appearances == 2 + round }
      try await phone.until { talker in
        (0..<3).allSatisfy { talker.property(WellKnown.adapter($0), InterfaceName.adapter, "Powered") == .bool(true) }
      }
    }
    #expect(try await stage.obey(.stopBluetoothd(machine: "phone/hci1", killed: killed)).error == nil)
    try await phone.until { !$0.isPresent }
    #expect(try await stage.obey(.startBluetoothd(machine: "phone")).error == nil)
    try await phone.until { $0.appearances == 4 }
    try await phone.until { $0.objects[WellKnown.adapter(2)] != nil }
  }

  @Test("C: a request to the second adapter that is open at a link's end takes bluetoothd with all its adapters")
  func crashes() async throws {
    let stage = try await Stage(["door", "phone"], adapters: ["door": 2])
    let door = try await stage.talker(on: "door")
    let phone = try await stage.talker(on: "phone")
    try await door.serve(on: Self.second)
    let device = try await phone.meet()
    let offer = try phone.characteristic(Talker.offer, of: device)
    door.answering.become { _ in nil }
    func reads(_ door: Talker) -> Int {
      door.callbacks.count { if case .readValue = $0.callback { true } else { false } }
    }
    // bluetoothd gives an application five seconds. On a busy machine these may be over before the link is. Then bluetoothd
    // lives on, and the phone comes back and asks again.
    var seen = 0
    while true {
      _ = phone.begin(offer, .readValue(offset: 0))
      // Its absence may be over before this test looks.
      try await door.until { reads($0) > seen || $0.appearances == 2 }
      guard door.appearances == 1 else { break }
      seen = reads(door)
      #expect(try await stage.obey(.shield(machine: "phone", isOn: true)).error == nil)
      try await phone.until { $0.property(device, InterfaceName.device, "Connected") == .bool(false) }
      #expect(try await stage.obey(.shield(machine: "phone", isOn: false)).error == nil)
      guard try await phone.ask(device, .connect) == .success(.none) else { continue }
      try await phone.until {
        $0.property(device, InterfaceName.device, "ServicesResolved") == .bool(true)
          || $0.property(device, InterfaceName.device, "Connected") == .bool(false)
      }
    }
    for adapter in [Self.first, Self.second] {
      try await door.until { $0.property(adapter, InterfaceName.adapter, "Powered") == .bool(true) }
    }
  }
}
