import BlueZ
import BlueZSimulator
import BusTesting
import BusValue
import Testing

/// AcquireNotify and AcquireWrite with the real sockets, over real buses.
@Suite("Acquired sockets", .timeLimit(.minutes(20))) struct AcquiredSocketTests {
  private static let characteristic = InterfaceName.gattCharacteristic

  private struct Meeting {
    let stage: Stage
    let door: Talker
    let phone: Talker
    let device: ObjectPath

    init(givesSockets: Bool = false) async throws {
      stage = try await Stage(["door", "phone"])
      door = try await stage.talker(on: "door")
      phone = try await stage.talker(on: "phone")
      try await door.serve(givesSockets: givesSockets)
      device = try await phone.meet()
    }
  }

  @Test("C2: values go through the socket of AcquireNotify, whole and nowhere else, until its client closes it")
  func notifies() async throws {
    let meeting = try await Meeting()
    let (phone, door) = (meeting.phone, meeting.door)
    let offer = try phone.characteristic(Talker.offer, of: meeting.device)
    #expect(phone.property(offer, Self.characteristic, "NotifyAcquired") == .bool(false))
    let socket = try await phone.acquire(offer, .acquireNotify)
    #expect(socket.mtu == 517)
    try await phone.until { $0.property(offer, Self.characteristic, "NotifyAcquired") == .bool(true) }
    try await door.until { $0.callbacks.contains { $0.path == Talker.offerPath && $0.callback == .startNotify } }
    for request in [Request.startNotify, .acquireNotify] {
      #expect(try await phone.ask(offer, request) == .failure(.notPermitted("Notify acquired")))
    }
    let values: [[UInt8]] = [[1], Array(repeating: 7, count: 512), [2, 3]]
    for value in values { door.client.send(.valueChanged(path: Talker.offerPath, value: value)) }
    for value in values { #expect(await socket.receive() == value) }
    // None of it was reported on the bus before this answer.
    #expect(try await phone.ask(offer, .getProperty(interface: Self.characteristic, name: "UUID")).isSuccess)
    #expect(!phone.signals.contains { $0.tellsValue(of: offer) })
    socket.close()
    try await phone.until { $0.property(offer, Self.characteristic, "NotifyAcquired") == .bool(false) }
    try await door.until { $0.callbacks.contains { $0.path == Talker.offerPath && $0.callback == .stopNotify } }
    #expect(try await phone.ask(offer, .startNotify) == .success(.none))
    #expect(try await phone.ask(offer, .acquireNotify) == .failure(.inProgress))
    door.client.send(.valueChanged(path: Talker.offerPath, value: [9]))
    try await phone.until { $0.signals.contains { $0.tellsValue(of: offer) } }
  }

  @Test("C2: a lost link ends the sockets, and later requests are refused")
  func linkLost() async throws {
    let meeting = try await Meeting()
    let phone = meeting.phone
    let offer = try phone.characteristic(Talker.offer, of: meeting.device)
    let remark = try phone.characteristic(Talker.remark, of: meeting.device)
    let sockets = [try await phone.acquire(offer, .acquireNotify), try await phone.acquire(remark, .acquireWrite)]
    #expect(try await meeting.stage.obey(.shield(machine: "door", isOn: true)).error == nil)
    for socket in sockets { #expect(await socket.receive() == nil) }
    try await phone.until {
      $0.property(offer, Self.characteristic, "NotifyAcquired") == .bool(false)
        && $0.property(remark, Self.characteristic, "WriteAcquired") == .bool(false)
        && $0.property(meeting.device, InterfaceName.device, "Connected") == .bool(false)
    }
    #expect(try await phone.ask(offer, .acquireNotify) == .failure(.failed("Not connected")))
    #expect(try await phone.ask(remark, .acquireWrite) == .failure(.failed("Not connected")))
  }

  @Test(
    "C2: packets of AcquireWrite's socket are written as they are; what is too long is cut, other writes are refused")
  func writes() async throws {
    let meeting = try await Meeting()
    let (phone, door) = (meeting.phone, meeting.door)
    let remark = try phone.characteristic(Talker.remark, of: meeting.device)
    let socket = try await phone.acquire(remark, .acquireWrite)
    #expect(socket.mtu == 517)
    try await phone.until { $0.property(remark, Self.characteristic, "WriteAcquired") == .bool(true) }
    let acquired = BlueZError.notPermitted("Write acquired")
    #expect(try await phone.ask(remark, .acquireWrite) == .failure(acquired))
    for kind in [WriteOptions.Kind.command, .request] {
      #expect(try await phone.ask(remark, .writeValue([1], WriteOptions(kind: kind))) == .failure(acquired))
    }
    let values: [[UInt8]] = [[1], Array(repeating: 7, count: 512), [2, 3]]
    for value in values { socket.send(value) }
    // bluetoothd reads no more than a value's maximum length (src/gatt-client.c, sock_read).
    socket.send(Array(repeating: 8, count: 515))
    func written(_ talker: Talker) -> [[UInt8]] {
      talker.callbacks.compactMap { if case .writeValue(let value, _) = $0.callback { value } else { nil } }
    }
    try await door.until { written($0).count >= 4 }
    #expect(written(door) == values + [Array(repeating: 8, count: 512)])
    socket.close()
    try await phone.until { $0.property(remark, Self.characteristic, "WriteAcquired") == .bool(false) }
    #expect(try await phone.ask(remark, .writeValue([5], WriteOptions(kind: .request))) == .success(.none))
  }

  @Test("C2: an application's own sockets carry what it notifies and what is written to it; either side may close them")
  func application() async throws {
    let meeting = try await Meeting(givesSockets: true)
    let (phone, door) = (meeting.phone, meeting.door)
    let (notifying, notifier) = try AcquiredSocket.pair()
    let (written, writer) = try AcquiredSocket.pair()
    door.answering.become { callback in
      switch callback {
      case .acquireNotify: .success(.channel(fileDescriptor: notifying, mtu: 100))
      case .acquireWrite: .success(.channel(fileDescriptor: written, mtu: 100))
      default: .success(.none)
      }
    }
    let remark = try phone.characteristic(Talker.remark, of: meeting.device)
    #expect(try await phone.ask(remark, .startNotify) == .success(.none))
    try await door.until { $0.callbacks.contains { if case .acquireNotify = $0.callback { true } else { false } } }
    notifier.send([4, 2])
    try await phone.until { $0.signals.contains { $0.tellsValue(of: remark) } }
    // The descriptor in the answer was a duplicate.
    AcquiredSocket(notifying, mtu: 0).close()
    #expect(try await phone.ask(remark, .writeValue([6], WriteOptions(kind: .request))) == .success(.none))
    #expect(await writer.receive() == [6])
    AcquiredSocket(written, mtu: 0).close()
    try await door.catchUp()
    #expect(!door.callbacks.contains { if case .writeValue = $0.callback { true } else { false } })
    // bluetoothd closes its end after the last subscription,
    #expect(try await phone.ask(remark, .stopNotify) == .success(.none))
    #expect(await notifier.receive() == nil)
    // and calls again after the application has closed its own.
    door.answering.become { callback in
      if case .acquireWrite = callback { .failure(.unknownMethod("no sockets any more")) } else { .success(.none) }
    }
    writer.close()
    while !door.callbacks.contains(where: { if case .writeValue([7], _) = $0.callback { true } else { false } }) {
      #expect(try await phone.ask(remark, .writeValue([7], WriteOptions(kind: .command))) == .success(.none))
      try await door.catchUp()
    }
  }
}

extension Signal {
  func tellsValue(of path: ObjectPath) -> Bool {
    if case .propertiesChanged(path, _, let changed, _) = self { changed["Value"] != nil } else { false }
  }
}

extension Result where Success == Reply, Failure == BlueZError {
  var isSuccess: Bool { if case .success = self { true } else { false } }
}
