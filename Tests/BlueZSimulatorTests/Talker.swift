import BlueZ
import BlueZBus
import BluetoothTypes
import BusTesting
import BusValue
import Foundation
import Glibc
import Logging
import Synchronization
import Testing
import Threads

/// The immediate answers of a client's objects. `nil` leaves a call open.
final class Answering: Sendable {
  typealias Answer = @Sendable (Callback) -> Result<CallbackReply, BlueZError>?

  private let answer = Mutex<Answer> { callback in
    switch callback {
    case .readValue: .success(.bytes([42]))
    default: .success(.none)
    }
  }
  let client = Mutex<BlueZClient?>(nil)

  func become(_ answer: @escaping Answer) { self.answer.withLock { $0 = answer } }

  func hear(_ message: DaemonMessage) {
    guard case .callback(let identifier, _, let callback) = message, let result = answer.withLock({ $0(callback) })
    else { return }
    client.withLock { $0 }?.send(.answer(identifier, result))
  }
}

/// A client of bluetoothd on a machine's bus, with what it has heard. It answers calls at once, and records what it
/// hears, in order, while it waits.
final class Talker {
  let client: BlueZClient
  let answering = Answering()
  private let inbox = Inbox<DaemonMessage>()
  private var lastCall: UInt64 = 0
  private(set) var objects: ManagedObjects = [:]
  private(set) var isPresent = false
  /// How many times bluetoothd has appeared.
  private(set) var appearances = 0
  private(set) var replies: [CallIdentifier: Result<Reply, BlueZError>] = [:]
  var callbacks: [(path: ObjectPath, callback: Callback)] = []
  var signals: [Signal] = []

  init(address: String?) throws {
    client = BlueZClient(
      address: address, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
      onMessage: { [inbox, answering] message in
        answering.hear(message)
        inbox.put(message)
      })
    answering.client.withLock { $0 = client }
    try client.start()
  }

  deinit {
    answering.client.withLock { $0 = nil }
    client.close()
  }

  private func take(_ message: DaemonMessage) {
    switch message {
    case .appeared(let all):
      objects = all
      isPresent = true
      appearances += 1
    case .vanished:
      objects = [:]
      isPresent = false
    case .reply(let call, let result): replies[call] = result
    case .callback(_, let path, let callback): callbacks.append((path, callback))
    case .signal(let signal):
      signals.append(signal)
      switch signal {
      case .interfacesAdded(let path, let added): objects[path, default: [:]].merge(added) { $1 }
      case .interfacesRemoved(let path, let removed):
        for name in removed { objects[path]?[name] = nil }
        if objects[path]?.isEmpty == true { objects[path] = nil }
      case .propertiesChanged(let path, let interface, let changed, let invalidated):
        objects[path]?[interface]?.merge(changed) { $1 }
        for name in invalidated { objects[path]?[interface]?[name] = nil }
      case .disconnected: break
      }
    }
  }

  /// Waits until what it has heard satisfies the condition.
  func until(_ isDone: (Talker) -> Bool) async throws {
    while !isDone(self) { take(try await inbox.next()) }
  }

  /// Records what has already arrived.
  func catchUp() async throws {
    while !inbox.untaken.isEmpty { take(try await inbox.next()) }
  }

  func begin(_ path: ObjectPath, _ request: Request) -> CallIdentifier {
    lastCall += 1
    let call = CallIdentifier(lastCall)
    client.send(.call(call, path: path, request))
    return call
  }

  func ask(_ path: ObjectPath, _ request: Request) async throws -> Result<Reply, BlueZError> {
    let call = begin(path, request)
    try await until { $0.replies[call] != nil }
    return try #require(replies[call])
  }

  func property(_ path: ObjectPath, _ interface: String, _ name: String) -> Value? { objects[path]?[interface]?[name] }

  // MARK: Scenes

  static let service = BluetoothUUID("5f1a0001-3c0c-4d6a-9a42-1c6f3d8e7b10")!
  /// Read and notify.
  static let offer = BluetoothUUID("5f1a0002-3c0c-4d6a-9a42-1c6f3d8e7b10")!
  /// Write, with and without response, and notify.
  static let remark = BluetoothUUID("5f1a0003-3c0c-4d6a-9a42-1c6f3d8e7b10")!
  static let root = ObjectPath(unchecked: "/app")
  static let offerPath = root.appending("service").appending("offer")
  static let remarkPath = root.appending("service").appending("remark")
  static let advertisement = ObjectPath(unchecked: "/advertisement")

