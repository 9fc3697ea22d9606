import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// Sockets instead of method calls and signals: AcquireWrite and AcquireNotify, called by clients on a peer's
/// characteristics (src/gatt-client.c) and by bluetoothd on applications' (src/gatt-database.c).
struct AcquiredChannels: Sendable {
  private var next: UInt64 = 1
  private(set) var open: [ChannelIdentifier: Use] = [:]

  enum Use: Sendable, Hashable {
    /// Incoming data is written to a peer's characteristic, without a response.
    case writesToPeer(ObjectPath, RemoteValue)
    /// A peer's notifications are sent into the channel.
    case notifiesClient(ObjectPath, RemoteValue)
    /// Incoming data is notified to subscribers.
    case notifiesPeers(AttributeHandle)
    /// What peers write is sent into the channel.
    case writesToApplication(AttributeHandle)

    var remoteValue: RemoteValue? {
      switch self {
      case .writesToPeer(_, let value), .notifiesClient(_, let value): value
      case .notifiesPeers, .writesToApplication: nil
      }
    }
  }

  /// A characteristic of a peer.
  struct RemoteValue: Sendable, Hashable {
    var device: ObjectPath
    var valueHandle: AttributeHandle
  }

  /// Makes a new channel.
  mutating func make(_ use: Use) -> ChannelIdentifier {
    defer { next += 1 }
    let channel = ChannelIdentifier(next)
    open[channel] = use
    return channel
  }

  /// Accepts a channel that an application supplied.
  mutating func take(_ channel: ChannelIdentifier, as use: Use) { open[channel] = use }

  mutating func close(_ channel: ChannelIdentifier) -> Use? { open.removeValue(forKey: channel) }

  /// Removes all channels and returns them in order.
  mutating func closeAll() -> [ChannelIdentifier] {
    defer { open = [:] }
    return open.keys.sorted()
  }

  func notifying(_ value: RemoteValue) -> ChannelIdentifier? {
    open.first { if case .notifiesClient(_, value) = $0.value { true } else { false } }?.key
  }

  func isWriting(to value: RemoteValue) -> Bool {
    open.values.contains { if case .writesToPeer(_, value) = $0 { true } else { false } }
  }

  /// The channels to a device's characteristics, in order.
  func channels(of device: ObjectPath) -> [ChannelIdentifier] {
    open.filter { $0.value.remoteValue?.device == device }.keys.sorted()
  }

  func channel(_ use: Use) -> ChannelIdentifier? { open.first { $0.value == use }?.key }
}

/// Channels acquired by clients.
extension BlueZModel {
  mutating func acquireWrite(
    _ characteristic: RemoteCharacteristic, _ path: ObjectPath, of device: ObjectPath, _ pending: PendingCall
  ) {
    guard let link = attachedLink(of: device) else { return reply(to: pending, .failure(.failed("Not connected"))) }
    let use = AcquiredChannels.Use.writesToPeer(path, .init(device: device, valueHandle: characteristic.valueHandle))
    guard channels.channel(use) == nil else { return reply(to: pending, .failure(.notPermitted("Write acquired"))) }
    guard characteristic.properties.contains(.writeWithoutResponse) else {
      return reply(to: pending, .failure(.notSupported))
    }
    openChannel(use, for: pending, on: link)
  }

  mutating func acquireNotify(
    _ characteristic: RemoteCharacteristic, _ path: ObjectPath, of device: ObjectPath, _ pending: PendingCall
  ) {
    guard let link = attachedLink(of: device) else { return reply(to: pending, .failure(.failed("Not connected"))) }
    let handle = characteristic.valueHandle
    guard !isNotifyAcquired(handle, of: device) else {
      return reply(to: pending, .failure(.notPermitted("Notify acquired")))
    }
    guard devices[device]?.sessions[handle]?.isEmpty ?? true else { return reply(to: pending, .failure(.inProgress)) }
    guard !characteristic.properties.isDisjoint(with: [.notify, .indicate]),
      let configuration = characteristic.configurationHandle
    else { return reply(to: pending, .failure(.notSupported)) }
    devices[device]?.acquiringCalls[handle] = pending
    enqueue([configure(characteristic, configuration, path, isOn: true)], on: link)
  }

  func isNotifyAcquired(_ handle: AttributeHandle, of device: ObjectPath) -> Bool {
    devices[device]?.acquiringCalls[handle] != nil
      || channels.notifying(.init(device: device, valueHandle: handle)) != nil
  }

  /// The peer has answered the subscription made by AcquireNotify. Returns `false` if AcquireNotify did not ask for
  /// it.
  mutating func acquired(
    _ operation: ATTClient.ConfigureOperation, _ error: BlueZError?, of device: ObjectPath, on link: LinkIdentifier
  ) -> Bool {
    guard let pending = devices[device]?.acquiringCalls.removeValue(forKey: operation.valueHandle) else { return false }
    if let error {
      reply(to: pending, .failure(error))
    } else {
      openChannel(
        .notifiesClient(operation.path, .init(device: device, valueHandle: operation.valueHandle)), for: pending,
        on: link)
    }
    return true
  }

