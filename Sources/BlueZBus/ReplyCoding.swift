import BlueZ
import BluetoothTypes
import BusValue
import Glibc
import SystemBus

/// Replies as method results, and back.
enum ReplyCoding {
  static func values(_ reply: Reply) -> [Value] {
    switch reply {
    case .none: []
    case .bytes(let bytes): [.bytes(bytes)]
    case .value(let value): [.variant(value)]
    case .properties(let properties): [.properties(properties)]
    case .objects(let objects): [ObjectCoding.value(objects)]
    case .strings(let strings): [.strings(strings)]
    case .path(let path): [.path(path)]
    case .rssi(let rssi): [.int16(Int16(rssi))]
    case .creditChannel(let channel, let mtu, let device):
      [.path(device), .fileDescriptor(channel.number), .uint16(mtu)]
    case .psm(let psm): [.uint16(psm)]
    case .channel(let fileDescriptor, let mtu): [.fileDescriptor(fileDescriptor), .uint16(mtu)]
    }
  }

  /// `nil` if bluetoothd returned something that does not fit the method.
  static func reply(_ values: [Value], to request: Request) -> Reply? {
    let first = values.first
    switch request {
    case .getManagedObjects: return ObjectCoding.objects(first).map { .objects($0) }
    case .getProperty:
      guard case .variant(let value)? = first else { return nil }
      return .value(value)
    case .getAllProperties: return first?.propertiesValue.map { .properties($0) }
    case .getDiscoveryFilters: return first?.stringsValue.map { .strings($0) }
    case .connectDevice: return first?.pathValue.map { .path($0) }
    case .readValue: return first?.bytesValue.map { .bytes($0) }
    case .readConnectionRSSI: return first?.integerValue.flatMap { Int8(exactly: $0) }.map { .rssi($0) }
    case .acquireNotify, .acquireWrite:
      guard values.count == 2, case .fileDescriptor(let descriptor) = values[0], case .uint16(let mtu) = values[1]
      else { return nil }
      return .channel(fileDescriptor: descriptor, mtu: mtu)
    case .openChannel, .acceptChannel:
      guard values.count == 3, case .path(let device) = values[0], case .fileDescriptor(let number) = values[1],
        case .uint16(let mtu) = values[2]
      else { return nil }
      return .creditChannel(ChannelDescriptor(owning: number) { close($0) }, mtu: mtu, device: device)
    case .listenForChannels:
      guard case .uint16(let psm)? = first else { return nil }
      return .psm(psm)
    default: return Reply.none
    }
  }
}
