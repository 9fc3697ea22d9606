import AppLink
import BluetoothTypes

/// The peripheral role of an app.
extension ModelApp {
  mutating func peripheral(_ body: AppLink.Event.Body, _ number: Int) -> [Request] {
    switch body {
    case .willRestorePeripheral(let restoration):
      if managers[number]?.hasBeenTold == true { complain("willRestoreState is not the first") }
      managers[number]?.view.services = restoration.services
      managers[number]?.view.advertisement = restoration.advertisement
      managers[number]?.view.subscriptions = restoration.subscriptions.mapValues { $0.map(\.identifier) }
    case .stateChanged(let state):
      if managers[number]?.view.state == state { complain("told twice that the state is \(state)") }
      managers[number]?.view.state = state
      return (state == .poweredOn ? [] : endListening(number)) + publish(number)
    case .serviceAdded(_, let error): if let error { complain("a service was not added: \(error)") }
    case .advertisingStarted(let error): if let error { complain("no advertising: \(error)") }
    case .subscribed(let central, let characteristic):
      if managers[number]?.view.subscriptions[characteristic]?.contains(central.identifier) == true {
        complain("subscribed twice")
      }
      managers[number]?.view.subscriptions[characteristic, default: []].append(central.identifier)
    case .unsubscribed(let central, let characteristic):
      // Of a service that was removed in the meantime. The library says nothing about it.
      guard managers[number]?.view.services.isEmpty == false else { break }
      if managers[number]?.view.subscriptions[characteristic]?.contains(central.identifier) != true {
        complain("unsubscribed, but was not subscribed")
      }
      managers[number]?.view.subscriptions[characteristic]?.removeAll { $0 == central.identifier }
    case .readRequested(let request, _, _, _):
      return [.respond(request, result: nil, value: disk.newestValue.bytes)]
    case .writeRequested(let request, _, _, _, _, let withResponse):
      disk.writesTaken += 1
      return withResponse ? [.respond(request, result: nil, value: nil)] : []
    case .updateCredit(let count): managers[number]?.credit += count
    case .channelPublished(let psm, let error): channelPublished(psm, error, number)
    case .channelUnpublished(let psm, let error): channelUnpublished(psm, error, number)
    case .channelOpened(let central, let psm, let descriptor, _):
      guard managers[number]?.channel?.psm == psm, let target = actor.target else { break }
      disk.channelsTaken += 1
      keepChannel(descriptor, target, central.identifier, number)
    case .mtuChanged: break
    // The central may be gone before this app could answer. `Street` hears of those that had too little time.
    case .requestExpired: break
    default: complain("a peripheral manager is told of \(body.kind)")
    }
    return []
  }

  /// Publishes and advertises what the app wants to, unless it does so already.
  mutating func publish(_ number: Int) -> [Request] {
    guard let target = actor.target, disk.isPublishing, link != nil, !isSuspended,
      managers[number]?.view.state == .poweredOn
    else { return [] }
    let identifier = ManagerIdentifier(UInt32(number))
    var requests: [Request] = []
    if managers[number]?.view.services.isEmpty == true {
      managers[number]?.view.services = [target.definition]
      requests.append(.peripheral(identifier, .addService(target.definition)))
    }
    if managers[number]?.view.advertisement == nil {
      managers[number]?.view.advertisement = target.advertisement
      requests.append(.peripheral(identifier, .startAdvertising(target.advertisement)))
    }
    return requests
  }

  mutating func setPublishing(_ isOn: Bool) -> [Request] {
    guard let number = publisher, link != nil, !isSuspended, managers[number]?.view.state == .poweredOn else {
      return []
    }
    disk.isPublishing = isOn
    guard !isOn else { return publish(number) }
    guard managers[number]?.view.services.isEmpty == false else { return [] }
    managers[number]?.view.services = []
    managers[number]?.view.advertisement = nil
    managers[number]?.view.subscriptions = [:]
    let identifier = ManagerIdentifier(UInt32(number))
    return [.peripheral(identifier, .stopAdvertising), .peripheral(identifier, .removeAllServices)]
  }

  /// The number of the manager that publishes.
  var publisher: Int? { actor.managers.firstIndex { $0.role == .peripheral }.map { $0 + 1 } }

  /// Pushes new values as long as there is credit.
  mutating func flood() -> [Request] {
    var requests: [Request] = []
    while let request = push() { requests += request }
    return requests
  }

  /// Pushes a new value to all subscribers, if there are any. Returns `nil` if it can't be pushed now.
  mutating func push() -> [Request]? {
    guard let number = publisher, let target = actor.target, link != nil, !isSuspended,
      let manager = managers[number], manager.view.state == .poweredOn, manager.credit > 0,
      manager.view.subscriptions[target.offer]?.isEmpty == false
    else { return nil }
    disk.newestValue += 1
    managers[number]?.credit -= 1
    return [
      .peripheral(
        ManagerIdentifier(UInt32(number)), .updateValue(target.offer, value: disk.newestValue.bytes, centrals: nil))
    ]
  }
}