  private mutating func openChannel(
    _ use: AcquiredChannels.Use, for pending: PendingCall, on link: LinkIdentifier
  ) {
    let channel = channels.make(use)
    tellAcquired(use)
    flushChanges()
    outbox.append(
      .channel(.open(channel, for: pending.client, pending.call, mtu: UInt16(links[link]?.mtu ?? ATTLimits.defaultMTU)))
    )
  }

  private mutating func tellAcquired(_ use: AcquiredChannels.Use) {
    switch use {
    case .writesToPeer(let path, _): changed(path, \GattCharacteristic1.writeAcquired)
    case .notifiesClient(let path, _): changed(path, \GattCharacteristic1.notifyAcquired)
    case .notifiesPeers, .writesToApplication: break
    }
  }

  /// Data came through a channel, or its other end was closed.
  mutating func receive(_ input: ChannelInput, through channel: ChannelIdentifier) {
    if let key = creditChannels.key(of: channel) { return receive(input, through: key) }
    guard let use = channels.open[channel] else { return }
    switch (input, use) {
    case (.data(let value), .writesToPeer(_, let target)):
      guard let link = devices[target.device]?.link, value.count <= (links[link]?.mtu ?? 0) - 3 else { return }
      send(.writeCommand(target.valueHandle, value), on: link)
    case (.data(let value), .notifiesPeers(let handle)): notifyPeers(handle, value)
    case (.data, .notifiesClient), (.data, .writesToApplication), (.taken, _): break
    case (.closed, _): close(channel)
    }
  }

  mutating func close(_ channel: ChannelIdentifier) {
    guard let use = channels.close(channel) else { return }
    outbox.append(.channel(.close(channel)))
    tellAcquired(use)
    guard case .notifiesClient(let path, let value) = use, let link = devices[value.device]?.link,
      case .characteristic(let characteristic, _)? = remoteAttribute(path)?.attribute,
      let configuration = characteristic.configurationHandle
    else { return }
    enqueue([configure(characteristic, configuration, path, isOn: false)], on: link)
  }

  /// A device's link is gone, so its channels are closed.
  mutating func closeChannels(of device: ObjectPath) {
    for (_, pending) in devices[device]?.acquiringCalls ?? [:] {
      reply(to: pending, .failure(.attError(.unlikelyError)))
    }
    devices[device]?.acquiringCalls = [:]
    for channel in channels.channels(of: device) { close(channel) }
  }

  /// bluetoothd ends, or its adapter is removed.
  mutating func closeAllChannels() {
    for channel in channels.closeAll() { outbox.append(.channel(.close(channel))) }
  }
}

/// Channels supplied by applications.
extension BlueZModel {
  /// An application answered AcquireNotify. Without a channel, it gets StartNotify as other applications do.
  mutating func notifyAcquired(_ handle: AttributeHandle, _ result: Result<CallbackReply, BlueZError>) {
    switch result {
    case .success(.channel(let descriptor, _)):
      take(ChannelIdentifier(given: descriptor), as: .notifiesPeers(handle), of: handle)
    case .failure(let error) where error.name.hasSuffix(".Failed") || error.name.hasSuffix(".NoReply"): break
    default: tellApplication(of: handle, .startNotify)
    }
  }

  /// An application answered AcquireWrite, about a value that a peer wrote. The value goes through the channel or,
  /// without one, into a method call. Returns the error for the peer.
  mutating func writeAcquired(
    _ handle: AttributeHandle, _ value: [UInt8], _ result: Result<CallbackReply, BlueZError>,
    from request: RemoteRequest
  ) -> ATTError? {
    if case .success(.channel(let descriptor, _)) = result {
      let channel = ChannelIdentifier(given: descriptor)
      take(channel, as: .writesToApplication(handle), of: handle)
      outbox.append(.channel(.data(channel, value)))
      return nil
    }
    if case .failure(let error) = result {
      let code = error.attError(forRead: false)
      if code != .unlikelyError { return code }
    }
    if case .application(let client, let path)? = server.database.attribute(handle)?.source {
      callWithoutAnswer(client, path, .writeValue(value, request))
    }
    return nil
  }

  private mutating func take(
    _ channel: ChannelIdentifier, as use: AcquiredChannels.Use, of handle: AttributeHandle
  ) {
    if server.database.attribute(handle) == nil {
      outbox.append(.channel(.close(channel)))
    } else {
      channels.take(channel, as: use)
    }
  }

  /// The application of a value is gone.
  mutating func closeChannels(ofAttribute handle: AttributeHandle) {
    for use in [AcquiredChannels.Use.notifiesPeers(handle), .writesToApplication(handle)] {
      if let channel = channels.channel(use) { close(channel) }
    }
  }
}
