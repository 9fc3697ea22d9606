import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

@Suite struct Asking {
  @Test("H4: StartNotify while away succeeds, repeated it is in progress, and it works from the return on")
  func startNotifyAway() throws {
    var bench = Bench()
    _ = bench.settle()
    let offer = try #require(bench.characteristic(Bench.offer))
    bench.leave()
    #expect(bench.ask(Bench.phone, offer, .startNotify)?.isSuccess == true)
    #expect(bench.ask(Bench.phone, offer, .startNotify)?.error == .inProgress)
    bench.comeHomeAndConnect()
    bench.run(.seconds(2))
    bench.send(Bench.door, .valueChanged(path: Bench.offerPath, value: [4]))
    bench.run(.seconds(1))
    #expect(bench.changes(InterfaceName.gattCharacteristic, "Value", of: offer).last?.value == .bytes([4]))
  }

  @Test("H4: two clients' subscriptions double every value, for everyone; a read shows as a change too")
  func twoClients() throws {
    var bench = Bench()
    _ = bench.settle(notifying: true)
    let other = ClientIdentifier(":1.66")
    let offer = try #require(bench.characteristic(Bench.offer))
    #expect(bench.ask(Bench.phone, offer, .startNotify, from: other)?.isSuccess == true)
    func values(_ bench: Bench) -> Int { bench.changes(InterfaceName.gattCharacteristic, "Value", of: offer).count }
    bench.signals = []
    bench.send(Bench.door, .valueChanged(path: Bench.offerPath, value: [4]))
    bench.run(.seconds(1))
    #expect(values(bench) == 2)
    bench.vanish(Bench.phone, other)
    bench.signals = []
    bench.send(Bench.door, .valueChanged(path: Bench.offerPath, value: [4]))
    bench.run(.seconds(1))
    #expect(values(bench) == 1)
    #expect(bench.ask(Bench.phone, offer, .readValue(offset: 0), from: other)?.isSuccess == true)
    #expect(values(bench) == 2)
  }

  @Test("H4: a second write on one characteristic while one is pending is in progress")
  func parallelWrites() throws {
    var bench = Bench()
    _ = bench.settle()
    let command = try #require(bench.characteristic(Bench.command))
    let first = bench.call(Bench.phone, command, .writeValue([1], WriteOptions(kind: .request)))
    #expect(bench.ask(Bench.phone, command, .writeValue([2], WriteOptions(kind: .request)))?.error == .inProgress)
    #expect(bench.answer(first)?.isSuccess == true)
  }

