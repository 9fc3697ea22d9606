// These names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import AppLink
import BluetoothTypes
import Foundation

/// A remote peripheral, as one central manager of this app sees it. There is one object per peripheral at a time.
open class CBPeripheral: CBPeer, @unchecked Sendable {
  private(set) weak var manager: CBCentralManager?
  private weak var currentDelegate: (any CBPeripheralDelegate)?
  var currentName: String? { didSet { noteChange() } }
  var currentState = CBPeripheralState.disconnected {
    didSet {
      if currentState != .connected { isToldConnected = false }
      noteChange()
    }
  }
  /// The delegate was told of the present connection.
  var isToldConnected = false
  /// The delegate has been told of the connection, and the app has not asked again since. So it need not be told once
  /// more.
  var isConnectionKnown: Bool { isToldConnected && !isAwaitingConnection }
  /// The app, or the system on its behalf, wants a connection that does not exist yet.
  var isAwaitingConnection = false
  /// The app has cancelled the connection, and the system has not answered yet. Until it does, its events about the
  /// connection are older than the cancellation.
  var isCancelling = false
  /// Channels that were opened on the present connection. They end with it.
  private var channels: [WeakChannel] = []

  private struct WeakChannel { weak var channel: CBL2CAPChannel? }
  var serviceList: [CBService]? { didSet { noteChange() } }
  /// What was discovered on a link that has ended. A new link goes on with it if this app is still subscribed there.
  var formerServices: [CBService]?
  /// The app was told that a link has ended, and not yet of the next one.
  var hasLostLink = false
  var mtu = ATTLimits.defaultMTU
  var lastRSSI: NSNumber? { didSet { noteChange() } }
  /// Writes without response that the system has not confirmed yet.
  var unansweredWrites = 0 { didSet { noteChange() } }
  /// The app was told to wait before further writes without response. `peripheralIsReady` follows when there is room.
  var isRefusingWrites = false
  /// The app has written without response since it was last told `peripheralIsReady`. It is told again when all these
  /// writes have been sent.
  var owesReadiness = false

  /// How many writes without response may be on their way to the system before `canSendWriteWithoutResponse` is `false`.
  static let writeWindow = PeripheralOperation.writeWindow
  /// The most writes without response that may be on their way. Some apps never ask `canSendWriteWithoutResponse` and
  /// write everything at once. As on Apple's systems, writes beyond the window are sent as far as there is room
  /// (CBPeripheral.h, `writeValue:forCharacteristic:type:`: "best-effort").
  static let writeLimit = 128

  init(_ peer: PeerIdentifier, manager: CBCentralManager) {
    self.manager = manager
    super.init(peer)
  }

  deinit {
    guard isAwaitingConnection, let manager else { return }
    let peer = peer
    // Not called here directly, because a `deinit` may run inside any operation of the manager.
    manager.session.doLater { [weak manager] in manager?.abandoned(peer) }
  }

  open weak var delegate: (any CBPeripheralDelegate)? {
    get { locked { currentDelegate } }
    set { locked { currentDelegate = newValue } }
  }

  open var name: String? { locked { currentName } }
  open var state: CBPeripheralState { locked { currentState } }
  /// The services discovered so far; `nil` before a discovery. The end of a connection invalidates them before
  /// `didDisconnectPeripheral` is called, so an app discovers them again. There are two exceptions. If the app is still
  /// subscribed and bonded, what it discovered is there again at `didConnect`. And what was restored to this process
  /// stays until the app is told that a connection has ended.
  open var services: [CBService]? { locked { serviceList } }
  @available(*, deprecated, message: "use readRSSI()")
  open var rssi: NSNumber? { locked { lastRSSI } }
  /// Always `false`: a peripheral can't read this machine's notifications, because Apple's notification centre is not
  /// on Linux.
  open var ancsAuthorized: Bool { false }

  /// Whether a write without response would be accepted now. If not, `peripheralIsReady(toSendWriteWithoutResponse:)`
  /// follows. That is also called when all writes without response have been sent, even after a single one.
  open var canSendWriteWithoutResponse: Bool {
    locked {
      guard currentState == .connected else { return false }
      return unansweredWrites < Self.writeWindow
    }
  }

