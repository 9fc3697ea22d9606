import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import JournalEvents
import Testing
import TimeTypes

@testable import BluetoothSystem

/// A system on a desk: a test plays bluetoothd, the supervisor and the apps by hand, and observes what the system
/// does.
struct Desk {
  static let bundle = "org.example.app"
  static let central = ManagerIdentifier(1)
  static let devicePath = WellKnown.firstAdapter.appending("dev_C0_FF_EE_00_00_01")
  static let address = DeviceAddress("C0:FF:EE:00:00:01", kind: .random)!
  static let service = BluetoothUUID(high: 0x1234_5678_0000_4000, low: 0x8000_0000_0000_0001)
  static let characteristic = BluetoothUUID(high: 0x1234_5678_0000_4000, low: 0x8000_0000_0000_0002)
  static let servicePath = devicePath.appending("service000a")
  static let characteristicPath = servicePath.appending("char000b")

  var system: BluetoothSystem
  var now = Instant.zero
  var stored = StoredState()
  var seed: UInt64 = 1
  let apps: [AppDeclaration]
  var lastLink: UInt64 = 0
  var link = AppLinkIdentifier(0)
  var process = ProcessIdentity(processIdentifier: 100)
  var effects: [BluetoothSystem.Effect] = []
  /// Answers every call that a test does not answer itself, and refuses nothing.
  var answersCalls = true
  /// What the controller reads of a link's signal, in dBm; `nil` if it can't.
  var linkSignal: Int8?
  /// What bluetoothd shows as the link's MTU; `nil` before the attribute protocol works.
  var mtu: UInt16?
  /// Calls that are refused after all.
  var refuses: @Sendable (BlueZ.Request) -> Bool = { _ in false }

  init(
    modes: [String] = ["bluetooth-central", "bluetooth-peripheral"], keepAlive: Bool = false,
    configuration: BluetoothSystem.Configuration = .init(), wakeBudget: Duration? = nil,
    displayName: String? = nil, advertisingMilliseconds: UInt32? = nil, admitsCentrals: Bool = false
  ) {
    apps = [
      AppDeclaration(
        bundleIdentifier: Self.bundle, backgroundModes: modes, keepAlive: keepAlive, wakeBudget: wakeBudget,
        displayName: displayName, advertisingMilliseconds: advertisingMilliseconds, admitsCentrals: admitsCentrals)
    ]
    system = BluetoothSystem(configuration: configuration, apps: apps, stored: stored, seed: seed)
    handle(.started)
  }

  mutating func handle(_ event: BluetoothSystem.Event) {
    var open = [event]
    while !open.isEmpty {
      let effects = system.handle(open.removeFirst(), at: now)
      self.effects += effects
      for effect in effects {
        switch effect {
        case .store(let change): stored.apply(change)
        case .bluez(.call(let identifier, let path, let request)):
          if answersCalls, let reply = answer(path, request) { open.append(.daemon(.reply(identifier, reply))) }
        default: break
        }
      }
    }
  }

  private func answer(_ path: ObjectPath, _ request: BlueZ.Request) -> Result<Reply, BlueZError>? {
    if refuses(request) { return .failure(.failed("Busy")) }
    return switch request {
    case .readValue: .success(.bytes([1, 2, 3]))
    case .getAllProperties(InterfaceName.gattCharacteristic):
      .success(.properties(mtu.map { ["MTU": .uint16($0)] } ?? [:]))
    case .connect, .openChannel, .acceptChannel: nil
    case .readConnectionRSSI: linkSignal.map { .success(.rssi($0)) } ?? .success(.none)
    case .listenForChannels(let psm, _): .success(.psm(psm == 0 ? 0x80 : psm))
    // The answer comes when the link is down, or at once if there is no link.
    case .disconnect: system.bluez.devices[path]?.isConnected == true ? nil : .failure(.notConnected)
    default: .success(.none)
    }
  }

  /// latchkeyd is killed and comes back: only what was stored is left.
  mutating func restartSystem() {
    seed += 1
    effects = []
    system = BluetoothSystem(apps: apps, stored: stored, seed: seed)
    handle(.started)
  }

  mutating func pass(_ duration: Duration) {
    let end = now + duration
    while let deadline = system.nextDeadline, deadline <= end {
      now = max(now, deadline)
      handle(.timePassed)
    }
    now = end
    handle(.timePassed)
  }

  // MARK: bluetoothd

