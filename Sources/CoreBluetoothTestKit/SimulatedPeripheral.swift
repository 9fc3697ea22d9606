import CoreBluetooth
import Foundation

/// A service of a simulated peripheral.
public struct SimulatedService: Sendable {
  public var uuid: CBUUID
  public var characteristics: [SimulatedCharacteristic]

  /// - Parameter uuid: A UUID as `CBUUID(string:)` takes it.
  public init(_ uuid: String, _ characteristics: [SimulatedCharacteristic]) {
    self.uuid = CBUUID(string: uuid)
    self.characteristics = characteristics
  }
}

/// A characteristic of a simulated peripheral, and what the peripheral does when it is read or written.
public struct SimulatedCharacteristic: Sendable {
  public var uuid: CBUUID
  public var properties: CBCharacteristicProperties
  public var value: Data
  public var descriptors: [SimulatedDescriptor]
  public var requiresEncryption: Bool
  public var read: (@Sendable () throws -> Data)?
  public var write: (@Sendable (Data) throws -> Void)?

  /// - Parameters:
  ///   - uuid: A UUID as `CBUUID(string:)` takes it.
  ///   - properties: What centrals may do with it.
  ///   - value: The value at the start.
  ///   - descriptors: What describes it. The descriptor that configures notifications is made by the system.
  ///   - requiresEncryption: A central without a bond is made to pair before it reads, writes or subscribes.
  ///   - read: Returns the value for one read. Without it, the value is what was set or written last.
  ///   - write: Is told of each write, before the central is. Without it, every write succeeds.
  ///
  /// A value that `read` or `write` sets (``SimulatedPeripheral/setValue(_:of:)``) is sent after the answer.
  ///
  /// If `read` or `write` throws a `CBATTError`, the central gets that error, if it is one that an app may answer with
  /// (`CBPeripheralManager.respond(to:withResult:)`). Any other error becomes `unlikelyError`.
  public init(
    _ uuid: String, _ properties: CBCharacteristicProperties, value: Data = Data(),
    descriptors: [SimulatedDescriptor] = [], requiresEncryption: Bool = false,
    read: (@Sendable () throws -> Data)? = nil, write: (@Sendable (Data) throws -> Void)? = nil
  ) {
    self.uuid = CBUUID(string: uuid)
    self.properties = properties
    self.value = value
    self.descriptors = descriptors
    self.requiresEncryption = requiresEncryption
    self.read = read
    self.write = write
  }
}

/// A descriptor of a simulated characteristic. Its value does not change. Those that configure the characteristic (2900, 2902 and
/// 2903) can't be given: the system makes them.
public struct SimulatedDescriptor: Sendable {
  public var uuid: CBUUID
  public var value: Data

  /// - Parameters:
  ///   - uuid: A UUID as `CBUUID(string:)` takes it.
  ///   - value: What centrals read.
  public init(_ uuid: String, value: Data) {
    self.uuid = CBUUID(string: uuid)
    self.value = value
  }

  /// A text for people. Centrals get it as a `String`.
  public init(userDescription: String) {
    self.init(CBUUIDCharacteristicUserDescriptionString, value: Data(userDescription.utf8))
  }
}

extension SimulatedCharacteristic {
  fileprivate func make() -> CBMutableCharacteristic {
    var properties = properties
    var permissions: CBAttributePermissions = []
    if properties.contains(.read) { permissions.insert(requiresEncryption ? .readEncryptionRequired : .readable) }
    if !properties.isDisjoint(with: [.write, .writeWithoutResponse]) {
      permissions.insert(requiresEncryption ? .writeEncryptionRequired : .writeable)
    }
    if requiresEncryption, properties.contains(.notify) { properties.insert(.notifyEncryptionRequired) }
    if requiresEncryption, properties.contains(.indicate) { properties.insert(.indicateEncryptionRequired) }
    let made = CBMutableCharacteristic(type: uuid, properties: properties, value: nil, permissions: permissions)
    if !descriptors.isEmpty {
      made.descriptors = descriptors.map { CBMutableDescriptor(type: $0.uuid, value: $0.value) }
    }
    return made
  }
}

