import AppLink
import BlueZ
import BluetoothSystem
import BluetoothTypes
import TimeTypes

/// A mistake that a system could make. Each is put into its decisions on purpose, to show that schedules find it.
package enum Fault: String, Sendable, CaseIterable {
  case promisesBeforeStoring, forgetsRequestsOnDisk, forgetsCancellationsOnDisk, forgetsPublishedServicesOnDisk,
    forgetsThatTheUserQuit, forgetsScansOnDisk
  case tellsConnectionsTwice, tellsLossesTwice, losesConnections, losesLosses, losesRestoration, restoresLate,
    restoresTooLittle, restoresAsConnected, losesValues, tellsValuesTwice, losesDiscoveries, tellsDiscoveriesTwice,
    losesSubscribers, losesEndsOfOperations
  case forgetsToLaunch, launchesTwice, forgetsToResume, killsAtRandom, launchesAsOpened
  case neverConnects, neverRegistersServices, neverAdvertises, neverSubscribes, neverScans, neverDisconnects,
    neverAnswers, forgetsTheAcceptList, pushesNothing
  case connectsAtOnce
  case neverListens, losesChannels, losesWatchedLinks, tellsWatchedLinksTwice, keepsChannelsOfTheDead
  case forgetsIdentifiers, losesAnswersToQueries, forgetsPeersOnDisk
  case takesLossesForLostBonds, refusesForLostBonds, losesLostBonds, ignoresLostBonds
}

/// Changes the effects of systems by one fault.
struct Sabotage: Sendable {
  let fault: Fault
  private var count = 0
  private var late: [AppLinkIdentifier: AppLink.Event] = [:]
  private var kept: [ChannelDescriptor] = []

  init(_ fault: Fault) { self.fault = fault }

  /// What the system takes instead of this.
  func change(_ event: BluetoothSystem.Event) -> BluetoothSystem.Event {
    switch (fault, event) {
    case (.connectsAtOnce, .request(let link, .central(let manager, .connect(let peer, var options)))):
      options.startDelaySeconds = 0
      return .request(link, .central(manager, .connect(peer, options)))
    case (.ignoresLostBonds, .daemon(.signal(.disconnected))): return .timePassed
    default: return event
    }
  }

  mutating func change(_ effects: [BluetoothSystem.Effect], at now: Instant) -> [BluetoothSystem.Effect] {
    if fault == .promisesBeforeStoring {
      let stores = effects.filter { if case .store = $0 { true } else { false } }
      return Array(effects.dropFirst(stores.count)) + stores
    }
    return effects.flatMap { change($0) }
  }

  private mutating func change(_ effect: BluetoothSystem.Effect) -> [BluetoothSystem.Effect] {
    switch effect {
    case .store(let change): return isKept(change) ? [effect] : []
    case .event(let event, let link):
      return self.change(event, link).map { .event($0, to: link) }
    case .launch(let bundle, let options):
      switch fault {
      case .forgetsToLaunch: return options.reason == .restore ? [] : [effect]
      case .launchesTwice: return [effect, effect]
      case .launchesAsOpened: return [.launch(bundle, LaunchOptions(reason: .opened))]
      default: return [effect]
      }
    case .queryReply(let token, .success(let found)):
      switch fault {
      case .forgetsIdentifiers: return [.queryReply(token, .success(Array(found.dropLast())))]
      case .losesAnswersToQueries: return []
      default: return [effect]
      }
    case .resume: return fault == .forgetsToResume ? [] : [effect]
    case .suspend(let bundle, let process):
      count += 1
      return fault == .killsAtRandom && count.isMultiple(of: 3) ? [.kill(bundle, process)] : [effect]
    case .bluez(let message): return isSent(message) ? [effect] : []
    default: return [effect]
    }
  }

