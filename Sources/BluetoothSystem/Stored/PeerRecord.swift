import AppLink
import BluetoothTypes
import FoundationEssentials

/// A remote device that an app uses.
package struct PeerRecord: Sendable, Hashable {
  package var identifier: PeerIdentifier
  /// The identity address, once bonded.
  package var address: DeviceAddress
  package var name: String?
  /// Its name in the Generic Access Profile. `nil`: not known, or the one that it advertises.
  package var gapName: String?
  /// An app has asked for a connection to it, so a link that no app asked for is the system's doing.
  package var wasRequested: Bool
  /// Services that apps have found on it, so that their absence is noticed. `nil` means none.
  package var services: [BluetoothUUID]?
  /// This system bonded with it, unattended and for an app, and no link has come up with that bond since. `nil` means
  /// no.
  package var isBondUnproven: Bool?
  /// Nobody wants its link any more, and the link has not been seen to end. `nil` means no.
  package var isEnding: Bool?
  /// The ATT MTU of its last link. `nil`: not known.
  package var mtu: Int?
  /// Services that were found on it over a link, and that it does not advertise. `nil`: none, or not known.
  package var foundServices: [BluetoothUUID]?

  package init(
    identifier: PeerIdentifier, address: DeviceAddress, name: String? = nil, gapName: String? = nil, wasRequested: Bool,
    services: [BluetoothUUID]? = nil, isBondUnproven: Bool? = nil, isEnding: Bool? = nil, mtu: Int? = nil,
    foundServices: [BluetoothUUID]? = nil
  ) {
    self.isBondUnproven = isBondUnproven
    self.isEnding = isEnding
    self.mtu = mtu
    self.identifier = identifier
    self.address = address
    self.name = name
    self.gapName = gapName
    self.wasRequested = wasRequested
    self.services = services
    self.foundServices = foundServices
  }
}

extension PeerRecord {
  struct OnDisk: DiskForm {
    var identifier: UUID
    /// `C0:FF:EE:00:00:01`
    var address: String
    var addressKind: AddressKind
    /// Missing: the name is unknown.
    var name: String?
    /// Missing: not known, or the one that it advertises.
    var gapName: String?
    var wasRequested: Bool
    /// Missing: none.
    var services: [UUIDOnDisk]?
    /// Missing: no.
    var isBondUnproven: Bool?
    /// Missing: no.
    var isEnding: Bool?
    /// Missing: not known.
    var mtu: Int?
    /// Missing: none, or not known.
    var foundServices: [UUIDOnDisk]?

    enum CodingKeys: String, CodingKey {
      case identifier = "identifier"
      case address = "address"
      case addressKind = "addressKind"
      case name = "name"
      case gapName = "gapName"
      case wasRequested = "wasRequested"
      case services = "services"
      case isBondUnproven = "isBondUnproven"
      case isEnding = "isEnding"
      case mtu = "mtu"
      case foundServices = "foundServices"
    }

    init(_ record: PeerRecord) {
      identifier = record.identifier.rawValue
      address = record.address.description
      addressKind = AddressKind(record.address.kind)
      name = record.name
      gapName = record.gapName
      wasRequested = record.wasRequested
      services = record.services.map { UUIDOnDisk.list($0) }
      isBondUnproven = record.isBondUnproven
      isEnding = record.isEnding
      mtu = record.mtu
      foundServices = record.foundServices.map { UUIDOnDisk.list($0) }
    }

    var value: PeerRecord {
      get throws {
        guard let address = DeviceAddress(address, kind: addressKind.value) else {
          throw StoredRecordError("address: \"\(self.address)\" is not a device address")
        }
        if let mtu, !(ATTLimits.defaultMTU...ATTLimits.maximumMTU).contains(mtu) {
          throw StoredRecordError("mtu: \(mtu) is not within \(ATTLimits.defaultMTU) to \(ATTLimits.maximumMTU)")
        }
        return PeerRecord(
          identifier: PeerIdentifier(identifier), address: address, name: name, gapName: gapName,
          wasRequested: wasRequested, services: try services?.values, isBondUnproven: isBondUnproven,
          isEnding: isEnding, mtu: mtu, foundServices: try foundServices?.values)
      }
    }
  }

  enum AddressKind: String, DiskForm {
    case `public` = "public"
    case random = "random"

    init(_ value: DeviceAddress.Kind) {
      switch value {
      case .public: self = .public
      case .random: self = .random
      }
    }

    var value: DeviceAddress.Kind {
      switch self {
      case .public: .public
      case .random: .random
      }
    }
  }
}