/// A peripheral in a simulated home. It is a machine of its own, advertises its services, and answers as the test says.
/// `SimulatedHome` moves it, switches it off and reboots it by its name.
public final class SimulatedPeripheral: @unchecked Sendable {
  /// Its name in the home.
  public let name: String
  /// A test may keep its peripherals for longer than the home.
  private(set) weak var engine: HomeEngine?
  private let lock = NSLock()
  private var services: [SimulatedService]
  private var characteristics: [CBUUID: SimulatedCharacteristic]
  /// Whether the services are not those of the last run, which the system would restore.
  private var hasNewServices = false
  private var advertises = true
  /// The services that are advertised, if they are not all.
  private var chosen: [CBUUID]?
  private var announced: String
  private var timing = Answers.atOnce
  private var received: [(uuid: CBUUID, value: Data)] = []
  private var listeners: [SimulatedChannelListener] = []
  /// `nil` while the peripheral is off.
  private weak var run: PeripheralRun?

  init(name: String, services: [SimulatedService], engine: HomeEngine) {
    self.name = name
    self.engine = engine
    announced = name
    self.services = services
    characteristics = Self.table(services, of: name)
  }

  private static func table(_ services: [SimulatedService], of name: String) -> [CBUUID: SimulatedCharacteristic] {
    var table: [CBUUID: SimulatedCharacteristic] = [:]
    for characteristic in services.flatMap(\.characteristics) {
      precondition(
        table.updateValue(characteristic, forKey: characteristic.uuid) == nil,
        "\(name) has two characteristics \(characteristic.uuid): the kit finds a characteristic by its UUID")
    }
    return table
  }

  // MARK: What it offers

  /// Replaces the services, as a new firmware does. Connected centrals are told `didModifyServices`, usually once for
  /// the services that are gone and once for the new ones, because bluetoothd indicates each change. Subscriptions end,
  /// the advertisement names the new services, and the values are those of the new services.
  public func setServices(_ services: [SimulatedService]) {
    let table = Self.table(services, of: name)
    let run = lock.withLock {
      self.services = services
      characteristics = table
      hasNewServices = true
      chosen = nil
      return self.run
    }
    announceServices()
    run?.renew()
  }

  /// The services that are advertised: all of them, at the start and after ``setServices(_:)``. Those that have no room in
  /// the advertisement are in the answer to a scan beside the name, as far as there is room. Of services with 128 bits there is room
  /// for one in each of the two. The standard error says which are left out.
  public var advertisedServices: [CBUUID] {
    get { lock.withLock { chosen ?? services.map(\.uuid) } }
    set {
      lock.withLock { chosen = newValue }
      announceServices()
      advertiseAnew()
    }
  }

  /// Whether the peripheral advertises, `true` at the start. Links are not affected. Without advertising, no other
  /// central finds it or connects to it.
  public var isAdvertising: Bool {
    get { lock.withLock { advertises } }
    set {
      let run = lock.withLock {
        advertises = newValue
        return self.run
      }
      run?.advertise()
    }
  }

  /// The name that centrals hear. At the start it is the peripheral's name in the home. A central learns a new name
  /// when it hears the peripheral advertise: while one of its apps scans, or while it looks for the peripheral to
  /// connect.
  public var localName: String {
    get { lock.withLock { announced } }
    set {
      lock.withLock { announced = newValue }
      engine?.rename(name, to: newValue)
      advertiseAnew()
    }
  }

  /// What it advertises has changed.
  func advertiseAnew() { lock.withLock { run }?.advertiseAnew() }

  // MARK: Answers

  /// When a peripheral answers a read or a write.
  public enum Answers: Sendable, Hashable {
    case atOnce
    /// After this time. From 4.5 s on, the peripheral's system answers first, as for `never`.
    case after(Duration)
    /// The system of the peripheral answers in its place after 4.5 s, with `CBATTError.unlikelyError`.
    case never
  }

  /// When it answers the reads and writes that come from now on.
  public var answers: Answers {
    get { lock.withLock { timing } }
    set { lock.withLock { timing = newValue } }
  }

  // MARK: Values

  /// The value of a characteristic now.
  public func value(of uuid: String) -> Data {
    let identifier = known(uuid)
    return lock.withLock { characteristics[identifier]?.value } ?? Data()
  }

  /// Sets the value of a characteristic, and sends it to its subscribers.
  public func setValue(_ value: Data, of uuid: String) {
    let identifier = known(uuid)
    let run = lock.withLock {
      characteristics[identifier]?.value = value
      return self.run
    }
    run?.send(value, identifier)
  }

