import AppLink
import BluetoothTypes
import FoundationEssentials
import TimeTypes

/// What one manager of an app has asked for, besides connections and services.
package struct ManagerRecord: Sendable, Hashable {
  package var key: ManagerKey
  package var scan: ScanRequest?
  package var advertisement: AdvertisementRequest?
  /// The subscribers that the app was told of. If one of them is gone at the next start, the app is told then.
  package var subscribers: [LocalAttributeIdentifier: Set<PeerIdentifier>]
  package var newSubscribers: [NewSubscriber]

  package init(
    key: ManagerKey, scan: ScanRequest? = nil, advertisement: AdvertisementRequest? = nil,
    subscribers: [LocalAttributeIdentifier: Set<PeerIdentifier>] = [:], newSubscribers: [NewSubscriber] = []
  ) {
    self.key = key
    self.scan = scan
    self.advertisement = advertisement
    self.subscribers = subscribers
    self.newSubscribers = newSubscribers
  }
}

extension ManagerRecord {
  struct OnDisk: DiskForm {
    var manager: ManagerKey.OnDisk
    /// Missing: it does not scan.
    var scan: Scan?
    /// Missing: it does not advertise.
    var advertisement: Advertisement?
    /// Missing: there are no subscribers.
    var subscribers: [Subscribers]?
    /// Missing: none came a moment ago.
    var newSubscribers: [Newcomer]?

    enum CodingKeys: String, CodingKey {
      case manager = "manager"
      case scan = "scan"
      case advertisement = "advertisement"
      case subscribers = "subscribers"
      case newSubscribers = "newSubscribers"
    }

    init(_ record: ManagerRecord) {
      manager = ManagerKey.OnDisk(record.key)
      scan = record.scan.map { Scan($0) }
      advertisement = record.advertisement.map { Advertisement($0) }
      let sorted = record.subscribers.sorted { $0.key < $1.key }
      subscribers = sorted.isEmpty ? nil : sorted.map { Subscribers(characteristic: $0.key, centrals: $0.value) }
      newSubscribers = record.newSubscribers.isEmpty ? nil : record.newSubscribers.map { Newcomer($0) }
    }

    var value: ManagerRecord {
      get throws {
        var record = ManagerRecord(
          key: manager.value, scan: try scan?.value, advertisement: try advertisement?.value)
        for entry in subscribers ?? [] {
          record.subscribers[LocalAttributeIdentifier(entry.characteristic), default: []]
            .formUnion(entry.centrals.map { PeerIdentifier($0) })
        }
        record.newSubscribers = (newSubscribers ?? []).map(\.value)
        return record
      }
    }
  }

  struct Scan: DiskForm {
    /// Missing: the scan is for every peripheral.
    var services: [UUIDOnDisk]?
    /// Missing: no.
    var allowDuplicates: Bool?
    /// Missing: none.
    var solicitedServices: [UUIDOnDisk]?

    enum CodingKeys: String, CodingKey {
      case services = "services"
      case allowDuplicates = "allowDuplicates"
      case solicitedServices = "solicitedServices"
    }

    init(_ request: ScanRequest) {
      services = request.services.map { UUIDOnDisk.list($0) }
      allowDuplicates = request.allowDuplicates ? true : nil
      solicitedServices = request.solicitedServices.isEmpty ? nil : UUIDOnDisk.list(request.solicitedServices)
    }

    var value: ScanRequest {
      get throws {
        ScanRequest(
          services: try services?.values, allowDuplicates: allowDuplicates ?? false,
          solicitedServices: try solicitedServices?.values ?? [])
      }
    }
  }

  struct Advertisement: DiskForm {
    /// Missing: none.
    var localName: String?
    /// Missing: none.
    var serviceUUIDs: [UUIDOnDisk]?

    enum CodingKeys: String, CodingKey {
      case localName = "localName"
      case serviceUUIDs = "serviceUUIDs"
    }

    init(_ request: AdvertisementRequest) {
      localName = request.localName
      serviceUUIDs = request.serviceUUIDs.isEmpty ? nil : UUIDOnDisk.list(request.serviceUUIDs)
    }

    var value: AdvertisementRequest {
      get throws { AdvertisementRequest(localName: localName, serviceUUIDs: try serviceUUIDs?.values ?? []) }
    }
  }

  struct Newcomer: Codable {
    var central: UUID
    /// Nanoseconds of the machine's clock.
    var youngUntil: Int64

    enum CodingKeys: String, CodingKey {
      case central = "central"
      case youngUntil = "youngUntil"
    }

    init(_ subscriber: NewSubscriber) {
      (central, youngUntil) = (subscriber.central.rawValue, subscriber.youngUntil.nanoseconds)
    }

    var value: NewSubscriber {
      NewSubscriber(central: PeerIdentifier(central), youngUntil: Instant(nanoseconds: youngUntil))
    }
  }

  struct Subscribers: Codable {
    var characteristic: UUID
    /// Sorted, so that the same record always has the same bytes.
    var centrals: [UUID]

    enum CodingKeys: String, CodingKey {
      case characteristic = "characteristic"
      case centrals = "centrals"
    }

    init(characteristic: LocalAttributeIdentifier, centrals: Set<PeerIdentifier>) {
      self.characteristic = characteristic.rawValue
      self.centrals = centrals.sorted().map(\.rawValue)
    }
  }
}
