import BlueZ
import BluetoothTypes

/// What bluetoothd answers about its database by itself: the attributes, and the values that do not belong to an
/// application.
struct DatabaseReader {
  let database: LocalDatabase
  /// The MTU of the link that carries the answer.
  let mtu: Int
  /// The machine's name, as peers read it.
  let name: String
  /// The asking peer's Client Characteristic Configurations, by value handle.
  let configurations: [AttributeHandle: UInt16]

  /// The answer to a discovery request (Bluetooth Core, Vol 3, Part F, 3.4.3 and 3.4.4).
  func answer(_ pdu: ATTPDU) -> ATTPDU {
    switch pdu {
    case .readByGroupTypeRequest(let start, let end, let type): groups(pdu, start, end, type)
    case .readByTypeRequest(let start, let end, let type): values(pdu, start, end, type)
    case .findInformationRequest(let start, let end): information(pdu, start, end)
    default: pdu.refused(0, .requestNotSupported)
    }
  }

  private func groups(
    _ pdu: ATTPDU, _ start: AttributeHandle, _ end: AttributeHandle, _ type: BluetoothUUID
  ) -> ATTPDU {
    guard start > 0, start <= end else { return pdu.refused(start, .invalidHandle) }
    guard type == WellKnownUUID.primaryService || type == WellKnownUUID.secondaryService else {
      return pdu.refused(start, .unsupportedGroupType)
    }
    var groups: [ATTPDU.Group] = []
    for service in database.services where service.range.lowerBound >= start && service.range.lowerBound <= end {
      guard service.attributes[0].type == type else { continue }
      let group = ATTPDU.Group(
        start: service.range.lowerBound, end: service.range.upperBound, value: service.uuid.bytesOnAir)
      if let first = groups.first, first.value.count != group.value.count { break }
      guard 2 + (groups.count + 1) * (4 + group.value.count) <= mtu else { break }
      groups.append(group)
    }
    return groups.isEmpty ? pdu.refused(start, .attributeNotFound) : .readByGroupTypeResponse(groups)
  }

  private func values(
    _ pdu: ATTPDU, _ start: AttributeHandle, _ end: AttributeHandle, _ type: BluetoothUUID
  ) -> ATTPDU {
    guard start > 0, start <= end else { return pdu.refused(start, .invalidHandle) }
    var entries: [ATTPDU.HandleAndValue] = []
    for attribute in database.attributes(in: start...end) where attribute.type == type {
      // An application's value can't be answered here. It has to be read by handle.
      guard let value = builtInValue(attribute) else {
        if entries.isEmpty { return pdu.refused(attribute.handle, .readNotPermitted) }
        break
      }
      let fitting = Array(value.prefix(min(mtu - 4, 253)))
      if let first = entries.first, first.value.count != fitting.count { break }
      guard 2 + (entries.count + 1) * (2 + fitting.count) <= mtu else { break }
      entries.append(ATTPDU.HandleAndValue(handle: attribute.handle, value: fitting))
    }
    return entries.isEmpty ? pdu.refused(start, .attributeNotFound) : .readByTypeResponse(entries)
  }

  private func information(_ pdu: ATTPDU, _ start: AttributeHandle, _ end: AttributeHandle) -> ATTPDU {
    guard start > 0, start <= end else { return pdu.refused(start, .invalidHandle) }
    var entries: [ATTPDU.HandleAndType] = []
    for attribute in database.attributes(in: start...end) {
      let size = attribute.type.bytesOnAir.count
      if let first = entries.first, first.type.bytesOnAir.count != size { break }
      guard 2 + (entries.count + 1) * (2 + size) <= mtu else { break }
      entries.append(ATTPDU.HandleAndType(handle: attribute.handle, type: attribute.type))
    }
    return entries.isEmpty ? pdu.refused(start, .attributeNotFound) : .findInformationResponse(entries)
  }

  /// `nil` if the value belongs to an application.
  func builtInValue(_ attribute: LocalAttribute) -> [UInt8]? {
    switch attribute.source {
    case .fixed(let value): value
    case .deviceName: Array(name.utf8)
    case .databaseHash: database.hash
    case .clientFeatures: [1]
    case .configuration(let handle): [UInt8(truncatingIfNeeded: configurations[handle] ?? 0), 0]
    case .application: nil
    }
  }
}

extension ATTPDU {
  /// The response that refuses this request.
  func refused(_ handle: AttributeHandle, _ error: ATTError) -> ATTPDU {
    .errorResponse(request: opcode, handle: handle, error: error)
  }
}
