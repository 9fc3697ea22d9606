import BlueZ
import BusValue
import TimeTypes

/// What happens by itself when its time has come.
extension BlueZModel {
  private enum Due {
    case restart
    case crash
    case orphan(LinkID)
    case discoverable
    case pairable
    case discoveryRestart
    case temporary(ObjectPath)
    case connect(ObjectPath)
    case disconnect(ObjectPath)
    case transaction(LinkID)
    case pairing(LinkID)
    case callback(UInt64)
    case advertisement(UInt8)
    case discoverableAdvertisement(UInt8)
    case monitored(ObjectPath)
  }

  private typealias LinkID = Link.Identifier

  /// When something happens next by itself; `nil` for an idle machine, however many devices it waits for.
  public var nextDeadline: Instant? { earliest?.instant }

  mutating func expire() {
    // Every round takes at least one deadline away; the bound is for what nobody thought of.
    for _ in 0..<10_000 {
      guard let next = earliest, next.instant <= now else { return }
      perform(next.due)
    }
    assertionFailure("deadlines do not end")
  }

  private var earliest: (instant: Instant, due: Due)? {
    var best: (instant: Instant, due: Due)?
    func consider(_ instant: Instant?, _ due: @autoclosure () -> Due) {
      guard let instant else { return }
      if let known = best, known.instant <= instant { return }
      best = (instant, due())
    }
    consider(restartDeadline, .restart)
    for (link, orphan) in kernel.orphans.sorted(by: { $0.key < $1.key }) { consider(orphan.deadline, .orphan(link)) }
    guard isRunning else { return best }
    consider(crashDeadline, .crash)
    consider(adapter.discoverableDeadline, .discoverable)
    consider(adapter.pairableDeadline, .pairable)
    consider(discovery.restartDeadline, .discoveryRestart)
    for path in devices.keys.sorted() {
      guard let device = devices[path] else { continue }
      consider(temporaryDeadline(device), .temporary(path))
      consider(device.pendingConnect?.deadline, .connect(path))
      consider(device.disconnectDeadline, .disconnect(path))
    }
    for identifier in links.keys.sorted() {
      guard let link = links[identifier] else { continue }
      consider(link.client.deadline, .transaction(identifier))
      consider(link.pairingDeadline, .pairing(identifier))
    }
    for (set, instance) in advertising.instances.sorted(by: { $0.key < $1.key }) {
      consider(instance.deadline, .advertisement(set))
      consider(instance.discoverableDeadline, .discoverableAdvertisement(set))
    }
    for (path, deadline) in monitoring.deadlines { consider(deadline, .monitored(path)) }
    for (identifier, deadline) in callbacks.deadlines { consider(deadline, .callback(identifier)) }
    return best
  }

  private mutating func perform(_ due: Due) {
    switch due {
    case .restart: start()
    case .crash: stop(.crashed)
    case .orphan(let link): orphanTimedOut(link)
    case .discoverable:
      adapter.discoverableDeadline = nil
      adapter.isDiscoverable = false
      changed(adapterPath, \Adapter1.discoverable, \.connectable)
    case .pairable:
      adapter.pairableDeadline = nil
      kernel.isPairable = false
      changed(adapterPath, \Adapter1.pairable)
    case .discoveryRestart: restartDiscovery()
    case .temporary(let path): removeDevice(path)
    case .connect(let path): failConnect(path, .failed("le-connection-abort-by-local"))
    case .disconnect(let path): disconnectNow(path)
    case .transaction(let link): transactionTimedOut(link)
    case .pairing(let link): pairingTimedOut(link)
    case .callback(let identifier): callbackTimedOut(CallbackIdentifier(identifier))
    case .advertisement(let set): advertisementTimedOut(set)
    case .discoverableAdvertisement(let set): advertisementHidden(set)
    case .monitored(let path): monitoredTimedOut(path)
    }
  }
}
