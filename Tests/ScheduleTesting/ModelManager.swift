import AppLink
import BluetoothTypes

/// One manager in an app's process, as its library keeps it.
struct ModelManager: Sendable {
  struct Outstanding: Sendable, Hashable {
    var peer: PeerIdentifier
    var operation: PeripheralOperation
  }

  struct PublishedChannel: Sendable, Hashable {
    /// `nil` until it is told.
    var psm: UInt16?
  }

  /// An open L2CAP channel. It lives as long as the app has its descriptor.
  struct OpenChannel: Sendable, Hashable {
    var target: Target
    var peer: PeerIdentifier
    var descriptor: ChannelDescriptor
  }

  let plan: Actor.ManagerPlan
  var view = ManagerView()
  var hasBeenTold = false
  var outstanding: [OperationIdentifier: Outstanding] = [:]
  /// How many values may be pushed.
  var credit = 0
  /// The L2CAP channel that it publishes.
  var channel: PublishedChannel?
  var openChannels: [OpenChannel] = []
  /// The links that it has been told of, if it wants to hear of them: whether each is there.
  var watched: [PeerIdentifier: Bool]?
  /// What the running scan has found.
  var reported: [PeerIdentifier: ToldAdvertisement] = [:]

  init(_ plan: Actor.ManagerPlan) { self.plan = plan }

  var creation: ManagerCreation { ManagerCreation(role: plan.role, restoreIdentifier: plan.restoreIdentifier) }

  /// `nil`: it neither has nor wants a connection.
  func state(of peer: PeerIdentifier) -> PeripheralState? {
    view.peripherals.first { $0.identifier == peer }?.state
  }

  mutating func setState(_ state: PeripheralState?, of peer: PeerIdentifier) {
    guard let state else {
      view.peripherals.removeAll { $0.identifier == peer }
      view.connectOptions[peer] = nil
      return
    }
    if state == .disconnecting { view.connectOptions[peer] = nil }
    guard let index = view.peripherals.firstIndex(where: { $0.identifier == peer }) else {
      view.peripherals.append(PeripheralSnapshot(identifier: peer, state: state))
      return
    }
    view.peripherals[index].state = state
  }

  mutating func show(_ snapshot: PeripheralSnapshot) {
    var snapshot = snapshot
    snapshot.state = .connected
    setState(.connected, of: snapshot.identifier)
    change(snapshot.identifier) { $0 = snapshot }
  }

  mutating func change(_ peer: PeerIdentifier, _ change: (inout PeripheralSnapshot) -> Void) {
    guard let index = view.peripherals.firstIndex(where: { $0.identifier == peer }) else { return }
    change(&view.peripherals[index])
  }

  mutating func forgetServices(_ handles: [AttributeHandle], of peer: PeerIdentifier) {
    change(peer) { $0.services?.removeAll { handles.contains($0.handle) } }
  }

  /// Cancellations that no system has confirmed are over when the system comes back.
  mutating func confirmCancellations() -> [PeerIdentifier] {
    let cancelled = view.peripherals.filter { $0.state == .disconnecting }.map(\.identifier)
    view.peripherals.removeAll { $0.state == .disconnecting }
    openChannels.removeAll { cancelled.contains($0.peer) }
    view.discovered = view.scan?.allowDuplicates == false ? reported.keys.sorted() : []
    return cancelled
  }

  func isExploring(_ peer: PeerIdentifier) -> Bool {
    outstanding.values.contains { asked in
      guard asked.peer == peer else { return false }
      return switch asked.operation {
      case .discoverServices, .discoverCharacteristics, .setNotify: true
      default: false
      }
    }
  }

  mutating func hears(of peer: PeerIdentifier, _ advertisement: AdvertisementData) {
    _ = reported[peer, default: ToldAdvertisement()].takes(advertisement)
  }

  mutating func begin(_ scan: ScanRequest) {
    view.scan = scan
    reported = [:]
  }

  mutating func endScan() {
    view.scan = nil
    reported = [:]
  }
}

extension PeripheralSnapshot {
  mutating func setNotifying(_ isOn: Bool, _ handle: AttributeHandle) {
    guard let services else { return }
    for (index, service) in services.enumerated() {
      guard let place = service.characteristics?.firstIndex(where: { $0.handle == handle }) else { continue }
      self.services?[index].characteristics?[place].isNotifying = isOn
    }
  }
}
