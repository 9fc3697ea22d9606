// These names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import AppLink
import BluetoothTypes
import Dispatch
import Foundation

/// How often a central and this machine exchange data. On Linux bluetoothd chooses by itself.
public enum CBPeripheralManagerConnectionLatency: Int, Sendable {
  case low = 0
  case medium
  case high
}

/// Publishes services and advertises them.
///
/// With a restore identifier, the system continues both while the app is not running, and relaunches the app when a
/// central reads, writes or subscribes.
open class CBPeripheralManager: CBManager, @unchecked Sendable {
  private weak var currentDelegate: (any CBPeripheralManagerDelegate)?
  /// Services that are published or requested, in the order in which they were added.
  var publications: [Publication] = []
  var advertisement: AdvertisementRequest?
  var isAdvertisingNow = false { didSet { noteChange() } }
  /// Calls of `startAdvertising` while an earlier one has no answer yet. They are refused after that answer.
  var refusedStarts = 0
  /// How many more values the system accepts now.
  var updateCredit = 0
  /// `updateValue` was refused. `peripheralManagerIsReady` follows.
  var isRefusingUpdates = false
  /// Characteristics for which the log has already said that a value for some subscribers reaches all.
  private var broadcasting: Set<LocalAttributeIdentifier> = []
  /// Error codes for which the log has already said that the central gets another error.
  private var replacedResults: Set<Int> = []
  /// Whether the log has already said that no central gets the result of some writes.
  private var hasNotedUnheard = false
  /// Requests that the app has not answered.
  var openRequests: Set<RemoteRequestIdentifier> = []
  /// L2CAP channels that are published or requested, in the order in which they were asked for.
  var publishedChannels: [PublishedChannel] = []
  /// One object for each central, for as long as it is referenced.
  var centrals: [PeerIdentifier: WeakCentral] = [:]

  struct PublishedChannel {
    /// 0 until the system has chosen it and the delegate has received `didPublishL2CAPChannel`.
    var psm: CBL2CAPPSM
    let requiresEncryption: Bool
  }

  struct WeakCentral { weak var central: CBCentral? }

  struct Publication {
    let service: CBMutableService
    /// The service as it was when it was added. Later changes are not published.
    let definition: ServiceDefinition
    /// Its characteristics, by their identifiers at the system.
    let characteristics: [LocalAttributeIdentifier: CBMutableCharacteristic]
    /// The delegate has received `didAdd`.
    var isTold = false
    /// Services that can't be published, and that the app has added after this one. The delegate is told of this one first.
    var refused: [RefusedService] = []
  }

  struct RefusedService {
    let service: CBMutableService
    let reason: String
  }

  /// - Parameters:
  ///   - delegate: Receives all events; its first call is the restoration or the state. Not retained.
  ///   - queue: The queue on which the delegate is called; `nil` means the main queue.
  ///   - options: `CBPeripheralManagerOption…Key`.
  @discardableResult
  public init(delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil) {
    currentDelegate = delegate
    super.init()
    prepare(
      Self.creation(
        role: .peripheral, options: options, key: CBPeripheralManagerOptionRestoreIdentifierKey,
        mode: "bluetooth-peripheral", manager: "CBPeripheralManager"),
      queue,
      showsPowerAlert: Self.showsPowerAlert(options, CBPeripheralManagerOptionShowPowerAlertKey, "CBPeripheralManager"))
    session.register(self)
  }

