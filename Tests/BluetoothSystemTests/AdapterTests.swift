import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import JournalEvents
import Testing

@testable import BluetoothSystem

@Suite("A machine with two adapters")
struct AdapterTests {
  private static let second = ObjectPath(unchecked: "/org/bluez/hci1")
  private static let secondAddress = "C0:DE:00:00:00:02"

  private static func adapter(_ address: String) -> Interfaces {
    [InterfaceName.adapter: ["Powered": .bool(true), "Address": .string(address)]]
  }

  private static func device(_ address: String, connected: Bool = false) -> Interfaces {
    [
      InterfaceName.device: [
        "Address": .string(address), "AddressType": .string("public"), "Connected": .bool(connected),
      ]
    ]
  }

  private static let objects: ManagedObjects = [
    WellKnown.firstAdapter: adapter("C0:DE:00:00:00:01"),
    WellKnown.firstAdapter.appending("dev_C0_DE_00_00_00_0A"): device("C0:DE:00:00:00:0A"),
    second: adapter(secondAddress),
    second.appending("dev_C0_DE_00_00_00_0B"): device("C0:DE:00:00:00:0B"),
  ]

  private static func desk(_ choice: AdapterChoice) -> Desk {
    var configuration = BluetoothSystem.Configuration()
    configuration.adapter = choice
    return Desk(configuration: configuration)
  }

  @Test(
    "H2: the system uses the adapter that it was told to, and knows no device of another",
    arguments: [
      (AdapterChoice.first, "/org/bluez/hci0"), (.named("hci1"), "/org/bluez/hci1"),
      (.address(DeviceAddress("C0:DE:00:00:00:02", kind: .public)!), "/org/bluez/hci1"),
    ])
  func chosen(_ choice: AdapterChoice, _ path: String) {
    var desk = Self.desk(choice)
    desk.handle(.daemon(.appeared(Self.objects)))
    #expect(desk.system.bluez.adapter?.text == path)
    #expect(desk.system.bluez.state == .poweredOn)
    #expect(desk.system.bluez.devices.keys.map { $0.parent?.text } == [path])
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .scan(ScanRequest(services: nil))))
    let asked = desk.requests.filter { $0.request == .startDiscovery }
    #expect(asked.map(\.path.text) == [path])
  }

  @Test("H2: a device that turns up on the other adapter, and the other adapter's end, change nothing")
  func othersIgnored() {
    var desk = Self.desk(.named("hci1"))
    desk.handle(.daemon(.appeared(Self.objects)))
    let stranger = WellKnown.firstAdapter.appending("dev_C0_DE_00_00_00_0C")
    desk.handle(
      .daemon(.signal(.interfacesAdded(path: stranger, Self.device("C0:DE:00:00:00:0C", connected: true)))))
    #expect(desk.system.bluez.devices[stranger] == nil)
    desk.handle(
      .daemon(.signal(.interfacesRemoved(path: WellKnown.firstAdapter, [InterfaceName.adapter]))))
    #expect(desk.system.bluez.state == .poweredOn)
  }

  @Test("H2: if the named adapter is missing, Bluetooth is unsupported, and the journal lists the others")
  func missing() {
    var desk = Self.desk(.named("hci7"))
    desk.handle(.daemon(.appeared(Self.objects)))
    desk.pass(.seconds(5))
    #expect(desk.system.bluez.state == .unsupported)
    let record = desk.effects.lazy.compactMap { effect -> [JournalField: String]? in
      if case .record(.adapterMissing, let fields) = effect { fields } else { nil }
    }.first
    #expect(record == [.wanted: "hci7", .present: "hci0 hci1"])
    // The adapter appears later.
    desk.handle(
      .daemon(
        .signal(
          .interfacesAdded(
            path: ObjectPath(unchecked: "/org/bluez/hci7"), Self.adapter("C0:DE:00:00:00:07")))))
    #expect(desk.system.bluez.state == .poweredOn)
  }

  @Test("H2: an adapter known by its address is found again under another number")
  func renumbered() {
    var desk = Self.desk(.address(DeviceAddress(Self.secondAddress, kind: .public)!))
    desk.handle(.daemon(.appeared(Self.objects)))
    desk.handle(.daemon(.signal(.interfacesRemoved(path: Self.second, [InterfaceName.adapter]))))
    #expect(desk.system.bluez.state == .poweredOff)
    let third = ObjectPath(unchecked: "/org/bluez/hci2")
    desk.handle(.daemon(.signal(.interfacesAdded(path: third, Self.adapter(Self.secondAddress)))))
    #expect(desk.system.bluez.adapter == third)
  }

  @Test(
    "H2: a text that names no adapter is refused",
    arguments: ["", "hci", "hci-1", "hci01", "hci70000", "hci1 ", "usb0", "C0:DE:00:00:00", "/org/bluez/hci1"])
  func refused(_ text: String) {
    #expect(AdapterChoice(text) == nil)
  }

  @Test("H2: if the first adapter is pulled out, the other one that was there takes its place")
  func firstIsPulledOut() throws {
    var desk = Self.desk(.first)
    desk.handle(.daemon(.appeared(Self.objects)))
    desk.open()
    desk.createCentral()
    desk.answersCalls = false
    desk.forget()
    desk.handle(.daemon(.signal(.interfacesRemoved(path: WellKnown.firstAdapter, [InterfaceName.adapter]))))
    let call = try #require(desk.lastCall(.getManagedObjects))
    let left = Self.objects.filter { !$0.key.isWithin(WellKnown.firstAdapter) && $0.key != WellKnown.firstAdapter }
    desk.handle(.daemon(.reply(call, .success(.objects(left)))))
    #expect(desk.system.bluez.adapter == Self.second)
    #expect(desk.system.bluez.devices.keys.map { $0.parent?.text } == ["/org/bluez/hci1"])
    #expect(desk.events.last?.body == .stateChanged(.poweredOn))
  }

  @Test("H2: an adapter that is plugged in while the others are asked for is used, and one of another name is not")
  func notThatOne() throws {
    var desk = Self.desk(.named("hci0"))
    desk.handle(.daemon(.appeared(Self.objects)))
    desk.answersCalls = false
    desk.handle(.daemon(.signal(.interfacesRemoved(path: WellKnown.firstAdapter, [InterfaceName.adapter]))))
    let call = try #require(desk.lastCall(.getManagedObjects))
    desk.handle(.daemon(.reply(call, .success(.objects([Self.second: Self.adapter(Self.secondAddress)])))))
    #expect(desk.system.bluez.adapter == nil)
    desk.handle(.daemon(.signal(.interfacesAdded(path: WellKnown.firstAdapter, Self.adapter("C0:DE:00:00:00:01")))))
    #expect(desk.system.bluez.state == .poweredOn)
  }
}