  /// Is told of each write to a characteristic from now on, before the central is: for a peripheral that does what it is told, and
  /// answers by notifications.
  ///
  /// - Parameters:
  ///   - uuid: A characteristic that the peripheral has now. What its ``SimulatedCharacteristic`` does with writes is replaced.
  ///   - body: Is given the peripheral and the value. It may throw, and set values, as `write` of a ``SimulatedCharacteristic``.
  public func whenWritten(
    _ uuid: String, perform body: @escaping @Sendable (SimulatedPeripheral, Data) throws -> Void
  ) {
    let identifier = known(uuid)
    lock.withLock {
      characteristics[identifier]?.write = { [weak self] value in
        if let self { try body(self, value) }
      }
    }
  }

  /// How many centrals are subscribed to a characteristic. When one subscribes, all that are connected count, because
  /// bluetoothd does not say which one it was. With several, look at what their apps are told (`SimulatedHome.calls(to:)`).
  public func subscriberCount(of uuid: String) -> Int {
    let identifier = known(uuid)
    return lock.withLock { run }?.subscriberCount(identifier) ?? 0
  }

  /// What centrals wrote to a characteristic, in order.
  public func writes(to uuid: String) -> [Data] {
    let identifier = known(uuid)
    return lock.withLock { received.filter { $0.uuid == identifier }.map(\.value) }
  }

  // MARK: L2CAP channels

  /// Lets centrals open L2CAP channels to this PSM, from now on and whenever the peripheral is on.
  /// - Parameters:
  ///   - psm: 1 to 255, as the peripheral's firmware sets it.
  ///   - encryptionRequired: A central without a bond is made to pair first.
  ///   - whenOpened: Is given each channel when a central has opened it, on the home's time.
  /// - Returns: what tells of the channels.
  @discardableResult
  public func publishChannel(
    psm: CBL2CAPPSM, withEncryption encryptionRequired: Bool = false,
    whenOpened: @escaping @Sendable (SimulatedChannel) -> Void = { _ in }
  ) -> SimulatedChannelListener {
    precondition((1...255).contains(psm), "a PSM over LE is 1 to 255, not \(psm)")
    let listener = SimulatedChannelListener(psm, requiresEncryption: encryptionRequired, whenOpened)
    let run = lock.withLock {
      precondition(!listeners.contains { $0.psm == psm }, "\(name) has published the PSM \(psm) already")
      listeners.append(listener)
      return self.run
    }
    run?.publish([listener])
    return listener
  }

  /// No central can open a channel to this PSM any more. Open channels stay.
  public func unpublishChannel(psm: CBL2CAPPSM) {
    let run = lock.withLock {
      precondition(listeners.contains { $0.psm == psm }, "\(name) has not published the PSM \(psm)")
      listeners.removeAll { $0.psm == psm }
      return self.run
    }
    run?.unpublish(psm)
  }

  var allListeners: [SimulatedChannelListener] { lock.withLock { listeners } }

  func known(_ text: String) -> CBUUID {
    let uuid = CBUUID(string: text)
    precondition(lock.withLock { characteristics[uuid] != nil }, "\(name) has no characteristic \(text)")
    return uuid
  }

  // MARK: One run

  func begin(_ run: PeripheralRun) { lock.withLock { self.run = run } }

  func launch(_ launch: SimulatedLaunch) -> AnyObject { PeripheralRun(self, launch.clock) }

  /// Whether the services are others than those that were published.
  func takeNewServices() -> Bool {
    lock.withLock {
      defer { hasNewServices = false }
      return hasNewServices
    }
  }

  func makeServices() -> [CBMutableService] {
    lock.withLock { services }.map { service in
      let made = CBMutableService(type: service.uuid, primary: true)
      made.characteristics = service.characteristics.map { $0.make() }
      return made
    }
  }

  var advertisement: [String: Any] {
    [
      CBAdvertisementDataServiceUUIDsKey: advertisedServices,
      CBAdvertisementDataLocalNameKey: localName,
    ]
  }

  func answerRead(_ uuid: CBUUID) throws -> Data {
    guard let characteristic = lock.withLock({ characteristics[uuid] }) else { throw CBATTError(.attributeNotFound) }
    return try characteristic.read?() ?? characteristic.value
  }

  func takeWrite(_ value: Data, _ uuid: CBUUID) throws {
    try lock.withLock({ characteristics[uuid] })?.write?(value)
    lock.withLock {
      characteristics[uuid]?.value = value
      received.append((uuid, value))
    }
  }
}
