import BluetoothTypes

/// The attribute protocol's messages as they are transmitted (Bluetooth Core, Vol 3, Part F, 3.4).
enum ATTPDU: Sendable, Hashable {
  case errorResponse(request: UInt8, handle: AttributeHandle, error: ATTError)
  case exchangeMTURequest(UInt16)
  case exchangeMTUResponse(UInt16)
  case findInformationRequest(start: AttributeHandle, end: AttributeHandle)
  case findInformationResponse([HandleAndType])
  case readByTypeRequest(start: AttributeHandle, end: AttributeHandle, type: BluetoothUUID)
  case readByTypeResponse([HandleAndValue])
  case readRequest(AttributeHandle)
  case readResponse([UInt8])
  case readBlobRequest(AttributeHandle, offset: UInt16)
  case readBlobResponse([UInt8])
  case readByGroupTypeRequest(start: AttributeHandle, end: AttributeHandle, type: BluetoothUUID)
  case readByGroupTypeResponse([Group])
  case writeRequest(AttributeHandle, [UInt8])
  case writeResponse
  case writeCommand(AttributeHandle, [UInt8])
  case prepareWriteRequest(AttributeHandle, offset: UInt16, [UInt8])
  case prepareWriteResponse(AttributeHandle, offset: UInt16, [UInt8])
  case executeWriteRequest(commit: Bool)
  case executeWriteResponse
  case notification(AttributeHandle, [UInt8])
  case indication(AttributeHandle, [UInt8])
  case confirmation

  struct HandleAndType: Sendable, Hashable {
    var handle: AttributeHandle
    var type: BluetoothUUID
  }
  struct HandleAndValue: Sendable, Hashable {
    var handle: AttributeHandle
    var value: [UInt8]
  }
  struct Group: Sendable, Hashable {
    var start: AttributeHandle
    var end: AttributeHandle
    var value: [UInt8]
  }

  /// The method's number, which is the first byte sent.
  var opcode: UInt8 {
    switch self {
    case .errorResponse: 0x01
    case .exchangeMTURequest: 0x02
    case .exchangeMTUResponse: 0x03
    case .findInformationRequest: 0x04
    case .findInformationResponse: 0x05
    case .readByTypeRequest: 0x08
    case .readByTypeResponse: 0x09
    case .readRequest: 0x0A
    case .readResponse: 0x0B
    case .readBlobRequest: 0x0C
    case .readBlobResponse: 0x0D
    case .readByGroupTypeRequest: 0x10
    case .readByGroupTypeResponse: 0x11
    case .writeRequest: 0x12
    case .writeResponse: 0x13
    case .writeCommand: 0x52
    case .prepareWriteRequest: 0x16
    case .prepareWriteResponse: 0x17
    case .executeWriteRequest: 0x18
    case .executeWriteResponse: 0x19
    case .notification: 0x1B
    case .indication: 0x1D
    case .confirmation: 0x1E
    }
  }

  enum Direction { case request, command, response, notification, indication, confirmation }

  var direction: Direction {
    switch self {
    case .exchangeMTURequest, .findInformationRequest, .readByTypeRequest, .readRequest, .readBlobRequest,
      .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest, .executeWriteRequest:
      .request
    case .writeCommand: .command
    case .notification: .notification
    case .indication: .indication
    case .confirmation: .confirmation
    default: .response
    }
  }
}

extension ATTPDU {
  var bytes: [UInt8] {
    var writer = ByteWriter([opcode])
    switch self {
    case .errorResponse(let request, let handle, let error):
      writer.write(request)
      writer.write(handle)
      writer.write(error.rawValue)
    case .exchangeMTURequest(let mtu), .exchangeMTUResponse(let mtu): writer.write(mtu)
    case .findInformationRequest(let start, let end):
      writer.write(start)
      writer.write(end)
    case .findInformationResponse(let entries):
      writer.write(entries.first?.type.shortValue == nil ? UInt8(2) : UInt8(1))
      for entry in entries {
        writer.write(entry.handle)
        writer.write(entry.type.bytesOnAir)
      }
    case .readByTypeRequest(let start, let end, let type), .readByGroupTypeRequest(let start, let end, let type):
      writer.write(start)
      writer.write(end)
      writer.write(type.bytesOnAir)
    case .readByTypeResponse(let entries):
      writer.write(UInt8(truncatingIfNeeded: 2 + (entries.first?.value.count ?? 0)))
      for entry in entries {
        writer.write(entry.handle)
        writer.write(entry.value)
      }
    case .readByGroupTypeResponse(let groups):
      writer.write(UInt8(truncatingIfNeeded: 4 + (groups.first?.value.count ?? 0)))
      for group in groups {
        writer.write(group.start)
        writer.write(group.end)
        writer.write(group.value)
      }
    case .readRequest(let handle): writer.write(handle)
    case .readBlobRequest(let handle, let offset):
      writer.write(handle)
      writer.write(offset)
    case .readResponse(let value), .readBlobResponse(let value): writer.write(value)
    case .writeRequest(let handle, let value), .writeCommand(let handle, let value),
      .notification(let handle, let value), .indication(let handle, let value):
      writer.write(handle)
      writer.write(value)
    case .prepareWriteRequest(let handle, let offset, let value),
      .prepareWriteResponse(let handle, let offset, let value):
      writer.write(handle)
      writer.write(offset)
      writer.write(value)
    case .executeWriteRequest(let commit): writer.write(commit ? UInt8(1) : UInt8(0))
    case .writeResponse, .executeWriteResponse, .confirmation: break
    }
    return writer.bytes
  }