  @discardableResult
  public convenience init(delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  @discardableResult
  public convenience override init() { self.init(delegate: nil, queue: nil, options: nil) }

  open weak var delegate: (any CBPeripheralManagerDelegate)? {
    get { locked { currentDelegate } }
    set { locked { currentDelegate = newValue } }
  }

  @available(*, deprecated, message: "use CBManager.authorization")
  @discardableResult
  open class func authorizationStatus() -> CBPeripheralManagerAuthorizationStatus {
    CBPeripheralManagerAuthorizationStatus(rawValue: authorization.rawValue) ?? .notDetermined
  }

  // MARK: Advertising

  /// Whether the manager advertises. Advertising ends with the radio, and must be started again after a state other
  /// than `poweredOn`. It is `true` in `willRestoreState` if an advertisement is restored, although no state has been
  /// told yet.
  open var isAdvertising: Bool { locked { isAdvertisingNow && (toldState ?? .poweredOn) == .poweredOn } }

  /// Advertises a local name and service UUIDs. Other keys are ignored, and services that have no room in the
  /// advertisement's 28 bytes are left out; the log says so. In the background, the name is left out and the UUIDs move
  /// to the overflow area.
  open func startAdvertising(_ advertisementData: [String: Any]?) {
    guard acceptsCommands("startAdvertising(_:)") else { return }
    var ignored: [String] = []
    let request = AdvertisementRequest(advertisementData, ignored: &ignored)
    if !ignored.isEmpty {
      let keys = ignored.joined(separator: ", ")
      session.logger.warning(
        """
        startAdvertising(_:): \(keys) can't be advertised; a String for \(CBAdvertisementDataLocalNameKey) and a \
        [CBUUID] for \(CBAdvertisementDataServiceUUIDsKey) can
        """)
    }
    noteLeftOut(of: request)
    locked {
      if advertisement == nil {
        advertisement = request
        session.send(.peripheral(managerIdentifier, .startAdvertising(request)), for: self)
      } else {
        refusedStarts += 1
        if isAdvertisingNow { refuseStartsLater() }
      }
    }
  }

  /// Ends the advertisement.
  open func stopAdvertising() {
    guard acceptsCommands("stopAdvertising()") else { return }
    locked {
      guard advertisement != nil else { return }
      advertisement = nil
      isAdvertisingNow = false
      refuseStartsLater()
      session.send(.peripheral(managerIdentifier, .stopAdvertising), for: self)
    }
  }

  // MARK: Services

  /// Publishes a service. `didAdd` reports the result.
  open func add(_ service: CBMutableService) {
    guard acceptsCommands("add(_:)") else { return }
    let refusal: String? = locked {
      do throws(UnpublishableService) {
        let published = Set(publications.map(\.definition.identifier))
        let publication = try Publication(service, published: published)
        publications.append(publication)
        session.send(.peripheral(managerIdentifier, .addService(publication.definition)), for: self)
        return nil
      } catch { return error.description }
    }
    guard let refusal else { return }
    session.logger.critical("API MISUSE: add(_:) is refused: \(refusal)")
    locked { refuse(RefusedService(service: service, reason: refusal)) }
  }

  /// Withdraws a published service, and ends its subscriptions.
  open func remove(_ service: CBMutableService) {
    guard acceptsCommands("remove(_:)") else { return }
    locked {
      guard publications.contains(where: { $0.service === service }) else { return }
      withdraw { $0.service === service }
      session.send(.peripheral(managerIdentifier, .removeService(service.localIdentifier)), for: self)
    }
  }

  /// Withdraws all services of this manager, and ends their subscriptions.
  open func removeAllServices() {
    guard acceptsCommands("removeAllServices()") else { return }
    locked {
      withdraw { _ in true }
      session.send(.peripheral(managerIdentifier, .removeAllServices), for: self)
    }
  }

  /// Forgets publications and their subscribers. Called under the lock.
  private func withdraw(where isMeant: (Publication) -> Bool) {
    let withdrawn = publications.filter(isMeant)
    for characteristic in withdrawn.flatMap(\.characteristics.values) { characteristic.subscribers = [] }
    publications.removeAll(where: isMeant)
    for refused in withdrawn.flatMap(\.refused) { refuse(refused) }
  }

  // MARK: Answers and updates

  /// Answers a read or a write. For several writes at once, answer the first. An answer to an expired request is
  /// dropped.
  ///
  /// bluetoothd passes on these errors: `readNotPermitted` of a read, `writeNotPermitted` of a write, `requestNotSupported`,
  /// `invalidOffset`, `insufficientAuthorization`, `invalidAttributeValueLength`, and those of the app's own, 0x80 to 0x9F.
  /// **For any other the central gets `unlikelyError`**, and the log says so once. A central is made to pair by the permissions
  /// `readEncryptionRequired` and `writeEncryptionRequired` alone.
  ///
  /// **A write to a characteristic that has `writeWithoutResponse` can't be refused**, also if it has `write` and the central
  /// wants a response: bluetoothd tells the central of the success at once (BlueZ, src/gatt-database.c). The log says so once.
  open func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
    guard request.needsResponse else { return noteIfUnheard(result, of: request) }
    noteIfReplaced(result, isRead: request.isRead)
    let wasAnswered = locked {
      defer { request.isAnswered = true }
      // No longer open: the request expired, or the system that passed it on is gone.
      guard openRequests.remove(request.remoteIdentifier) != nil else { return request.isAnswered }
      let error =
        result == .success
        ? nil : ATTError(rawValue: UInt8(exactly: result.rawValue) ?? ATTError.unlikelyError.rawValue)
      let value = request.isRead && error == nil ? Array(request.value ?? Data()) : nil
      session.send(.respond(request.remoteIdentifier, result: error, value: value), for: self)
      return false
    }
    if wasAnswered {
      session.logger.critical("API MISUSE: respond(to:withResult:) is ignored: \(request) was answered already")
    }
  }

