import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// Sockets instead of method calls and signals: AcquireWrite and AcquireNotify, called by clients on a peer's
/// characteristics (src/gatt-client.c) and by bluetoothd on applications' (src/gatt-database.c).
struct AcquiredChannels: Sendable {
  private var next: UInt64 = 1
  private(set) var open: [ChannelIdentifier: Use] = [:]
  /// The open channels, the oldest first.
  private var sequence: [ChannelIdentifier] = []

  enum Use: Sendable, Hashable {
    /// Incoming data is written to a peer's characteristic, without a response.
    case writesToPeer(ObjectPath, RemoteValue)
    /// A peer's notifications are sent into the channel.
    case notifiesClient(ObjectPath, RemoteValue)
    /// Incoming data is notified to one subscriber.
    case notifiesPeer(AttributeHandle, LinkIdentifier)
    /// What one peer writes is sent into the channel.
    case writesToApplication(AttributeHandle, LinkIdentifier)

    var remoteValue: RemoteValue? {
      switch self {
      case .writesToPeer(_, let value), .notifiesClient(_, let value): value
      case .notifiesPeer, .writesToApplication: nil
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
    take(channel, as: use)
    return channel
  }

  /// Accepts a channel that an application supplied.
  mutating func take(_ channel: ChannelIdentifier, as use: Use) {
    open[channel] = use
    sequence.append(channel)
  }

  mutating func close(_ channel: ChannelIdentifier) -> Use? {
    sequence.removeAll { $0 == channel }
    return open.removeValue(forKey: channel)
  }

  /// Removes all channels and returns them in order.
  mutating func closeAll() -> [ChannelIdentifier] {
    defer { (open, sequence) = ([:], []) }
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

  /// The channels whose use matches a rule, the oldest first.
  func all(where rule: (Use) -> Bool) -> [ChannelIdentifier] { sequence.filter { open[$0].map(rule) ?? false } }
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
    case .notifiesPeer, .writesToApplication: break
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
    case (.data(let value), .notifiesPeer(let handle, let link)): notify(handle, value, through: channel, on: link)
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
