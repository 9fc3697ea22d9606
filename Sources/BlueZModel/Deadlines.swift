import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// What happens by itself when its time has come.
enum Due: Sendable {
  case restart
  case orphan(Link.Identifier)
  case discoverable
  case pairable
  case discoveryRestart
  case temporary(ObjectPath)
  case connect(ObjectPath)
  case addressConnection(DeviceAddress)
  case disconnect(ObjectPath)
  case transaction(Link.Identifier)
  case pairing(Link.Identifier)
  case writeCommands(Link.Identifier)
  case channel(CreditChannels.Key)
  case callback(UInt64)
  case advertisement(UInt8)
  case discoverableAdvertisement(UInt8)
  case advertisingRotation(UInt8)
  case monitored(ObjectPath)
}

/// The earliest of the deadlines given. Of several at the same time, it is the one given first.
struct Deadlines: Sendable {
  private(set) var earliest: (instant: Instant, due: Due)?

  mutating func add(_ instant: Instant?, _ due: @autoclosure () -> Due) {
    guard let instant else { return }
    if let known = earliest, known.instant <= instant { return }
    earliest = (instant, due())
  }
}

extension BlueZModel {
  /// Once something has changed.
  mutating func findDeadline() { nextDeadline = deadlines.earliest?.instant }

  mutating func expire() {
    guard let nextDeadline, nextDeadline <= now else { return }
    // Every round removes at least one deadline. The limit guards against bugs.
    for _ in 0..<10_000 {
      guard let next = deadlines.earliest, next.instant <= now else { return }
      perform(next.due)
    }
    assertionFailure("deadlines do not end")
  }

  /// Each part adds its own deadlines.
  private var deadlines: Deadlines {
    var deadlines = Deadlines()
    deadlines.add(restartDeadline, .restart)
    kernel.add(to: &deadlines)
    guard isRunning else { return deadlines }
    adapter.add(to: &deadlines)
    discovery.add(to: &deadlines)
    addDevices(to: &deadlines)
    addressConnections.add(to: &deadlines)
    for identifier in links.keys.sorted() { links[identifier]?.add(to: &deadlines) }
    creditChannels.add(to: &deadlines)
    advertising.add(to: &deadlines)
    monitors.add(to: &deadlines)
    callbacks.add(to: &deadlines)
    return deadlines
  }

  /// The devices in the order of their paths. Only those with the same deadline have to be compared by them.
  private func addDevices(to deadlines: inout Deadlines) {
    var earliest: (path: ObjectPath, instant: Instant, due: Due)?
    for (path, device) in devices {
      var own = Deadlines()
      device.add(to: &own, configuration.timings)
      guard let next = own.earliest else { continue }
      if let known = earliest, (known.instant, known.path) < (next.instant, path) { continue }
      earliest = (path, next.instant, next.due)
    }
    if let earliest { deadlines.add(earliest.instant, earliest.due) }
  }

  private mutating func perform(_ due: Due) {
    switch due {
    case .restart: start()
    case .orphan(let link): orphanTimedOut(link)
    case .discoverable: discoverableTimedOut()
    case .pairable:
      adapter.pairableDeadline = nil
      setPairable(false)
    case .discoveryRestart: restartDiscovery()
    case .temporary(let path): removeDevice(path)
    case .connect(let path): connectTimedOut(path)
    case .addressConnection(let address): failAddressConnection(address)
    case .disconnect(let path): disconnectNow(path)
    case .transaction(let link): endLinkLocally(link, .remoteUserTerminated)
    case .pairing(let link): pairingTimedOut(link)
    case .writeCommands(let link): writeCommandsDue(link)
    case .channel(let key): channelTimedOut(key)
    case .callback(let identifier): callbackTimedOut(CallbackIdentifier(identifier))
    case .advertisement(let set): advertisementTimedOut(set)
    case .discoverableAdvertisement(let set): advertisementHidden(set)
    case .advertisingRotation(let set): advertise(set)
    case .monitored(let path): tell(monitors.timedOut(path, at: now))
    }
  }
}
