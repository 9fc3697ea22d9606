import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// StartNotify and StopNotify: sessions by client, which bluetoothd writes to the peer again on every link.
extension BlueZModel {
  mutating func startNotify(
    _ characteristic: RemoteCharacteristic, _ path: ObjectPath, of device: ObjectPath, _ pending: PendingCall
  ) {
    let handle = characteristic.valueHandle
    guard devices[device]?.disconnectDeadline == nil else { return reply(to: pending, .failure(.notConnected)) }
    guard !isNotifyAcquired(handle, of: device) else {
      return reply(to: pending, .failure(.notPermitted("Notify acquired")))
    }
    guard !characteristic.properties.isDisjoint(with: [.notify, .indicate]),
      let configuration = characteristic.configurationHandle
    else { return reply(to: pending, .failure(.notSupported)) }
    let link = attachedLink(of: device)
    switch devices[device]?.sessions[handle, default: NotifySessions()].start(pending, isLinked: link != nil) {
    case .answered(let result)?: reply(to: pending, result)
    case .waits(asksPeer: true)?:
      if let link { enqueue([configure(characteristic, configuration, path, isOn: true)], on: link) }
    case .waits, nil: break
    }
  }

  mutating func stopNotify(
    _ characteristic: RemoteCharacteristic, _ path: ObjectPath, of device: ObjectPath, _ pending: PendingCall
  ) {
    // StopNotify ends the socket of AcquireNotify, whichever client calls it.
    if let channel = channels.notifying(.init(device: device, valueHandle: characteristic.valueHandle)) {
      close(channel)
      return reply(to: pending, .success(.none))
    }
    guard
      devices[device]?.sessions[characteristic.valueHandle]?.has(pending.client) == true
    else { return reply(to: pending, .failure(.failed("No notify session started"))) }
    endSession(of: pending.client, characteristic, path, device)
    reply(to: pending, .success(.none))
  }

  mutating func forgetSubscriptions(of client: ClientIdentifier) {
    for path in devices.keys.sorted() {
      guard let device = devices[path], let database = device.database else { continue }
      for service in database.services {
        for characteristic in service.characteristics
        where device.sessions[characteristic.valueHandle]?.has(client) == true {
          endSession(of: client, characteristic, characteristic.path(under: service.path(under: path)), path)
        }
      }
    }
  }

  private mutating func endSession(
    of client: ClientIdentifier, _ characteristic: RemoteCharacteristic, _ path: ObjectPath, _ device: ObjectPath
  ) {
    let handle = characteristic.valueHandle
    devices[device]?.sessions[handle]?.end(client)
    guard devices[device]?.sessions[handle]?.isEmpty == true else { return }
    devices[device]?.sessions[handle] = nil
    changed(path, \GattCharacteristic1.notifying)
    if let link = attachedLink(of: device), let configuration = characteristic.configurationHandle {
      enqueue([configure(characteristic, configuration, path, isOn: false)], on: link)
    }
  }

  /// What is written to the peer on a new link.
  func liveSubscriptions(of device: Device) -> [ATTClient.Operation] {
    guard let database = device.database else { return [] }
    return database.services.flatMap { service in
      service.characteristics.compactMap { characteristic -> ATTClient.Operation? in
        guard device.sessions[characteristic.valueHandle]?.isEmpty == false,
          let handle = characteristic.configurationHandle
        else { return nil }
        return configure(
          characteristic, handle, characteristic.path(under: service.path(under: device.path)), isOn: true)
      }
    }
  }

  func configure(
    _ characteristic: RemoteCharacteristic, _ handle: AttributeHandle, _ path: ObjectPath, isOn: Bool
  ) -> ATTClient.Operation {
    let value: UInt16 = !isOn ? 0 : characteristic.properties.contains(.notify) ? 1 : 2
    return .configure(
      ATTClient.ConfigureOperation(
        path: path, valueHandle: characteristic.valueHandle, handle: handle, value: value))
  }

  mutating func configured(
    _ operation: ATTClient.ConfigureOperation, _ pdu: ATTPDU, on identifier: LinkIdentifier
  ) {
    guard let device = links[identifier]?.device, operation.value != 0 else { return }
    guard case .writeResponse = pdu else {
      var error = BlueZError.attError(.unlikelyError)
      if case .errorResponse(_, _, let code) = pdu { error = .fromATT(code) }
      if acquired(operation, error, of: device, on: identifier) { return }
      return failSubscription(operation, of: device, error)
    }
    if acquired(operation, nil, of: device, on: identifier) { return }
    guard var sessions = devices[device]?.sessions[operation.valueHandle], !sessions.isEmpty else { return }
    let (waiting, wasNotifying) = (sessions.waiting, sessions.isNotifying)
    sessions.confirm()
    devices[device]?.sessions[operation.valueHandle] = sessions
    if !wasNotifying { changed(operation.path, \GattCharacteristic1.notifying) }
    for call in waiting { reply(to: call, .success(.none)) }
  }

  /// Calls that wait for the subscription fail.
  mutating func failSubscription(
    _ operation: ATTClient.ConfigureOperation, of device: ObjectPath, _ error: BlueZError
  ) {
    guard var sessions = devices[device]?.sessions[operation.valueHandle] else { return }
    let waiting = sessions.waiting
    sessions.fail()
    devices[device]?.sessions[operation.valueHandle] = sessions.isEmpty && !sessions.isNotifying ? nil : sessions
    for call in waiting { reply(to: call, .failure(error)) }
  }

  /// A notification or an indication: reported once per session, to every client on the bus.
  mutating func valueArrived(_ pdu: ATTPDU, on identifier: LinkIdentifier) {
    guard let path = links[identifier]?.device else { return }
    let handle: AttributeHandle
    let value: [UInt8]
    switch pdu {
    case .notification(let from, let bytes): (handle, value) = (from, bytes)
    case .indication(let from, let bytes):
      (handle, value) = (from, bytes)
      send(.confirmation, on: identifier)
    default: return
    }
    guard let database = devices[path]?.database,
      let (service, characteristic) = database.characteristic(valueHandle: handle)
    else {
      outbox.append(.diagnostic(.unknownNotificationHandle(device: path, handle: handle)))
      return
    }
    if characteristic.uuid == WellKnownUUID.serviceChanged {
      var reader = ByteReader(value)
      guard let start = reader.word(), let end = reader.word(), start > 0, start <= end else { return }
      return servicesChanged(start...end, on: identifier)
    }
    batteryChanged(handle, value, of: path)
    if let channel = channels.notifying(.init(device: path, valueHandle: handle)) {
      return outbox.append(.channel(.data(channel, value)))
    }
    guard let sessions = devices[path]?.sessions[handle], !sessions.isEmpty else { return }
    devices[path]?.values[handle] = value
    let object = characteristic.path(under: service.path(under: path))
    for _ in 0..<sessions.count { emit(object, \GattCharacteristic1.value, value) }
  }
}