  /// The longest value that may be written, in bytes. For a write without response this is what the present link
  /// carries. Until that is known, it is what the last link carried, or 20 if there was none. The system holds a write
  /// until the link can carry it.
  @discardableResult
  open func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int {
    switch type {
    case .withResponse: ATTLimits.maximumValueLength
    case .withoutResponse: locked { min(mtu - 3, ATTLimits.maximumValueLength) }
    }
  }

  // MARK: Discovery

  /// Discovers the services in `serviceUUIDs`, or all services if that is `nil` or empty. Services that belong to the
  /// system are never found: Generic Access (1800), Generic Attribute (1801), Human Interface Device (1812) and Apple's
  /// notification centre.
  open func discoverServices(_ serviceUUIDs: [CBUUID]?) {
    perform(.discoverServices(serviceUUIDs.bluetoothUUIDs), for: nil, "discoverServices(_:)")
  }

  /// Discovers the services that a service includes: those named, or all if none is named.
  open func discoverIncludedServices(_ includedServiceUUIDs: [CBUUID]?, for service: CBService) {
    perform(
      .discoverIncludedServices(includedServiceUUIDs.bluetoothUUIDs, service: service.handle), for: service,
      "discoverIncludedServices(_:for:)")
  }

  /// Discovers a service's characteristics: those named, or all if none is named.
  open func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {
    perform(
      .discoverCharacteristics(characteristicUUIDs.bluetoothUUIDs, service: service.handle), for: service,
      "discoverCharacteristics(_:for:)")
  }

  /// Discovers a characteristic's descriptors.
  open func discoverDescriptors(for characteristic: CBCharacteristic) {
    perform(
      .discoverDescriptors(characteristic: characteristic.handle), for: characteristic, "discoverDescriptors(for:)")
  }

  // MARK: Values

  /// Reads the value. `didUpdateValueFor` reports the result.
  open func readValue(for characteristic: CBCharacteristic) {
    let refusal: CBATTError.Code? = characteristic.properties.contains(.read) ? nil : .readNotPermitted
    perform(.readCharacteristic(characteristic.handle), for: characteristic, "readValue(for:)", refusal: refusal)
  }

