import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing

/// AcquireNotify and AcquireWrite, on a peer's characteristics and on applications'.
@Suite struct AcquireTests {
  private static let remark = BluetoothUUID("5f1a0009-3c0c-4d6a-9a42-1c6f3d8e7b10")!
  private static let remarkPath = ObjectPath(unchecked: "/app/service0/remark")

  /// A connected phone. The door's remark accepts commands and notifies.
  private static func meeting(givesSockets: Bool = false) -> Bench {
    var bench = Bench()
    var objects = Bench.lockObjects(encrypted: false)
    var properties: Properties = [
      "UUID": .string(remark.description), "Service": .path(ObjectPath(unchecked: "/app/service0")),
      "Flags": .strings(["write", "write-without-response", "notify"]),
    ]
    if givesSockets {
      properties["NotifyAcquired"] = .bool(false)
      properties["WriteAcquired"] = .bool(false)
    }
    objects[remarkPath] = [InterfaceName.gattCharacteristic: properties]
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
    _ = bench.meet()
    bench.run(.seconds(2))
    return bench
  }

  private func opened(_ bench: Bench) -> ChannelIdentifier? {
    for case .open(let channel, _, _, let mtu) in bench.channels where mtu == 517 { return channel }
    return nil
  }

  @Test(
    "C2: AcquireWrite gives a client a socket; what comes through it is written, and another client waits for its end")
  func acquireWrite() throws {
    var bench = Self.meeting()
    let remark = try #require(bench.characteristic(Self.remark))
    bench.call(Bench.phone, remark, .acquireWrite)
    bench.run(.seconds(1))
    let channel = try #require(opened(bench))
    #expect(bench.phoneObjects[remark]?[InterfaceName.gattCharacteristic]?["WriteAcquired"] == .bool(true))
    #expect(bench.ask(Bench.phone, remark, .acquireWrite)?.error == .notPermitted("Write acquired"))
    bench.callbacks = []
    bench.pass(.data([1, 2, 3]), through: channel, of: Bench.phone)
    bench.run(.seconds(1))
    #expect(bench.callbacks.contains { if case .writeValue([1, 2, 3], _) = $0.callback { true } else { false } })
    bench.pass(.closed, through: channel, of: Bench.phone)
    #expect(bench.channels.last == .close(channel))
    #expect(bench.phoneObjects[remark]?[InterfaceName.gattCharacteristic]?["WriteAcquired"] == .bool(false))
  }

  @Test("C2: AcquireNotify subscribes; values go through the socket and nowhere else, until the link is lost")
  func acquireNotify() throws {
    var bench = Self.meeting()
    let offer = try #require(bench.characteristic(Bench.offer))
    bench.call(Bench.phone, offer, .acquireNotify)
    bench.run(.seconds(1))
    let channel = try #require(opened(bench))
    #expect(bench.ask(Bench.phone, offer, .startNotify)?.error == .notPermitted("Notify acquired"))
    #expect(bench.ask(Bench.phone, offer, .acquireNotify)?.error == .notPermitted("Notify acquired"))
    bench.signals = []
    bench.send(Bench.door, .valueChanged(path: Bench.offerPath, value: [9]))
    bench.run(.seconds(1))
    #expect(bench.channels.contains(.data(channel, [9])))
    #expect(bench.changes(InterfaceName.gattCharacteristic, "Value").isEmpty)
    bench.leave()
    #expect(bench.channels.contains(.close(channel)))
    #expect(bench.ask(Bench.phone, offer, .acquireNotify)?.error == .failed("Not connected"))
  }

  @Test("C2: an application that gives sockets is asked for them, and is not called")
  func application() throws {
    var bench = Self.meeting(givesSockets: true)
    bench.answers = { callback in
      switch callback {
      case .acquireNotify: .success(.channel(fileDescriptor: 7, mtu: 100))
      case .acquireWrite: .success(.channel(fileDescriptor: 8, mtu: 100))
      default: .success(.none)
      }
    }
    let remark = try #require(bench.characteristic(Self.remark))
    #expect(bench.ask(Bench.phone, remark, .startNotify)?.isSuccess == true)
    bench.run(.seconds(1))
    bench.pass(.data([4, 2]), through: ChannelIdentifier(given: 7), of: Bench.door)
    bench.run(.seconds(1))
    #expect(bench.changes(InterfaceName.gattCharacteristic, "Value", of: remark).map(\.value) == [.bytes([4, 2])])
    for value: UInt8 in [1, 2] {
      #expect(bench.ask(Bench.phone, remark, .writeValue([value], WriteOptions(kind: .request)))?.isSuccess == true)
      #expect(bench.channels.contains(.data(ChannelIdentifier(given: 8), [value])))
    }
    #expect(!bench.callbacks.contains { if case .writeValue = $0.callback { true } else { false } })
    #expect(!bench.callbacks.contains { $0.callback == .startNotify })
    #expect(bench.ask(Bench.phone, remark, .stopNotify)?.isSuccess == true)
    bench.run(.seconds(1))
    #expect(bench.channels.contains(.close(ChannelIdentifier(given: 7))))
  }

  @Test("C2: a write in several pieces goes through an application's socket, too")
  func pieces() throws {
    var bench = Self.meeting(givesSockets: true)
    bench.answers = { callback in
      if case .acquireWrite = callback { .success(.channel(fileDescriptor: 8, mtu: 100)) } else { .success(.none) }
    }
    let remark = try #require(bench.characteristic(Self.remark))
    for value: UInt8 in [1, 2] {
      let options = WriteOptions(kind: .reliable)
      #expect(bench.ask(Bench.phone, remark, .writeValue([value, 9], options))?.isSuccess == true)
      #expect(bench.channels.contains(.data(ChannelIdentifier(given: 8), [value, 9])))
    }
    #expect(!bench.callbacks.contains { if case .writeValue = $0.callback { true } else { false } })
  }

  @Test("C2: StopNotify ends what AcquireNotify began, whoever calls it")
  func stopAcquired() throws {
    var bench = Self.meeting()
    let offer = try #require(bench.characteristic(Bench.offer))
    bench.call(Bench.phone, offer, .acquireNotify)
    bench.run(.seconds(1))
    let channel = try #require(opened(bench))
    #expect(bench.ask(Bench.phone, offer, .stopNotify)?.isSuccess == true)
    bench.run(.seconds(1))
    #expect(bench.channels.contains(.close(channel)))
    #expect(bench.phoneObjects[offer]?[InterfaceName.gattCharacteristic]?["NotifyAcquired"] == .bool(false))
    #expect(bench.callbacks.last?.callback == .stopNotify)
  }

  @Test("C2: a socket that an application gives too late is closed")
  func late() throws {
    var bench = Self.meeting(givesSockets: true)
    bench.answers = { callback in if case .acquireNotify = callback { nil } else { .success(.none) } }
    let remark = try #require(bench.characteristic(Self.remark))
    #expect(bench.ask(Bench.phone, remark, .startNotify)?.isSuccess == true)
    let asked = try #require(
      bench.unanswered.last { if case .acquireNotify = $0.3 { true } else { false } })
    bench.run(.seconds(26))
    bench.send(Bench.door, .answer(asked.identifier, .success(.channel(fileDescriptor: 9, mtu: 23))))
    #expect(bench.channels == [.close(ChannelIdentifier(given: 9))])
  }
}
