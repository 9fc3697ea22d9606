import BluetoothTypes
import BusValue

/// Arguments of Adapter1.SetDiscoveryFilter. If all are `nil` or empty, the filter is cleared.
package struct DiscoveryFilter: Sendable, Hashable {
  package var uuids: [BluetoothUUID]
  /// Only devices at least this strong, in dBm.
  package var rssi: Int16?
  /// Only devices whose signal has lost at most this much, in dB. bluetoothd 5.82 accepts it and does not apply it
  /// (src/adapter.c, is_filter_match).
  package var pathloss: UInt16?
  package var transport: String?
  /// Whether every advertisement emits a change of its data. Without it, only one with other data does.
  package var duplicateData: Bool?
  /// Whether the adapter is discoverable while the client discovers.
  package var discoverable: Bool?
  /// Only devices whose address or name starts with this.
  package var pattern: String?
  package init(
    uuids: [BluetoothUUID] = [], rssi: Int16? = nil, pathloss: UInt16? = nil, transport: String? = nil,
    duplicateData: Bool? = nil, discoverable: Bool? = nil, pattern: String? = nil
  ) {
    self.uuids = uuids
    self.rssi = rssi
    self.pathloss = pathloss
    self.transport = transport
    self.duplicateData = duplicateData
    self.discoverable = discoverable
    self.pattern = pattern
  }
}

/// The filter as it is sent: a dictionary, with its members defined in a table.
extension DiscoveryFilter {
  private struct Table: PropertyTable {
    static let table = Table()

    let uuids = Property("UUIDs", .onlyUUIDs)
    let rssi = Property("RSSI", .int16)
    let pathloss = Property("Pathloss", .uint16)
    let transport = Property("Transport", .text)
    let duplicateData = Property("DuplicateData", .bool)
    let discoverable = Property("Discoverable", .bool)
    let pattern = Property("Pattern", .text)
  }

  /// The member names that bluetoothd knows.
  package static let memberNames = Table.properties.map(\.name)

  package var members: Properties {
    var members = PropertyValues<Table>()
    if !uuids.isEmpty { members.uuids = uuids }
    members.rssi = rssi
    members.pathloss = pathloss
    members.transport = transport
    members.duplicateData = duplicateData
    members.discoverable = discoverable
    members.pattern = pattern
    return members.all
  }

  /// Reads a client's dictionary. `nil` if a member is unknown or invalid.
  package init?(members properties: Properties) {
    guard properties.keys.allSatisfy(Self.memberNames.contains) else { return nil }
    let members = PropertyValues<Table>(properties)
    do {
      self.init(
        uuids: try members.read(\.uuids) ?? [], rssi: try members.read(\.rssi),
        transport: try members.read(\.transport),
        duplicateData: try members.read(\.duplicateData), pattern: try members.read(\.pattern))
      discoverable = try members.read(\.discoverable)
      pathloss = try members.read(\.pathloss)
      // Limits of src/adapter.c, parse_rssi and parse_pathloss.
      if let pathloss, pathloss > 137 || rssi != nil { return nil }
    } catch {
      return nil
    }
    if let rssi, !(-127...20).contains(rssi) { return nil }
  }
}
