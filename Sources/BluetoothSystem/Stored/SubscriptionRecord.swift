import AppLink
import FoundationEssentials

/// A bonded central's subscription. It holds until the central ends it, across links and restarts.
package struct SubscriptionRecord: Sendable, Hashable {
  package var central: PeerIdentifier
  package var characteristic: LocalAttributeIdentifier

  package init(central: PeerIdentifier, characteristic: LocalAttributeIdentifier) {
    self.central = central
    self.characteristic = characteristic
  }

  var key: StoreKey { Self.key(central, characteristic) }
  static func key(_ central: PeerIdentifier, _ characteristic: LocalAttributeIdentifier) -> StoreKey {
    StoreKey(.subscription, central.uuidString + "\u{1F}" + characteristic.uuidString)
  }
}

extension SubscriptionRecord {
  struct OnDisk: DiskForm {
    var central: UUID
    var characteristic: UUID

    enum CodingKeys: String, CodingKey {
      case central = "central"
      case characteristic = "characteristic"
    }

    init(_ record: SubscriptionRecord) {
      central = record.central.rawValue
      characteristic = record.characteristic.rawValue
    }

    var value: SubscriptionRecord {
      SubscriptionRecord(
        central: PeerIdentifier(central), characteristic: LocalAttributeIdentifier(characteristic))
    }
  }
}
