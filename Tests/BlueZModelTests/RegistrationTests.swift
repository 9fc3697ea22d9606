import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

/// Which applications are accepted, beyond what the conformance suite covers.
@Suite struct RegistrationTests {
  private static func services(_ count: Int) -> ManagedObjects {
    var objects = ManagedObjects()
    for number in 0..<count {
      let service = ObjectPath(unchecked: "/many/service\(number)")
      objects[service] = [
        InterfaceName.gattService: [
          "UUID": .string(BluetoothUUID(UInt32(0x10000 + number)).description), "Primary": .bool(true),
        ]
      ]
      objects[service.appending("one")] = [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(Bench.offer.description), "Service": .path(service), "Flags": .strings(["read"]),
        ]
      ]
    }
    return objects
  }

  @Test("C8: two thousand services register, and running out of handles is reported", .timeLimit(.minutes(20)))
  func many() {
    var bench = Bench()
    let root = ObjectPath(unchecked: "/many")
    let all = Self.services(2000)
    #expect(
      bench.ask(Bench.door, Bench.adapter, .registerApplication(root: root, objects: all))?.isSuccess == true)
    #expect(bench.ask(Bench.door, Bench.adapter, .unregisterApplication(root: root))?.isSuccess == true)
    var tooMany = Self.services(1)
    for path in tooMany.keys where tooMany[path]?[InterfaceName.gattService] != nil {
      tooMany[path]?[InterfaceName.gattService]?["Handle"] = .uint16(0xFFFE)
    }
    #expect(
      bench.ask(Bench.door, Bench.adapter, .registerApplication(root: root, objects: tooMany))?.error
        == .failed("Failed to create entry in database"))
  }

  @Test(
    "C8: a descriptor has flags for reads, for writes with a response and for asking first; any other refuses the application",
    arguments: [
      ("read", true), ("write", true), ("secure-write", true), ("encrypt-authenticated-read", true),
      ("authorize", true), ("write-without-response", false), ("notify", false), ("broadcast", false),
      ("reliable-write", false), ("extended-properties", false), ("authenticated-signed-writes", false),
      ("encrypt-notify", false), ("loud", false),
    ])
  func descriptorFlags(_ flag: String, _ isAllowed: Bool) throws {
    var bench = Bench()
    var objects = Self.services(1)
    let characteristic = try #require(objects.first { $0.value[InterfaceName.gattCharacteristic] != nil }?.key)
    objects[characteristic.appending("text")] = [
      InterfaceName.gattDescriptor: [
        "UUID": .string("2901"), "Characteristic": .path(characteristic), "Flags": .strings(["read", flag]),
      ]
    ]
    let answer = bench.ask(
      Bench.door, Bench.adapter, .registerApplication(root: ObjectPath(unchecked: "/many"), objects: objects))
    #expect(answer?.error == (isAllowed ? nil : .failed("No valid service object found")))
  }

  @Test("C11: a read goes between the questions about forty services that come, and not behind them")
  func reading() throws {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    _ = bench.meet()
    bench.run(.seconds(2))
    let offer = try #require(bench.characteristic(Bench.offer))
    let before = bench.phoneObjects.count
    bench.call(
      Bench.door, Bench.adapter,
      .registerApplication(root: ObjectPath(unchecked: "/many"), objects: Self.services(40)))
    let began = bench.now
    #expect(bench.ask(Bench.phone, offer, .readValue(offset: 0))?.bytes == [7, 7])
    #expect(bench.now - began < .milliseconds(500))
    #expect(bench.phoneObjects.count < before + 80)
    bench.run(.seconds(60))
    #expect(bench.phoneObjects.count >= before + 80)
  }

  /// One service with its handle, in a folder of its own.
  private static func application(_ number: Int, handle: UInt16) -> (root: ObjectPath, objects: ManagedObjects) {
    let root = ObjectPath(unchecked: "/many\(number)")
    var objects = ManagedObjects()
    for (path, interfaces) in services(number) where path.text.contains("service\(number - 1)") {
      var interfaces = interfaces
      interfaces[InterfaceName.gattService]?["Handle"] = .uint16(handle)
      if interfaces[InterfaceName.gattCharacteristic] != nil {
        interfaces[InterfaceName.gattCharacteristic]?["Service"] = .path(root.appending("service"))
        objects[root.appending("service").appending("one")] = interfaces
      } else {
        objects[root.appending("service")] = interfaces
      }
    }
    return (root, objects)
  }

  @Test(
    "H4: three applications that go and come at one moment are all found again, in whatever order",
    arguments: [[0, 1, 2], [1, 0, 2], [2, 0, 1], [1, 2, 0]])
  func goAndCome(order: [Int]) {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    let applications = [0x100, 0x120, 0xFF10].enumerated().map { Self.application($0 + 1, handle: $1) }
    func register(_ numbers: [Int]) {
      for number in numbers {
        let (root, objects) = applications[number]
        bench.call(Bench.door, Bench.adapter, .registerApplication(root: root, objects: objects))
      }
    }
    register([0, 1, 2])
    let path = bench.meet()
    bench.run(.seconds(2))
    let before = Set(bench.phoneObjects.keys)
    #expect(before.contains { $0.text.hasSuffix("/serviceff10") })
    for number in order {
      bench.call(Bench.door, Bench.adapter, .unregisterApplication(root: applications[number].root))
    }
    register([0, 2, 1])
    bench.run(.seconds(10))
    #expect(bench.isResolved(path) && Set(bench.phoneObjects.keys) == before)
  }

  @Test("C4: a bond that somebody has compared lets a peer at what asks for authentication")
  func authenticated() throws {
    var bench = Bench()
    let service = ObjectPath(unchecked: "/app/service0")
    bench.call(
      Bench.door, Bench.adapter,
      .registerApplication(
        root: ObjectPath(unchecked: "/app"),
        objects: [
          service: [
            InterfaceName.gattService: ["UUID": .string(Bench.service.description), "Primary": .bool(true)]
          ],
          Bench.offerPath: [
            InterfaceName.gattCharacteristic: [
              "UUID": .string(Bench.offer.description), "Service": .path(service),
              "Flags": .strings(["secure-read", "encrypt-authenticated-write"]),
            ]
          ],
        ]))
    bench.call(
      Bench.door, Bench.adapter,
      .registerAdvertisement(
        path: ObjectPath(unchecked: "/advertisement"),
        properties: [
          "Type": .string("peripheral"), "ServiceUUIDs": .strings([Bench.service.description]),
          "Discoverable": .bool(true),
        ]))
    bench.registerAgents(.displayYesNo)
    let found = bench.discover()
    let path = try #require(found)
    #expect(bench.ask(Bench.phone, path, .pair)?.isSuccess == true)
    let offer = try #require(bench.characteristic(Bench.offer))
    #expect(bench.ask(Bench.phone, offer, .readValue(offset: 0))?.bytes == [7, 7])
    #expect(bench.ask(Bench.phone, offer, .writeValue([1], WriteOptions(kind: .request)))?.isSuccess == true)
  }
}
