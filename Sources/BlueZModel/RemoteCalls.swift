import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// ReadValue and WriteValue on a peer's attributes.
extension BlueZModel {
  mutating func read(
    _ handle: AttributeHandle, _ path: ObjectPath, of device: ObjectPath, offset: UInt16, _ pending: PendingCall
  ) {
    guard let link = attachedLink(of: device) else { return reply(to: pending, .failure(.failed("Not connected"))) }
    // `read_op` in src/gatt-client.c: a second call waits for the answer to the first, unless it asks for other bytes.
    switch links[link]?.client.joinRead(path, offset: Int(offset), pending) {
    case .joined: return
    case .ofOtherBytes: return reply(to: pending, .failure(.inProgress))
    case .some(.none), nil: break
    }
    enqueue(
      [.read(ATTClient.ReadOperation(callers: [pending], path: path, handle: handle, offset: Int(offset)))], on: link)
  }

  /// Handles an answer. Returns the next step of the read if the value is longer than one message.
  mutating func readAnswered(
    _ read: ATTClient.ReadOperation, _ pdu: ATTPDU, on identifier: LinkIdentifier
  ) -> ATTClient.Operation? {
    guard let mtu = links[identifier]?.mtu else { return nil }
    var read = read
    switch read.take(pdu, mtu: mtu) {
    case .goesOn: return .read(read)
    case .failed(let error): for caller in read.callers { reply(to: caller, .failure(error)) }
    case .done:
      let known = links[identifier].flatMap { devices[$0.device]?.values[read.handle] } ?? []
      valueBecame(read.value(over: known), read.path, read.handle, on: identifier)
      for caller in read.callers { reply(to: caller, .success(.bytes(read.collected))) }
    }
    return nil
  }

  /// A read appears as a change of Value, as a notification does.
  private mutating func valueBecame(
    _ value: [UInt8], _ path: ObjectPath, _ handle: AttributeHandle, on identifier: LinkIdentifier
  ) {
    guard let device = links[identifier]?.device, let found = remoteAttribute(path) else { return }
    devices[device]?.values[handle] = value
    switch found.attribute {
    case .service: break
    case .characteristic: emit(path, \GattCharacteristic1.value, value)
    case .descriptor: emit(path, \GattDescriptor1.value, value)
    }
  }

  mutating func write(
    _ value: [UInt8], _ options: WriteOptions, _ characteristic: RemoteCharacteristic, _ path: ObjectPath,
    of device: ObjectPath, _ pending: PendingCall
  ) {
    guard let identifier = attachedLink(of: device), let link = links[identifier] else {
      return reply(to: pending, .failure(.failed("Not connected")))
    }
    guard !channels.isWriting(to: .init(device: device, valueHandle: characteristic.valueHandle)) else {
      return reply(to: pending, .failure(.notPermitted("Write acquired")))
    }
    let kind: WriteOptions.Kind
    switch options.kind {
    case .some(let chosen): kind = chosen
    case .none:
      if characteristic.isReliable {
        kind = .reliable
      } else if characteristic.properties.contains(.write) {
        kind = .request
      } else if characteristic.properties.contains(.writeWithoutResponse) {
        kind = .command
      } else {
        return reply(to: pending, .failure(.notSupported))
      }
    }
    switch kind {
    case .command:
      guard options.offset == 0 else { return reply(to: pending, .failure(.notSupported)) }
      guard value.count <= link.mtu - 3 else {
        return reply(to: pending, .failure(.failed("Failed to initiate write")))
      }
      // Success means queued, not sent. Whether the characteristic accepts commands is up to the peer.
      send(.writeCommand(characteristic.valueHandle, value), on: identifier)
      answerWriteCommand(pending, on: identifier)
    case .request, .reliable:
      guard value.count + Int(options.offset) <= ATTLimits.maximumValueLength else {
        return reply(to: pending, .failure(.invalidArguments("Invalid Length")))
      }
      enqueueWrite(
        characteristic.valueHandle, value, WriteOptions(kind: kind, offset: options.offset), path, on: identifier,
        pending)
    }
  }

  mutating func write(
    _ value: [UInt8], _ options: WriteOptions, _ descriptor: RemoteDescriptor, _ path: ObjectPath,
    of device: ObjectPath, _ pending: PendingCall
  ) {
    guard descriptor.uuid != WellKnownUUID.clientConfiguration else {
      return reply(to: pending, .failure(.notPermitted("Write not permitted")))
    }
    guard let identifier = attachedLink(of: device) else {
      return reply(to: pending, .failure(.failed("Not connected")))
    }
    guard value.count + Int(options.offset) <= ATTLimits.maximumValueLength else {
      return reply(to: pending, .failure(.invalidArguments("Invalid Length")))
    }
    enqueueWrite(descriptor.handle, value, options, path, on: identifier, pending)
  }

  private mutating func enqueueWrite(
    _ handle: AttributeHandle, _ value: [UInt8], _ options: WriteOptions, _ path: ObjectPath,
    on identifier: LinkIdentifier, _ pending: PendingCall
  ) {
    guard let link = links[identifier] else { return }
    guard links[identifier]?.client.isWriting(path) != true else { return reply(to: pending, .failure(.inProgress)) }
    let isLong = options.kind == .reliable || options.offset > 0 || value.count > link.mtu - 3
    enqueue(
      [
        .write(
          ATTClient.WriteOperation(
            caller: pending, path: path, handle: handle, value: value, offset: Int(options.offset), isLong: isLong,
            piece: link.mtu - 5))
      ], on: identifier)
  }

  mutating func writeAnswered(
    _ write: ATTClient.WriteOperation, _ pdu: ATTPDU, on identifier: LinkIdentifier
  ) -> ATTClient.Operation? {
    guard let mtu = links[identifier]?.mtu else { return nil }
    var write = write
    switch write.take(pdu, mtu: mtu) {
    case .goesOn: return .write(write)
    case .failed(let error): reply(to: write.caller, .failure(error))
    case .done: reply(to: write.caller, .success(.none))
    }
    return nil
  }
}
