import AppLink
import BluetoothTypes

/// One manager of an app: what it asked for, and what its delegate was told.
struct Manager: Sendable {
  let key: ManagerKey
  /// Its number in the app's process, or `nil` while no process has it.
  var number: ManagerIdentifier?
  private(set) var toldState: ManagerState?

  // Central role
  var scan: Scan?
  var watched: WatchedConnections?

  // Peripheral role
  var services: [LocalAttributeIdentifier: ServiceRecord] = [:]
  var advertisement: AdvertisementRequest?
  /// The subscribers that the delegate was told of.
  var subscribers: [LocalAttributeIdentifier: Set<PeerIdentifier>] = [:]
  /// Those of them that came a moment ago.
  var newSubscribers: [NewSubscriber] = []
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
    newSubscribers = record.newSubscribers
  }

  var record: ManagerRecord {
    ManagerRecord(
      key: key, scan: scan?.request, advertisement: advertisement,
      subscribers: subscribers.filter { !$0.value.isEmpty }, newSubscribers: newSubscribers)
  }

  /// The manager's process has ended or left. What the manager asked for stays.
  mutating func rest() {
    number = nil
    toldState = nil
    credit.withdraw()
    scan?.forgetReported()
    watched = nil
  }

  /// The delegate is told this state, unless it knows it. Returns whether it is news.
  mutating func takes(_ state: ManagerState) -> Bool {
    defer { toldState = state }
    return toldState != state
  }

  /// The state that the delegate knew while the system was away.
  mutating func knew(_ state: ManagerState?) { toldState = state }

  /// Whether it asked for something besides peripherals.
  var asksForSomething: Bool { scan != nil || advertisement != nil || !services.isEmpty }
}