  /// Serves a service and advertises it.
  func serve(on adapter: ObjectPath = WellKnown.firstAdapter, givesSockets: Bool = false) async throws {
    let service = Self.root.appending("service")
    func characteristic(_ uuid: BluetoothUUID, _ flags: [String]) -> Interfaces {
      var properties: Properties = [
        "UUID": .string(uuid.description), "Service": .path(service), "Flags": .strings(flags),
      ]
      if givesSockets {
        properties["NotifyAcquired"] = .bool(false)
        properties["WriteAcquired"] = .bool(false)
      }
      return [InterfaceName.gattCharacteristic: properties]
    }
    let objects: ManagedObjects = [
      service: [InterfaceName.gattService: ["UUID": .string(Self.service.description), "Primary": .bool(true)]],
      Self.offerPath: characteristic(Self.offer, ["read", "notify"]),
      Self.remarkPath: characteristic(Self.remark, ["write", "write-without-response", "notify"]),
    ]
    #expect(try await ask(adapter, .registerApplication(root: Self.root, objects: objects)) == .success(.none))
    try await advertise(on: adapter)
  }

  func advertise(on adapter: ObjectPath = WellKnown.firstAdapter, at path: ObjectPath = advertisement) async throws {
    let properties: Properties = [
      "Type": .string("peripheral"), "ServiceUUIDs": .strings([Self.service.description]), "Discoverable": .bool(true),
      "MinInterval": .uint32(20), "MaxInterval": .uint32(20),
    ]
    #expect(try await ask(adapter, .registerAdvertisement(path: path, properties: properties)) == .success(.none))
  }

  /// The devices of an adapter that have the service.
  func devices(of adapter: ObjectPath) -> [ObjectPath] {
    objects.keys.sorted().filter { path in
      path.isWithin(adapter)
        && objects[path]?[InterfaceName.device]?["UUIDs"]?.stringsValue?.contains(Self.service.description) == true
    }
  }

  /// Finds the device with the service, connects, and learns its services.
  func meet(on adapter: ObjectPath = WellKnown.firstAdapter) async throws -> ObjectPath {
    #expect(try await ask(adapter, .startDiscovery) == .success(.none))
    try await until { !$0.devices(of: adapter).isEmpty }
    #expect(try await ask(adapter, .stopDiscovery) == .success(.none))
    let device = try #require(devices(of: adapter).first)
    #expect(try await ask(device, .connect) == .success(.none))
    try await until { $0.property(device, InterfaceName.device, "ServicesResolved") == .bool(true) }
    return device
  }

  /// A characteristic of a device.
  func characteristic(_ uuid: BluetoothUUID, of device: ObjectPath) throws -> ObjectPath {
    try #require(
      objects.first {
        $0.key.isWithin(device) && $0.value[InterfaceName.gattCharacteristic]?["UUID"] == .string(uuid.description)
      }?.key)
  }

  /// A socket obtained with AcquireNotify or AcquireWrite.
  func acquire(_ path: ObjectPath, _ request: Request) async throws -> AcquiredSocket {
    guard case .success(.channel(let descriptor, let mtu)) = try await ask(path, request) else {
      throw PrivateBus.Failure(description: "\(request) gave no socket")
    }
    return AcquiredSocket(descriptor, mtu: mtu)
  }
}

/// A client's end of a socket of packets.
final class AcquiredSocket {
  private(set) var descriptor: Int32
  let mtu: UInt16

  init(_ descriptor: Int32, mtu: UInt16) {
    self.descriptor = descriptor
    self.mtu = mtu
  }

  deinit { close() }

  /// A new pair: one end to give away, and one to keep.
  static func pair() throws -> (given: Int32, kept: AcquiredSocket) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw PrivateBus.Failure(description: "socketpair: errno \(errno)")
    }
    return (ends[0], AcquiredSocket(ends[1], mtu: 100))
  }

  func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  func send(_ bytes: [UInt8]) {
    #expect(Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
  }

  /// The next packet, awaited on a separate thread; `nil` at the end.
  func receive() async -> [UInt8]? {
    let descriptor = descriptor
    return await withCheckedContinuation { continuation in
      let isStarted: Void? = try? DetachedThread.start {
        var buffer = [UInt8](repeating: 0, count: 1024)
        while true {
          var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
          guard poll(&wanted, 1, 60_000) > 0 else { return continuation.resume(returning: nil) }
          let count = recv(descriptor, &buffer, buffer.count, 0)
          if count < 0, errno == EAGAIN || errno == EINTR { continue }
          return continuation.resume(returning: count > 0 ? Array(buffer.prefix(count)) : nil)
        }
      }
      if isStarted == nil { continuation.resume(returning: nil) }
    }
  }
}
