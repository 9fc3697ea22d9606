import AppLink
import BluetoothTypes

/// One manager of an app: what it asked for, and what its delegate was told.
struct Manager: Sendable {
  let key: ManagerKey
  /// Its number in the app's process; `nil` while no process has it.
  var number: ManagerIdentifier?
  private(set) var toldState: ManagerState?

  // Central role
  var scan: Scan?
  var peripherals: [PeerIdentifier: Peripheral] = [:]

  // Peripheral role
  var services: [LocalAttributeIdentifier: ServiceRecord] = [:]
  var advertisement: AdvertisementRequest?
  /// Who the delegate was told is subscribed.
  var subscribers: [LocalAttributeIdentifier: Set<PeerIdentifier>] = [:]
  /// Services and an advertisement whose start the delegate has not been told of yet.
  var unannounced: Set<LocalAttributeIdentifier> = []
  var isAdvertisingUnannounced = false
  var credit = UpdateCredit()

  init(key: ManagerKey) { self.key = key }

  init(_ record: ManagerRecord) {
    key = record.key
    scan = record.scan.map { Scan($0) }
    advertisement = record.advertisement
    subscribers = record.subscribers
  }

  var record: ManagerRecord {
    ManagerRecord(
      key: key, scan: scan?.request, advertisement: advertisement, subscribers: subscribers.filter { !$0.value.isEmpty }
    )
  }

  /// Its process is gone or has left; what it asked for stays.
  mutating func rest() {
    number = nil
    toldState = nil
    credit.withdraw()
    scan?.forgetReported()
  }

  /// The delegate knows this state, or is told it now. Returns whether it is news to it.
  mutating func takes(_ state: ManagerState) -> Bool {
    defer { toldState = state }
    return toldState != state
  }

  /// What the delegate knew while the system was away.
  mutating func knew(_ state: ManagerState?) { toldState = state }

  /// A connection that its app last knew is restored as such, also where it was lost since: the loss is told next.
  var hasSomethingToRestore: Bool {
    scan != nil || advertisement != nil || !services.isEmpty || peripherals.values.contains(where: \.isRestored)
  }
}