  /// `nil` if the bytes are not a known message, or are too short or too long.
  init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    guard let opcode = reader.byte(), let pdu = Self.parse(opcode, &reader) else { return nil }
    self = pdu
  }

  private static func parse(_ opcode: UInt8, _ reader: inout ByteReader) -> ATTPDU? {
    switch opcode {
    case 0x01:
      guard let request = reader.byte(), let handle = reader.word(), let error = reader.byte(), reader.isAtEnd
      else { return nil }
      return .errorResponse(request: request, handle: handle, error: ATTError(rawValue: error))
    case 0x02, 0x03:
      guard let mtu = reader.word(), reader.isAtEnd else { return nil }
      return opcode == 0x02 ? .exchangeMTURequest(mtu) : .exchangeMTUResponse(mtu)
    case 0x04:
      guard let start = reader.word(), let end = reader.word(), reader.isAtEnd else { return nil }
      return .findInformationRequest(start: start, end: end)
    case 0x05: return parseInformation(&reader)
    case 0x08, 0x10:
      guard let start = reader.word(), let end = reader.word(), let type = BluetoothUUID(onAir: reader.rest())
      else { return nil }
      return opcode == 0x08
        ? .readByTypeRequest(start: start, end: end, type: type)
        : .readByGroupTypeRequest(start: start, end: end, type: type)
    case 0x09: return parseValues(&reader)
    case 0x11: return parseGroups(&reader)
    case 0x0A:
      guard let handle = reader.word(), reader.isAtEnd else { return nil }
      return .readRequest(handle)
    case 0x0B: return .readResponse(reader.rest())
    case 0x0C:
      guard let handle = reader.word(), let offset = reader.word(), reader.isAtEnd else { return nil }
      return .readBlobRequest(handle, offset: offset)
    case 0x0D: return .readBlobResponse(reader.rest())
    case 0x12, 0x52, 0x1B, 0x1D:
      guard let handle = reader.word() else { return nil }
      switch opcode {
      case 0x12: return .writeRequest(handle, reader.rest())
      case 0x52: return .writeCommand(handle, reader.rest())
      case 0x1B: return .notification(handle, reader.rest())
      default: return .indication(handle, reader.rest())
      }
    case 0x16, 0x17:
      guard let handle = reader.word(), let offset = reader.word() else { return nil }
      return opcode == 0x16
        ? .prepareWriteRequest(handle, offset: offset, reader.rest())
        : .prepareWriteResponse(handle, offset: offset, reader.rest())
    case 0x18:
      guard let flags = reader.byte(), flags <= 1, reader.isAtEnd else { return nil }
      return .executeWriteRequest(commit: flags == 1)
    case 0x13: return reader.isAtEnd ? .writeResponse : nil
    case 0x19: return reader.isAtEnd ? .executeWriteResponse : nil
    case 0x1E: return reader.isAtEnd ? .confirmation : nil
    default: return nil
    }
  }

  private static func parseInformation(_ reader: inout ByteReader) -> ATTPDU? {
    guard let format = reader.byte(), format == 1 || format == 2 else { return nil }
    var entries: [HandleAndType] = []
    while !reader.isAtEnd {
      guard let handle = reader.word(), let bytes = reader.bytes(format == 1 ? 2 : 16),
        let type = BluetoothUUID(onAir: bytes)
      else { return nil }
      entries.append(HandleAndType(handle: handle, type: type))
    }
    return entries.isEmpty ? nil : .findInformationResponse(entries)
  }

  private static func parseValues(_ reader: inout ByteReader) -> ATTPDU? {
    guard let length = reader.byte(), length >= 2 else { return nil }
    var entries: [HandleAndValue] = []
    while !reader.isAtEnd {
      guard let handle = reader.word(), let value = reader.bytes(Int(length) - 2) else { return nil }
      entries.append(HandleAndValue(handle: handle, value: value))
    }
    return entries.isEmpty ? nil : .readByTypeResponse(entries)
  }

  private static func parseGroups(_ reader: inout ByteReader) -> ATTPDU? {
    guard let length = reader.byte(), length >= 4 else { return nil }
    var groups: [Group] = []
    while !reader.isAtEnd {
      guard let start = reader.word(), let end = reader.word(), let value = reader.bytes(Int(length) - 4)
      else { return nil }
      groups.append(Group(start: start, end: end, value: value))
    }
    return groups.isEmpty ? nil : .readByGroupTypeResponse(groups)
  }
}

extension BluetoothUUID {
  /// The attribute protocol uses 16-bit and 128-bit UUIDs, not 32-bit ones.
  var bytesOnAir: [UInt8] {
    if let shortValue { return [UInt8(truncatingIfNeeded: shortValue), UInt8(shortValue >> 8)] }
    return fullLittleEndian
  }

  var fullLittleEndian: [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: low >> (8 * UInt64($0))) }
      + (0..<8).map { UInt8(truncatingIfNeeded: high >> (8 * UInt64($0))) }
  }

  init?(onAir bytes: [UInt8]) {
    guard bytes.count == 2 || bytes.count == 16 else { return nil }
    self.init(littleEndian: bytes)
  }
}
