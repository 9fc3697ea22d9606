import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

/// What bluetoothd makes of what applications say and do (src/gatt-database.c of BlueZ 5.82).
@Suite struct ApplicationTests {
  private static let other = "tablet"
  private static let remark = BluetoothUUID("5f1a0009-3c0c-4d6a-9a42-1c6f3d8e7b10")!
  private static let remarkPath = ObjectPath(unchecked: "/app/service0/remark")

  /// A door with a value of a kind, and two machines that are linked to it.
  private static func meeting(_ flags: [String], _ further: Properties = [:]) -> Bench {
    var bench = Bench()
    bench.add(SimulatedMachine(name: other))
    var objects = Bench.lockObjects(encrypted: false)
    objects[remarkPath] = [
      InterfaceName.gattCharacteristic: [
        "UUID": .string(remark.description), "Service": .path(ObjectPath(unchecked: "/app/service0")),
        "Flags": .strings(flags),
      ].merging(further) { $1 }
    ]
    bench.call(
      Bench.door, Bench.adapter, .registerApplication(root: ObjectPath(unchecked: "/app"), objects: objects))
    bench.call(
      Bench.door, Bench.adapter,
      .registerAdvertisement(
        path: ObjectPath(unchecked: "/advertisement"),
        properties: [
          "Type": .string("peripheral"), "ServiceUUIDs": .strings([Bench.service.description]),
          "Discoverable": .bool(true),
        ]))
    for machine in [Bench.phone, other] { _ = join(machine, &bench) }
    return bench
  }