  /// - Parameters:
  ///   - resolved: whether bluetoothd has discovered the device's services; as soon as it is connected if `nil`.
  ///   - others: further objects that bluetoothd shows.
  mutating func appear(
    bonded: Bool = true, connected: Bool = false, resolved: Bool? = nil, withDevice: Bool = true,
    others: ManagedObjects = [:]
  ) {
    var objects: ManagedObjects = [WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]]]
    objects.merge(others) { $1 }
    if withDevice {
      objects[Self.devicePath] = [
        InterfaceName.device: [
          "Address": .string(Self.address.description), "AddressType": .string("random"), "Paired": .bool(bonded),
          "Bonded": .bool(bonded), "Connected": .bool(connected), "ServicesResolved": .bool(resolved ?? connected),
          "Trusted": .bool(false), "UUIDs": .strings(bonded ? [Self.service.description] : []),
        ]
      ]
      objects[Self.servicePath] = [
        InterfaceName.gattService: ["UUID": .string(Self.service.description), "Primary": .bool(true)]
      ]
      objects[Self.characteristicPath] = [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(Self.characteristic.description), "Service": .path(Self.servicePath),
          "Flags": .strings(["read", "write", "notify"]),
        ]
      ]
    }
    handle(.daemon(.appeared(objects)))
  }

  mutating func change(_ properties: Properties) {
    handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: Self.devicePath, interface: InterfaceName.device, changed: properties, invalidated: []))))
  }

  mutating func serviceGoes() {
    handle(.daemon(.signal(.interfacesRemoved(path: Self.characteristicPath, [InterfaceName.gattCharacteristic]))))
    handle(.daemon(.signal(.interfacesRemoved(path: Self.servicePath, [InterfaceName.gattService]))))
  }

  mutating func linkUp() { change(["Connected": .bool(true), "ServicesResolved": .bool(true)]) }
  mutating func linkDown() { change(["Connected": .bool(false), "ServicesResolved": .bool(false)]) }

  /// The link is there, and no more is known of it.
  mutating func linkBegins() { change(["Connected": .bool(true)]) }

  mutating func value(_ bytes: [UInt8]) {
    handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: Self.characteristicPath, interface: InterfaceName.gattCharacteristic,
            changed: ["Value": .bytes(bytes)], invalidated: []))))
  }

  var peer: PeerIdentifier {
    mutating get { system.identifier(for: Self.address) }
  }

  // MARK: The app

  mutating func open() {
    handle(.control(.openApp(bundleIdentifier: Self.bundle), AnswerToken(0)))
    launchAndAttach()
  }

  mutating func launchAndAttach(lastEvent: EventSequence? = nil) {
    handle(.appLaunched(Self.bundle, process))
    attach(lastEvent: lastEvent)
  }

  mutating func attach(lastEvent: EventSequence? = nil) {
    lastLink += 1
    link = AppLinkIdentifier(lastLink)
    handle(
      .attach(link, process, Attachment(bundleIdentifier: Self.bundle, lastEvent: lastEvent), AnswerToken(lastLink)))
  }

  mutating func die(how: String = "signal 9") {
    handle(.detached(link))
    handle(.appEnded(Self.bundle, process, how: how))
    process.processIdentifier += 1
  }

  mutating func say(_ request: AppLink.Request) { handle(.request(link, request)) }

  mutating func createCentral(_ restoreIdentifier: String? = "central") {
    say(.createManager(Self.central, ManagerCreation(role: .central, restoreIdentifier: restoreIdentifier)))
  }

  mutating func leave() { handle(.control(.leaveApp(bundleIdentifier: Self.bundle), AnswerToken(0))) }

  /// The app's delegates have returned from everything.
  mutating func settle() {
    say(.handled(through: EventSequence(lastSequence)))
  }

  var lastSequence: UInt64 { system.apps[Self.bundle]?.lastSequence ?? 0 }
  var isBeingKilled: Bool { system.apps[Self.bundle]?.isEnding == true }
  var state: AppState? { system.apps[Self.bundle]?.state }

  /// Connected, subscribed, left and suspended. The effects of that are forgotten.
  static func asleep(
    _ configuration: BluetoothSystem.Configuration = .init(),
    modes: [String] = ["bluetooth-central", "bluetooth-peripheral"], restoreIdentifier: String? = "central"
  ) -> Desk {
    var desk = Desk(modes: modes, configuration: configuration)
    desk.connectAndSubscribe(restoreIdentifier)
    desk.fallAsleep()
    #expect(desk.state == .suspended)
    desk.forget()
    return desk
  }

  /// The user leaves the app, which has handled everything, and its time is over.
  mutating func fallAsleep() {
    leave()
    settle()
    pass(.seconds(30))
  }

  mutating func connect() { say(.central(Self.central, .connect(peer, ConnectOptions()))) }

  /// The link is lost, and the app asks for it again.
  mutating func loseAndAskAgain() {
    linkDown()
    connect()
  }

  /// Connected, explored, subscribed.
  mutating func connectAndSubscribe(_ restoreIdentifier: String? = "central") {
    appear()
    open()
    createCentral(restoreIdentifier)
    connect()
    linkUp()
    say(.central(Self.central, .perform(peer, OperationIdentifier(1), .discoverServices(nil))))
    say(.central(Self.central, .perform(peer, OperationIdentifier(2), .discoverCharacteristics(nil, service: 0x0a))))
    say(.central(Self.central, .perform(peer, OperationIdentifier(3), .setNotify(true, characteristic: 0x0b))))
  }

  // MARK: Effects of the system

  var events: [AppLink.Event] {
    effects.compactMap { if case .event(let event, _) = $0 { event } else { nil } }
  }
  var bodies: [String] { events.map(\.body.kind.rawValue) }
  var requests: [(path: ObjectPath, request: BlueZ.Request)] {
    effects.compactMap { if case .bluez(.call(_, let path, let request)) = $0 { (path, request) } else { nil } }
  }
  var launches: [LaunchOptions] {
    effects.compactMap { if case .launch(_, let options) = $0 { options } else { nil } }
  }
  func lastCall(_ request: BlueZ.Request) -> CallIdentifier? { lastCall { $0 == request } }
  func lastCall(where matches: (BlueZ.Request) -> Bool) -> CallIdentifier? {
    effects.reversed().compactMap { effect -> CallIdentifier? in
      if case .bluez(.call(let identifier, _, let request)) = effect, matches(request) { identifier } else { nil }
    }.first
  }
  func recorded(_ event: Recorded.Daemon) -> Int {
    effects.count { if case .record(event, _) = $0 { true } else { false } }
  }
  func asked(_ matches: (BlueZ.Request) -> Bool) -> Int { requests.count { matches($0.request) } }
  mutating func forget() { effects = [] }
}

extension BlueZ.Request {
  var isProfileRegistration: Bool {
    if case .registerApplication(let root, _) = self { root.text.contains("profiles") } else { false }
  }
  var isServiceRegistration: Bool {
    if case .registerApplication(let root, _) = self { root.text.contains("services") } else { false }
  }
}