  /// The log says once that a write can't be refused.
  private func noteIfUnheard(_ result: CBATTError.Code, of request: CBATTRequest) {
    guard result != .success, request.characteristic.properties.contains(.write) else { return }
    let wasNoted = locked {
      defer { hasNotedUnheard = true }
      return hasNotedUnheard
    }
    guard !wasNoted else { return }
    session.logger.warning(
      """
      respond(to:withResult:): a central's write to \(request.characteristic.uuid) has succeeded already: bluetoothd waits for no \
      answer where writes without response are allowed
      """)
  }

  /// The central will get another error, and the log says so once.
  private func noteIfReplaced(_ result: CBATTError.Code, isRead: Bool) {
    let gets: CBATTError.Code
    switch result {
    case .success, .requestNotSupported, .invalidOffset, .insufficientAuthorization, .invalidAttributeValueLength,
      .unlikelyError:
      return
    case .readNotPermitted, .writeNotPermitted: gets = isRead ? .readNotPermitted : .writeNotPermitted
    case _ where (0x80...0x9F).contains(result.rawValue): return
    default: gets = .unlikelyError
    }
    guard gets != result, locked({ replacedResults.insert(result.rawValue).inserted }) else { return }
    session.logger.warning(
      "respond(to:withResult:): bluetoothd can't pass on CBATTError \(result.rawValue); the central gets \(gets.rawValue)"
    )
  }

  /// Sends a value to all subscribers, or to those in `centrals`. Centrals in the list that are not subscribed are
  /// left out, and a value without any receiver is not sent.
  ///
  /// If the value is meant for some subscribers only, **all subscribers still get it**, and the log says so once per
  /// characteristic: bluetoothd notifies every subscriber (BlueZ, src/gatt-database.c, `property_changed_cb`). A
  /// value for one central alone must therefore be useless to the others, for example encrypted.
  /// - Returns: `false` if the system can't accept more now. The value was not sent, and
  ///   `peripheralManagerIsReady(toUpdateSubscribers:)` follows.
  @discardableResult
  open func updateValue(
    _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
  ) -> Bool {
    guard acceptsCommands("updateValue(_:for:onSubscribedCentrals:)") else { return false }
    return locked {
      let identifier = characteristic.localIdentifier
      guard publications.contains(where: { $0.characteristics[identifier] != nil }) else {
        session.logger.critical(
          "API MISUSE: updateValue(_:for:onSubscribedCentrals:) is ignored: \(characteristic) is not published")
        return false
      }
      let subscribers = characteristic.subscribers
      let meant = subscribers.filter { subscriber in
        centrals?.contains { $0.identifier == subscriber.identifier } ?? true
      }
      // There is no subscriber to tell.
      guard !meant.isEmpty else { return true }
      guard updateCredit > 0 else {
        isRefusingUpdates = true
        return false
      }
      let request = Request.peripheral(
        managerIdentifier,
        .updateValue(identifier, value: Array(value), centrals: centrals == nil ? nil : meant.map(\.peer)))
      guard session.send(request, for: self) else {
        isRefusingUpdates = true
        return false
      }
      updateCredit -= 1
      if meant.count < subscribers.count, broadcasting.insert(identifier).inserted {
        session.logger.warning(
          """
          updateValue(_:for:onSubscribedCentrals:) is for \(meant.count) and reaches all \(subscribers.count) \
          subscribers of \(characteristic): bluetoothd can't address one
          """)
      }
      return true
    }
  }