  @Test("H4: numbered objects get their handles in the order of their numbers, char9 before char10")
  func numberedObjects() throws {
    let service = ObjectPath(unchecked: "/app/service0")
    var objects: ManagedObjects = [
      service: [
        InterfaceName.gattService: ["UUID": .string(Bench.service.description), "Primary": .bool(true)]
      ]
    ]
    for number in 0..<12 {
      objects[ObjectPath(unchecked: "/app/service0/char\(number)")] = [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(BluetoothUUID(UInt16(0x2A00 + number)).description), "Service": .path(service),
          "Flags": .strings(["read"]),
        ]
      ]
    }
    var bench = Bench()
    bench.serveLock(encrypted: false)
    bench.call(
      Bench.door, Bench.adapter, .registerApplication(root: ObjectPath(unchecked: "/app"), objects: objects),
      from: ClientIdentifier(":1.9"))
    _ = bench.meet()
    let found = bench.phoneObjects.filter { path, interfaces in
      interfaces[InterfaceName.gattCharacteristic]?["UUID"]?.stringValue?.hasPrefix("00002a0") == true
    }.sorted { $0.key < $1.key }.compactMap { $0.value[InterfaceName.gattCharacteristic]?["UUID"]?.stringValue }
    let expected = (0..<12).map { BluetoothUUID(UInt16(0x2A00 + $0)).description }
    #expect(Array(found.suffix(12)) == expected)
  }

  private static func device(on machine: String, _ bench: Bench) -> ObjectPath? {
    bench.world.managedObjects(of: machine).first {
      $0.value[InterfaceName.device]?["UUIDs"]?.stringsValue?.contains(Bench.service.description) == true
    }?.key
  }

  private static func join(_ machine: String, _ bench: inout Bench) -> ObjectPath? {
    bench.call(machine, Bench.adapter, .startDiscovery)
    bench.run(within: .seconds(10)) { device(on: machine, $0) != nil }
    bench.call(machine, Bench.adapter, .stopDiscovery)
    guard let path = device(on: machine, bench) else { return nil }
    bench.call(machine, path, .connect)
    bench.run(within: .seconds(20)) {
      $0.world.managedObjects(of: machine)[path]?[InterfaceName.device]?["ServicesResolved"] == .bool(true)
    }
    bench.run(.seconds(1))
    return path
  }

  private static func value(on machine: String, _ bench: Bench) -> ObjectPath? {
    bench.world.managedObjects(of: machine).first {
      $0.value[InterfaceName.gattCharacteristic]?["UUID"]?.stringValue == remark.description
    }?.key
  }

  private func values(on machine: String, _ bench: Bench) -> [Value] {
    bench.signals.compactMap { entry in
      guard entry.machine == machine,
        case .propertiesChanged(let path, InterfaceName.gattCharacteristic, let changed, _) = entry.signal,
        path == Self.value(on: machine, bench)
      else { return nil }
      return changed["Value"]
    }
  }

  @Test("H4: an application is asked to notify for each subscriber, and to stop when the last one has ended it")
  func eachSubscriber() throws {
    var bench = Self.meeting(["read", "notify"])
    func count(_ callback: Callback, _ bench: Bench) -> Int { bench.callbacks.count { $0.callback == callback } }
    for (number, machine) in [Bench.phone, Self.other].enumerated() {
      let value = try #require(Self.value(on: machine, bench))
      #expect(bench.ask(machine, value, .startNotify)?.isSuccess == true)
      bench.run(.seconds(1))
      #expect(count(.startNotify, bench) == number + 1)
    }
    for (number, machine) in [Bench.phone, Self.other].enumerated() {
      let value = try #require(Self.value(on: machine, bench))
      #expect(bench.ask(machine, value, .stopNotify)?.isSuccess == true)
      bench.run(.seconds(1))
      #expect(count(.stopNotify, bench) == number)
    }
  }

  @Test("H4: that the link of an unbonded subscriber has ended is told before its application is asked to stop")
  func subscriberLeaves() throws {
    var bench = Self.meeting(["read", "notify"])
    for machine in [Bench.phone, Self.other] {
      let value = try #require(Self.value(on: machine, bench))
      #expect(bench.ask(machine, value, .startNotify)?.isSuccess == true)
    }
    for machine in [Bench.phone, Self.other] {
      bench.signals = []
      bench.call(machine, try #require(Self.device(on: machine, bench)), .disconnect)
      bench.run(.seconds(3))
    }
    let stops = bench.callbacks.filter { $0.callback == .stopNotify }
    #expect(stops.count == 1)
    let told = bench.signals.prefix(stops.first?.signals ?? 0).contains { entry in
      guard entry.machine == Bench.door,
        case .propertiesChanged(_, InterfaceName.device, let changed, _) = entry.signal
      else { return false }
      return changed["Connected"] == .bool(false)
    }
    #expect(told)
  }

  @Test("C2: an application gives each subscriber a socket of its own; a value in it goes to that one alone")
  func socketEach() throws {
    var bench = Self.meeting(["read", "notify"], ["NotifyAcquired": .bool(false)])
    for (machine, descriptor): (String, Int32) in [(Bench.phone, 7), (Self.other, 8)] {
      bench.answers = { callback in
        if case .acquireNotify = callback {
          .success(.channel(fileDescriptor: descriptor, mtu: 517))
        } else {
          .success(.none)
        }
      }
      #expect(bench.ask(machine, try #require(Self.value(on: machine, bench)), .startNotify)?.isSuccess == true)
      bench.run(.seconds(1))
    }
    bench.signals = []
    bench.pass(.data([8]), through: ChannelIdentifier(given: 8), of: Bench.door)
    bench.run(.seconds(1))
    #expect(values(on: Self.other, bench) == [.bytes([8])])
    #expect(values(on: Bench.phone, bench).isEmpty)
    // A changed Value still goes to all.
    bench.send(Bench.door, .valueChanged(path: Self.remarkPath, value: [9]))
    bench.run(.seconds(1))
    #expect(values(on: Self.other, bench).last == .bytes([9]))
    #expect(values(on: Bench.phone, bench) == [.bytes([9])])
    let path = try #require(Self.device(on: Self.other, bench))
    bench.call(Self.other, path, .disconnect)
    bench.run(.seconds(3))
    // bluez#1452: the oldest socket ends as well.
    for descriptor: Int32 in [7, 8] {
      #expect(bench.channels.contains(.close(ChannelIdentifier(given: descriptor))))
    }
    #expect(!bench.callbacks.contains { $0.callback == .stopNotify })
  }

  @Test("C2: the confirmation of an indication that came through a socket is a byte in the socket")
  func confirmation() throws {
    var bench = Self.meeting(["read", "indicate"], ["NotifyAcquired": .bool(false)])
    bench.answers = { callback in
      if case .acquireNotify = callback { .success(.channel(fileDescriptor: 7, mtu: 517)) } else { .success(.none) }
    }
    let value = try #require(Self.value(on: Bench.phone, bench))
    #expect(bench.ask(Bench.phone, value, .startNotify)?.isSuccess == true)
    bench.run(.seconds(1))
    bench.pass(.data([4]), through: ChannelIdentifier(given: 7), of: Bench.door)
    bench.run(.seconds(1))
    #expect(bench.channels.contains(.data(ChannelIdentifier(given: 7), [1])))
    #expect(!bench.callbacks.contains { $0.callback == .confirm })
  }

  @Test("C2: what is written while an application is asked for its socket waits, and goes through it in order")
  func writesWait() throws {
    var bench = Self.meeting(["write-without-response"], ["WriteAcquired": .bool(false)])
    bench.answers = { callback in if case .acquireWrite = callback { nil } else { .success(.none) } }
    let value = try #require(Self.value(on: Bench.phone, bench))
    for byte: UInt8 in 1...3 { _ = bench.ask(Bench.phone, value, .writeValue([byte], WriteOptions(kind: .command))) }
    bench.run(.seconds(1))
    let asked = bench.unanswered.filter { if case .acquireWrite = $0.3 { true } else { false } }
    #expect(asked.count == 1)
    bench.send(
      Bench.door, .answer(try #require(asked.first).identifier, .success(.channel(fileDescriptor: 8, mtu: 517))))
    let socket = ChannelIdentifier(given: 8)
    #expect(bench.channels == [.data(socket, [1]), .data(socket, [2]), .data(socket, [3])])
  }

  @Test(
    "H4: an application's error becomes an ATT error; the number in Failed is one from 0x80 to 0x9f, or there is none",
    arguments: [
      ("Failed", "no", 0x80), ("Failed", "0x81", 0x81), ("Failed", "0X9f", 0x9F), ("Failed", " 0203", 0x83),
      ("Failed", "0xa0", 0x0E), ("Failed", "0", 0x0E), ("Failed", "-1", 0x0E), ("Failed", "", 0x0E),
      ("Failed", "0x", 0x80), ("Failed", "0x85 ", 0x80), ("Failed", "99999999999999999999", 0x0E),
      ("ImproperlyConfigured", "", 0xFD), ("InProgress", "", 0xFE), ("Odd", "", 0x0E),
    ] as [(String, String, Int)])
  func errors(name: String, text: String, code: Int) throws {
    var bench = Self.meeting(["read"])
    bench.answers = { callback in
      if case .readValue = callback {
        .failure(BlueZError(name: "org.bluez.Error." + name, message: text))
      } else {
        .success(.none)
      }
    }
    let value = try #require(Self.value(on: Bench.phone, bench))
    #expect(bench.ask(Bench.phone, value, .readValue(offset: 0))?.error?.attError?.rawValue == UInt8(code))
  }

  @Test("H4: a value that is too long is cut to 512 bytes")
  func longValue() throws {
    var bench = Self.meeting(["read"])
    bench.answers = { callback in
      if case .readValue = callback { .success(.bytes(Array(repeating: 1, count: 600))) } else { .success(.none) }
    }
    let value = try #require(Self.value(on: Bench.phone, bench))
    #expect(bench.ask(Bench.phone, value, .readValue(offset: 0))?.bytes?.count == 512)
  }

  @Test("H4: an object whose Handle is 0 is told which it got; a characteristic's is that of its value")
  func handles() throws {
    var bench = Bench()
    let root = ObjectPath(unchecked: "/app")
    var objects = Bench.lockObjects(encrypted: false)
    objects[ObjectPath(unchecked: "/app/service0")]?[InterfaceName.gattService]?["Handle"] = .uint16(0)
    objects[Bench.offerPath]?[InterfaceName.gattCharacteristic]?["Handle"] = .uint16(0)
    bench.call(Bench.door, Bench.adapter, .registerApplication(root: root, objects: objects))
    var told: [ObjectPath: UInt16] = [:]
    for entry in bench.callbacks { if case .assignHandle(_, let handle) = entry.callback { told[entry.path] = handle } }
    let first = try #require(told[ObjectPath(unchecked: "/app/service0")])
    #expect(told.count == 2)
    #expect(bench.ask(Bench.door, Bench.adapter, .unregisterApplication(root: root))?.isSuccess == true)
    // The same handles are asked for, and no others are told.
    bench.callbacks = []
    objects[ObjectPath(unchecked: "/app/service0")]?[InterfaceName.gattService]?["Handle"] = .uint16(first)
    objects[Bench.offerPath]?[InterfaceName.gattCharacteristic]?["Handle"] = .uint16(
      try #require(told[Bench.offerPath]))
    #expect(
      bench.ask(Bench.door, Bench.adapter, .registerApplication(root: root, objects: objects))?.isSuccess == true)
    #expect(bench.callbacks.isEmpty)
    for wrong in [Value.uint16(first + 40), .int32(0), .string("5")] {
      _ = bench.ask(Bench.door, Bench.adapter, .unregisterApplication(root: root))
      objects[Bench.offerPath]?[InterfaceName.gattCharacteristic]?["Handle"] = wrong
      #expect(
        bench.ask(Bench.door, Bench.adapter, .registerApplication(root: root, objects: objects))?.error
          == .failed("Failed to create entry in database"))
    }
  }

  @Test("H4: an application that is refused was told of its service's handles, which are not used again")
  func handlesOfRefused() throws {
    var bench = Bench()
    let root = ObjectPath(unchecked: "/app")
    let service = ObjectPath(unchecked: "/app/service0")
    var objects = Bench.lockObjects(encrypted: false)
    objects[service]?[InterfaceName.gattService]?["Handle"] = .uint16(0)
    func told(_ objects: ManagedObjects) -> (handles: [UInt16], isSuccess: Bool) {
      bench.callbacks = []
      let answer = bench.ask(Bench.door, Bench.adapter, .registerApplication(root: root, objects: objects))
      let handles = bench.callbacks.compactMap { entry -> UInt16? in
        if case .assignHandle(_, let handle) = entry.callback, entry.path == service { handle } else { nil }
      }
      return (handles, answer?.isSuccess == true)
    }
    var wrong = objects
    wrong[Bench.offerPath]?[InterfaceName.gattCharacteristic]?["Handle"] = .int32(0)
    let first = told(wrong)
    let second = told(wrong)
    #expect(!first.isSuccess && !second.isSuccess && first.handles.count == 1 && second.handles.count == 1)
    let used = try #require(second.handles.first)
    let size = try used - #require(first.handles.first)
    #expect(size > 1)
    // Flags are read before anything is reserved.
    wrong[Bench.offerPath]?[InterfaceName.gattCharacteristic]?["Flags"] = .strings(["no flag"])
    #expect(told(wrong).handles.isEmpty)
    let last = told(objects)
    #expect(last.isSuccess && last.handles == [used + size])
  }

  @Test("H4: a service that its application removes is gone, and a read that is open fails; the application stays")
  func serviceRemoved() throws {
    var bench = Self.meeting(["read"])
    bench.answers = { _ in nil }
    let value = try #require(Self.value(on: Bench.phone, bench))
    let read = bench.call(Bench.phone, value, .readValue(offset: 0))
    bench.run(.seconds(1))
    let root = ObjectPath(unchecked: "/app")
    bench.send(Bench.door, .serviceRemoved(root: root, path: ObjectPath(unchecked: "/app/nothing")))
    bench.send(Bench.door, .serviceRemoved(root: root, path: ObjectPath(unchecked: "/app/service0")))
    #expect(bench.answer(read)?.error == .notSupported)
    bench.run(.seconds(3))
    #expect(Self.value(on: Bench.phone, bench) == nil)
    #expect(bench.ask(Bench.door, Bench.adapter, .unregisterApplication(root: root))?.isSuccess == true)
  }
}
