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

/// A descriptor of a simulated characteristic. Its value does not change.
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

  /// A text for people, of which centrals get a `String`.
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

/// A peripheral in a simulated home: a machine of its own, which advertises its services and answers as the test says.
/// `SimulatedHome` moves it, switches it off and reboots it by its name.
public final class SimulatedPeripheral: @unchecked Sendable {
  public let name: String
  private let services: [SimulatedService]
  private let lock = NSLock()
  private var characteristics: [CBUUID: SimulatedCharacteristic] = [:]
  private var received: [(uuid: CBUUID, value: Data)] = []
  private var listeners: [SimulatedChannelListener] = []
  /// `nil` while the peripheral is off.
  private weak var run: PeripheralRun?

  init(name: String, services: [SimulatedService]) {
    self.name = name
    self.services = services
    for characteristic in services.flatMap(\.characteristics) {
      precondition(
        characteristics.updateValue(characteristic, forKey: characteristic.uuid) == nil,
        "\(name) has two characteristics \(characteristic.uuid): the kit finds a characteristic by its UUID")
    }
  }

  /// The value of a characteristic now.
  public func value(of uuid: String) -> Data { lock.withLock { characteristics[known(uuid)]?.value } ?? Data() }

  /// Sets the value of a characteristic, and sends it to its subscribers.
  public func setValue(_ value: Data, of uuid: String) {
    let identifier = known(uuid)
    let run = lock.withLock {
      characteristics[identifier]?.value = value
      return self.run
    }
    run?.send(value, identifier)
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

  fileprivate var allListeners: [SimulatedChannelListener] { lock.withLock { listeners } }

  private func known(_ text: String) -> CBUUID {
    let uuid = CBUUID(string: text)
    precondition(
      services.contains { $0.characteristics.contains { $0.uuid == uuid } }, "\(name) has no characteristic \(text)")
    return uuid
  }

  // MARK: One run

  fileprivate func begin(_ run: PeripheralRun) { lock.withLock { self.run = run } }

  func launch() -> AnyObject { PeripheralRun(self) }

  fileprivate func makeServices() -> [CBMutableService] {
    services.map { service in
      let made = CBMutableService(type: service.uuid, primary: true)
      made.characteristics = service.characteristics.map { $0.make() }
      return made
    }
  }

  fileprivate var advertisement: [String: Any] {
    [CBAdvertisementDataServiceUUIDsKey: services.map(\.uuid), CBAdvertisementDataLocalNameKey: name]
  }

  fileprivate func answerRead(_ uuid: CBUUID) throws -> Data {
    guard let characteristic = lock.withLock({ characteristics[uuid] }) else { throw CBATTError(.attributeNotFound) }
    return try characteristic.read?() ?? characteristic.value
  }

  fileprivate func takeWrite(_ value: Data, _ uuid: CBUUID) throws {
    try lock.withLock({ characteristics[uuid] })?.write?(value)
    lock.withLock {
      characteristics[uuid]?.value = value
      received.append((uuid, value))
    }
  }
}

/// The peripheral's app: it runs while its machine is on.
private final class PeripheralRun: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private let peripheral: SimulatedPeripheral
  private let queue: DispatchQueue
  private let lock = NSLock()
  private var published: [CBUUID: CBMutableCharacteristic] = [:]
  private var wasOn = false
  private var unsent: [(value: Data, uuid: CBUUID)] = []
  // Set once, in `init`.
  private var manager: CBPeripheralManager?

  init(_ peripheral: SimulatedPeripheral) {
    self.peripheral = peripheral
    queue = DispatchQueue(label: peripheral.name)
    super.init()
    peripheral.begin(self)
    manager = CBPeripheralManager(
      delegate: self, queue: queue,
      options: [CBPeripheralManagerOptionRestoreIdentifierKey: peripheral.name])
  }

  func subscriberCount(_ uuid: CBUUID) -> Int {
    lock.withLock { published[uuid] }?.subscribedCentrals?.count ?? 0
  }

  func send(_ value: Data, _ uuid: CBUUID) {
    lock.withLock { unsent.append((value, uuid)) }
    sendUnsent()
  }

  private func sendUnsent() {
    lock.withLock {
      while let first = unsent.first {
        guard let characteristic = published[first.uuid], manager?.state == .poweredOn else {
          // Nobody is subscribed to what is not published.
          unsent = []
          return
        }
        guard manager?.updateValue(first.value, for: characteristic, onSubscribedCentrals: nil) == true else { return }
        unsent.removeFirst()
      }
    }
  }

  private func take(_ services: [CBMutableService]) {
    let characteristics = services.flatMap { $0.characteristics ?? [] }.compactMap { $0 as? CBMutableCharacteristic }
    lock.withLock { published = Dictionary(characteristics.map { ($0.uuid, $0) }) { first, _ in first } }
  }

  func peripheralManager(_ manager: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    take(dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? [])
  }

  func peripheralManagerDidUpdateState(_ manager: CBPeripheralManager) {
    let isOn = manager.state == .poweredOn
    lock.withLock {
      // What is published ends with the radio. What was restored while the radio is off does not.
      if wasOn, !isOn { published = [:] }
      wasOn = isOn
    }
    guard isOn else { return }
    // They end with the radio and with the process, and are not restored.
    publish(peripheral.allListeners)
    if lock.withLock({ published.isEmpty }) {
      let services = peripheral.makeServices()
      take(services)
      for service in services { manager.add(service) }
    }
    if !manager.isAdvertising { manager.startAdvertising(peripheral.advertisement) }
  }

  func peripheralManager(_ manager: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    do {
      let value = try peripheral.answerRead(request.characteristic.uuid)
      guard request.offset <= value.count else { return manager.respond(to: request, withResult: .invalidOffset) }
      request.value = value.dropFirst(request.offset)
      manager.respond(to: request, withResult: .success)
    } catch { manager.respond(to: request, withResult: code(of: error)) }
  }

  func peripheralManager(_ manager: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    guard let first = requests.first else { return }
    do {
      for request in requests { try peripheral.takeWrite(request.value ?? Data(), request.characteristic.uuid) }
      manager.respond(to: first, withResult: .success)
    } catch { manager.respond(to: first, withResult: code(of: error)) }
  }

  /// Before the radio is on, there is nothing to do: then all are published.
  func publish(_ listeners: [SimulatedChannelListener]) {
    guard let manager, manager.state == .poweredOn else { return }
    for listener in listeners { manager.publishChannel(listener.psm, requiresEncryption: listener.requiresEncryption) }
  }

  func unpublish(_ psm: CBL2CAPPSM) {
    if let manager, manager.state == .poweredOn { manager.unpublishL2CAPChannel(psm) }
  }

  func peripheralManager(_ manager: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    guard let channel else { return }
    peripheral.allListeners.first { $0.psm == channel.psm }?.take(channel, on: queue)
  }

  func peripheralManagerIsReady(toUpdateSubscribers manager: CBPeripheralManager) { sendUnsent() }

  private func code(of error: any Error) -> CBATTError.Code { (error as? CBATTError)?.code ?? .unlikelyError }
}