  /// With response: `didWriteValueFor` reports the result. If the system itself goes away during the write, the error
  /// is `CBError.unknown`: the write may have happened, and is never repeated.
  ///
  /// Without response: the write is dropped with a log message if the value is longer than `maximumWriteValueLength(for:)`, or if
  /// many writes are on their way. While `canSendWriteWithoutResponse` is `true`, none is dropped; beyond that, 96 more are sent.
  open func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType) {
    let command = "writeValue(_:for:type:)"
    let operation = PeripheralOperation.writeCharacteristic(
      characteristic.handle, value: Array(data), withResponse: type == .withResponse)
    switch type {
    case .withResponse:
      var refusal: CBATTError.Code? = characteristic.properties.contains(.write) ? nil : .writeNotPermitted
      if data.count > ATTLimits.maximumValueLength { refusal = .invalidAttributeValueLength }
      perform(operation, for: characteristic, command, refusal: refusal)
    case .withoutResponse:
      guard isConnected(command) else { return }
      if let reason = reasonToDropWrite(of: data.count, to: characteristic) {
        manager?.session.logger.warning("\(command): a write without response is dropped: \(reason)")
        return
      }
      perform(operation, for: characteristic, command)
    }
  }

  private func reasonToDropWrite(of length: Int, to characteristic: CBCharacteristic) -> String? {
    guard characteristic.properties.contains(.writeWithoutResponse) else {
      return "\(characteristic) does not have the property writeWithoutResponse"
    }
    let limit = maximumWriteValueLength(for: .withoutResponse)
    guard length <= limit else { return "\(length) bytes; this connection takes \(limit) at once" }
    guard locked({ unansweredWrites < Self.writeLimit }) else {
      return "\(Self.writeLimit) are on their way; write while canSendWriteWithoutResponse is true"
    }
    return nil
  }

  /// Subscribes to the characteristic's notifications or indications, or ends the subscription.
  /// `didUpdateNotificationStateFor` reports the result.
  open func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
    let canNotify = !characteristic.properties.isDisjoint(with: [.notify, .indicate])
    perform(
      .setNotify(enabled, characteristic: characteristic.handle), for: characteristic, "setNotifyValue(_:for:)",
      refusal: canNotify ? nil : .requestNotSupported)
  }

  open func readValue(for descriptor: CBDescriptor) {
    perform(.readDescriptor(descriptor.handle), for: descriptor, "readValue(for:)")
  }

  /// The client characteristic configuration can't be written this way; use `setNotifyValue(_:for:)`.
  open func writeValue(_ data: Data, for descriptor: CBDescriptor) {
    var refusal: CBATTError.Code?
    if data.count > ATTLimits.maximumValueLength { refusal = .invalidAttributeValueLength }
    if descriptor.uuid == CBUUID(string: CBUUIDClientCharacteristicConfigurationString) {
      manager?.session.logger.critical(
        "API MISUSE: a client characteristic configuration is set with setNotifyValue(_:for:), not written")
      refusal = .writeNotPermitted
    }
    perform(
      .writeDescriptor(descriptor.handle, value: Array(data)), for: descriptor, "writeValue(_:for:)", refusal: refusal)
  }

  /// Reads the signal strength of the link. `didReadRSSI` reports it in dBm.
  open func readRSSI() { perform(.readRSSI, for: nil, "readRSSI()") }

  /// Opens a channel to the peripheral's L2CAP service with this number, 1 to 255. `peripheral(_:didOpen:error:)` gives the
  /// channel: keep it for as long as you use it. `CBError.connectionFailed` says that the peripheral has no such service, and
  /// `CBATTError.insufficientEncryption` that it wants a bond that could not be made.
  open func openL2CAPChannel(_ PSM: CBL2CAPPSM) {
    perform(.openChannel(psm: PSM), for: nil, "openL2CAPChannel(_:)")
  }

  /// Called under the lock.
  func opened(_ channel: CBL2CAPChannel) {
    channels.removeAll { $0.channel == nil }
    channels.append(WeakChannel(channel: channel))
  }

  /// Called under the lock.
  func endChannels() {
    for entry in channels { entry.channel?.connectionEnded() }
    channels = []
  }

  /// Called under the lock.
  func managerDidEnd() {
    isAwaitingConnection = false
    isCancelling = false
    currentState = .disconnected
    invalidateServices()
    endChannels()
  }

  // MARK: Not supported

  /// Not supported: `didCompleteChannelSoundingSession` reports `CBError.operationNotSupported`.
  open func startChannelSoundingSession(_ configuration: CBChannelSoundingSessionConfiguration) {
    guard isConnected("startChannelSoundingSession(_:)") else { return }
    tellLater { peripheral in
      let error = CBError(.operationNotSupported, "Channel sounding is not supported.")
      peripheral.manager?.tells("didCompleteChannelSoundingSession", peripheral, error: error)
      peripheral.delegate?.peripheral(peripheral, didCompleteChannelSoundingSession: error)
    }
  }

  open func cancelChannelSoundingSession() {}

  override func property(_ name: String) -> Property? {
    switch name {
    case "delegate": Property(delegate)
    case "name": Property(self.name)
    case "RSSI", "rssi": Property(locked { lastRSSI })
    case "state": Property(state.rawValue)
    case "isConnected": Property(state == .connected)
    case "services": Property(services)
    case "canSendWriteWithoutResponse": Property(canSendWriteWithoutResponse)
    case "ancsAuthorized": Property(ancsAuthorized)
    default: super.property(name)
    }
  }

  open override var description: String {
    "<CBPeripheral: identifier = \(identifier), name = \(name ?? "(null)"), mtu = \(locked { mtu }), state = \(state)>"
  }
}

extension Optional where Wrapped == [CBUUID] {
  /// What a discovery looks for; `nil` for everything. On Apple's systems an empty array is everything as well.
  fileprivate var bluetoothUUIDs: [BluetoothUUID]? { flatMap { $0.isEmpty ? nil : $0.map(\.bluetoothUUID) } }
}