  private func isKept(_ change: StoreChange) -> Bool {
    switch (fault, change) {
    case (.forgetsRequestsOnDisk, .put(.peripheral)), (.forgetsPublishedServicesOnDisk, .put(.service)),
      (.forgetsPeersOnDisk, .put(.peer)):
      false
    case (.forgetsCancellationsOnDisk, .put(.peripheral(let record))): record.isWanted
    case (.forgetsThatTheUserQuit, .put(.app(let record))): !record.quitByUser
    case (.forgetsScansOnDisk, .put(.manager(let record))): record.scan == nil
    default: true
    }
  }

  /// What is told instead of this event. Its number does not matter.
  private mutating func change(_ event: AppLink.Event, _ link: AppLinkIdentifier) -> [AppLink.Event] {
    switch (fault, event.body) {
    case (.tellsConnectionsTwice, .connected), (.tellsLossesTwice, .disconnected), (.tellsValuesTwice, .valueUpdated),
      (.tellsDiscoveriesTwice, .discovered), (.tellsWatchedLinksTwice, .connectionEvent):
      return [event, event]
    case (.losesConnections, .connected), (.losesLosses, .disconnected), (.losesValues, .valueUpdated),
      (.losesDiscoveries, .discovered), (.losesSubscribers, .subscribed), (.losesRestoration, .willRestoreCentral),
      (.losesRestoration, .willRestorePeripheral), (.losesEndsOfOperations, .operationCompleted),
      (.losesChannels, .channelOpened), (.losesWatchedLinks, .connectionEvent(_, isConnected: false)):
      return []
    case (.losesLostBonds, let body) where body.saysThatBondIsLost: return []
    case (.takesLossesForLostBonds, .disconnected(let peer, _, let time, isReconnecting: false)):
      return [
        event.with(.disconnected(peer, error: Self.lostBond, unixSeconds: time, isReconnecting: false))
      ]
    case (.refusesForLostBonds, .connected(let snapshot)):
      return [event.with(.failedToConnect(snapshot.identifier, Self.lostBond))]
    case (.keepsChannelsOfTheDead, .channelOpened(_, _, let descriptor, _)):
      kept.append(descriptor)
      return [event]
    case (.restoresLate, .willRestoreCentral):
      late[link] = event
      return []
    case (.restoresLate, .stateChanged):
      guard let restoration = late.removeValue(forKey: link) else { return [event] }
      return [event, restoration]
    case (.restoresTooLittle, .willRestoreCentral(var restoration)):
      guard !restoration.peripherals.isEmpty else { return [event] }
      restoration.peripherals.removeLast()
      return [event.with(.willRestoreCentral(restoration))]
    case (.restoresAsConnected, .willRestoreCentral(var restoration)):
      for index in restoration.peripherals.indices { restoration.peripherals[index].state = .connected }
      return [event.with(.willRestoreCentral(restoration))]
    default: return [event]
    }
  }

  private static let lostBond = PeerError.coreBluetooth(.peerRemovedPairingInformation, message: "a planted fault")

  private func isSent(_ message: ClientMessage) -> Bool {
    switch (fault, message) {
    case (.neverAnswers, .answer), (.pushesNothing, .valueChanged): false
    case (_, .call(_, _, let request)):
      switch (fault, request) {
      case (.neverRegistersServices, .registerApplication(_, let objects)):
        !objects.values.contains { $0[InterfaceName.gattService] != nil }
      case (.forgetsTheAcceptList, .registerApplication(_, let objects)):
        !objects.values.contains { $0[InterfaceName.gattProfile] != nil }
      case (.neverConnects, .connect), (.neverAdvertises, .registerAdvertisement), (.neverSubscribes, .startNotify),
        (.neverScans, .startDiscovery), (.neverDisconnects, .disconnect), (.neverListens, .listenForChannels):
        false
      default: true
      }
    default: true
    }
  }
}

extension AppLink.Event {
  fileprivate func with(_ body: Body) -> Self {
    var event = self
    event.body = body
    return event
  }
}