  @Test("H4: long values are written and read in pieces; too long is an invalid argument")
  func longValues() throws {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    _ = bench.meet()
    let command = try #require(bench.characteristic(Bench.command))
    let offer = try #require(bench.characteristic(Bench.offer))
    let long = (0..<512).map { UInt8(truncatingIfNeeded: $0) }
    bench.answers = { callback in
      switch callback {
      case .readValue(let request): .success(.bytes(Array(long.dropFirst(Int(request.offset)))))
      default: .success(.none)
      }
    }
    #expect(bench.ask(Bench.phone, offer, .readValue(offset: 0))?.bytes == long)
    #expect(
      bench.ask(Bench.phone, command, .writeValue(long, WriteOptions(kind: .request, offset: 0)))?.isSuccess == true)
    let isWhole = bench.callbacks.contains { if case .writeValue(long, _) = $0.callback { true } else { false } }
    #expect(isWhole)
    let error = bench.ask(Bench.phone, command, .writeValue(long + [1], WriteOptions(kind: .request)))?.error
    #expect(error?.name == "org.bluez.Error.InvalidArguments")
    #expect(bench.ask(Bench.phone, command, .writeValue([1], WriteOptions(kind: .command)))?.isSuccess == true)
    bench.run(.seconds(1))
    let isCommand = bench.callbacks.contains {
      if case .writeValue([1], _) = $0.callback { true } else { false }
    }
    #expect(isCommand)
  }

  @Test("H4: a write that may also go without a response is acknowledged whatever the application says")
  func unheardRefusal() throws {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    _ = bench.meet()
    let command = try #require(bench.characteristic(Bench.command))
    bench.answers = { if case .writeValue = $0 { .failure(.notPermitted("no")) } else { .success(.none) } }
    #expect(bench.ask(Bench.phone, command, .writeValue([1], WriteOptions(kind: .request)))?.isSuccess == true)
  }

  @Test("H4: a long write that may also go without a response is acknowledged too; a command has no offset")
  func unheardRefusalOfPieces() throws {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    _ = bench.meet()
    let command = try #require(bench.characteristic(Bench.command))
    bench.answers = { if case .writeValue = $0 { .failure(.notPermitted("no")) } else { .success(.none) } }
    #expect(bench.ask(Bench.phone, command, .writeValue([1], WriteOptions(kind: .reliable)))?.isSuccess == true)
    let offset = WriteOptions(kind: .command, offset: 2)
    #expect(bench.ask(Bench.phone, command, .writeValue([1], offset))?.error == .notSupported)
  }

  @Test("H4: reads of the same bytes at the same time are one read, and each is answered; a read of others must wait")
  func readsAtOnce() throws {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    _ = bench.meet()
    let offer = try #require(bench.characteristic(Bench.offer))
    bench.answers = { if case .readValue = $0 { .success(.bytes([7])) } else { .success(.none) } }
    (bench.replies, bench.callbacks) = ([:], [])
    for client in [Bench.system, ClientIdentifier(":1.9")] {
      bench.call(Bench.phone, offer, .readValue(offset: 0), from: client)
    }
    #expect(bench.ask(Bench.phone, offer, .readValue(offset: 1))?.error == .inProgress)
    bench.run(.seconds(1))
    #expect(bench.replies.values.count { $0.bytes == [7] } == 2)
    #expect(bench.callbacks.count { if case .readValue = $0.callback { true } else { false } } == 1)
    // Both fail if the link is lost meanwhile.
    bench.replies = [:]
    for _ in 0..<2 { bench.call(Bench.phone, offer, .readValue(offset: 0)) }
    bench.leave()
    #expect(bench.replies.count == 2 && bench.replies.values.allSatisfy { !$0.isSuccess })
  }

  @Test("H4: StartNotify once more, while the peer is being asked, succeeds at once")
  func notifyTwice() throws {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    _ = bench.meet()
    let offer = try #require(bench.characteristic(Bench.offer))
    bench.replies = [:]
    for _ in 0..<2 { bench.call(Bench.phone, offer, .startNotify) }
    #expect(bench.replies.count == 1 && bench.replies.values.allSatisfy(\.isSuccess))
    bench.run(.seconds(1))
    #expect(bench.replies.count == 2 && bench.replies.values.allSatisfy(\.isSuccess))
  }

  @Test("H4: what a characteristic does not take is asked of the peer, which refuses; a command is lost")
  func writesToReadOnly() throws {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    _ = bench.meet()
    let offer = try #require(bench.characteristic(Bench.offer))
    for kind in [WriteOptions.Kind.request, .reliable] {
      #expect(
        bench.ask(Bench.phone, offer, .writeValue([1], WriteOptions(kind: kind)))?.error
          == .notPermitted("Write not permitted"))
    }
    #expect(bench.ask(Bench.phone, offer, .writeValue([1], WriteOptions(kind: .command)))?.isSuccess == true)
    bench.run(.seconds(1))
    #expect(!bench.callbacks.contains { if case .writeValue = $0.callback { true } else { false } })
  }

  @Test("H4: reads and writes without a link fail, and unknown objects and methods are named")
  func notConnected() throws {
    var bench = Bench()
    let path = bench.settle()
    let offer = try #require(bench.characteristic(Bench.offer))
    bench.leave()
    #expect(bench.ask(Bench.phone, offer, .readValue(offset: 0))?.error == .failed("Not connected"))
    #expect(bench.ask(Bench.phone, path, .disconnect)?.isSuccess == true)
    let nowhere = ObjectPath(unchecked: "/org/bluez/hci9")
    #expect(bench.ask(Bench.phone, nowhere, .connect)?.error == .unknownObject(nowhere))
    #expect(bench.ask(Bench.phone, path, .readValue(offset: 0))?.error?.name.hasSuffix("UnknownMethod") == true)
  }

  @Test("H4: malformed advertisements and notifications for unknown handles are logged and change nothing")
  func badInput() {
    var bench = Bench()
    _ = bench.settle(notifying: true)
    let before = bench.phoneObjects
    bench.signals = []
    for input in BadInput.allCases { bench.command(.hear(machine: Bench.phone, input: input)) }
    #expect(bench.phoneObjects == before)
    #expect(bench.signals.isEmpty)
    let diagnostics = bench.events.count { if case .diagnostic(Bench.phone, _) = $0.event { true } else { false } }
    #expect(diagnostics >= 2)
    bench.command(.move(machine: "attic", x: 0, y: 0))
    #expect(bench.refusals == ["there is no machine attic"])
  }

  @Test("H4: bluetoothd asks the radio for nothing that makes no sense")
  func sensible() {
    var bench = Bench()
    let path = bench.settle(notifying: true)
    bench.leave()
    bench.command(.block(machine: Bench.phone, isOn: true))
    bench.command(.block(machine: Bench.phone, isOn: false))
    bench.comeHomeAndConnect()
    bench.command(.plug(machine: Bench.phone, isOn: false))
    bench.command(.plug(machine: Bench.phone, isOn: true))
    bench.command(.shutDown(machine: Bench.door))
    bench.run(.seconds(5))
    bench.command(.boot(machine: Bench.door))
    bench.registerProfile()
    bench.run(.seconds(5))
    _ = bench.ask(Bench.phone, Bench.adapter, .removeDevice(path))
    let refused = bench.events.filter {
      if case .diagnostic(_, let text) = $0.event { text.contains("the radio refused") } else { false }
    }
    #expect(refused.isEmpty, "\(refused)")
  }

  @Test("H4: the same seed gives the same run")
  func deterministic() {
    func story() -> [String] {
      var bench = Bench(seed: 42)
      _ = bench.settle(notifying: true)
      bench.leave()
      bench.comeHomeAndConnect()
      bench.run(.seconds(5))
      return bench.signals.map { "\($0.at.nanoseconds) \($0.machine)" }
    }
    #expect(story() == story())
  }
}