  /// Accepted without effect: bluetoothd has no call for the parameters of a link, and the kernel lets no other program
  /// change them. Apple's systems take this as a wish as well.
  open func setDesiredConnectionLatency(_ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral) {
    _ = acceptsCommands("setDesiredConnectionLatency(_:for:)")
  }

  // MARK: L2CAP

  /// Lets centrals open L2CAP channels to this app. `didPublishL2CAPChannel` gives the PSM that the system chose; tell it to
  /// centrals by the characteristic `CBUUIDL2CAPPSMCharacteristicString`. Each channel that a central opens comes by
  /// `peripheralManager(_:didOpen:error:)`, and wakes the app if it is suspended.
  ///
  /// A published channel ends with the app's process and with the radio, and is not restored: publish it again.
  /// - Parameter encryptionRequired: a central without a bond is made to pair first.
  open func publishL2CAPChannel(withEncryption encryptionRequired: Bool) {
    guard acceptsCommands("publishL2CAPChannel(withEncryption:)") else { return }
    publishChannel(0, requiresEncryption: encryptionRequired)
  }

  /// - Parameter psm: the PSM that the firmware of a simulated peripheral wants; 0 lets the system choose one.
  package func publishChannel(_ psm: CBL2CAPPSM, requiresEncryption: Bool) {
    locked {
      publishedChannels.append(PublishedChannel(psm: psm, requiresEncryption: requiresEncryption))
      session.send(
        .peripheral(managerIdentifier, .publishChannel(psm: psm, requiresEncryption: requiresEncryption)), for: self)
    }
  }

  /// No central can open a channel to this PSM any more. Open channels stay. `didUnpublishL2CAPChannel` reports the result.
  open func unpublishL2CAPChannel(_ PSM: CBL2CAPPSM) {
    guard acceptsCommands("unpublishL2CAPChannel(_:)") else { return }
    let isKnown = locked {
      guard publishedChannels.contains(where: { $0.psm == PSM && PSM != 0 }) else { return false }
      publishedChannels.removeAll { $0.psm == PSM }
      session.send(.peripheral(managerIdentifier, .unpublishChannel(psm: PSM)), for: self)
      return true
    }
    enqueue { [self] in
      tellUnpublished(PSM, isKnown ? nil : CBError(.invalidParameters, "The PSM \(PSM) is not published."))
    } after: {
    }
  }

  /// Publishing and advertising end with the radio, and the app asks again when it is on. The system is told;
  /// otherwise it would continue both, and refuse the app's new requests.
  override func radioDidEnd() {
    openRequests = []
    if advertisement != nil {
      advertisement = nil
      isAdvertisingNow = false
      refuseStartsLater()
      session.send(.peripheral(managerIdentifier, .stopAdvertising), for: self)
    }
    if !publications.isEmpty {
      withdraw { _ in true }
      session.send(.peripheral(managerIdentifier, .removeAllServices), for: self)
    }
    if !publishedChannels.isEmpty {
      publishedChannels = []
      session.send(.peripheral(managerIdentifier, .unpublishChannel(psm: 0)), for: self)
    }
  }

  override func property(_ name: String) -> Property? {
    switch name {
    case "delegate": Property(delegate)
    case "isAdvertising", "advertising": Property(isAdvertising)
    default: super.property(name)
    }
  }

  override var delegateObject: AnyObject? { delegate }
  override func tellState() { delegate?.peripheralManagerDidUpdateState(self) }
  override func applyRoleEvent(_ body: Event.Body) { applyPeripheralEvent(body) }
  override func makeView() -> ManagerView { makePeripheralView() }
  override func didResume(cancelled: [PeerIdentifier]) { askAgain() }
}
