import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// What must hold after every turn. Debug builds check it. A turn that breaks it is a bug in this machine, and is
/// found where it happens instead of days later, when something waits for a reply to a call that was never made.
extension BluetoothSystem {
  /// The first invariant that does not hold, in words, or `nil` if all hold.
  func brokenInvariant() -> String? {
    // Where much is held, all of it is looked at only now and then.
    guard bluez.devices.count < 64 || changes.turns.isMultiple(of: 256) else { return nil }
    return brokenAppInvariant() ?? brokenCallInvariant() ?? brokenMirrorInvariant() ?? brokenChangesInvariant()
  }

  /// Apps. `AppLife`'s shape already ensures that a link implies a process. Without a link, a manager's events could
  /// not be sent.
  private func brokenAppInvariant() -> String? {
    for key in managers.keys where managers[key]?.number != nil && apps[key.app]?.link == nil {
      return "\(key.text) has a number, and its app no link"
    }
    for (name, app) in apps where !apps.isOpen(name, at: now) {
      if app.launchReason(at: now) != nil || app.wakeReason(at: now) != nil
        || app.actions.deadline.map({ $0 <= now }) ?? false
      {
        return "\(name) has something to do, and was not looked at"
      }
    }
    return nil
  }

  /// Calls. Whatever waits for a reply would wait for ever if no call is under way.
  private func brokenCallInvariant() -> String? {
    var operating: Set<PeerIdentifier> = []
    var connecting: Set<PeerIdentifier> = []
    var reread: Set<ObjectPath> = []
    var registered: Set<ObjectPath> = []
    var starting: Set<ObjectPath> = []
    var asksAgent = false
    var asksDiscovery = false
    for pending in calls.all {
      switch pending {
      case .operation(let peer):
        if !operating.insert(peer).inserted { return "two operations on \(peer) are under way" }
      case .connect(let peer): connecting.insert(peer)
      case .reread(let path): reread.insert(path)
      case .registerProfile(let root), .registerService(_, let root), .registerMark(let root):
        registered.insert(root)
      case .registerAdvertisement(_, let path): registered.insert(path)
      case .startNotify(let path): starting.insert(path)
      case .registerAgent: asksAgent = true
      case .startDiscovery: asksDiscovery = true
      default: break
      }
    }
    for (peer, queue) in operations where queue.current != nil && !operating.contains(peer) {
      return "an operation on \(peer) is under way without a call"
    }
    for (peer, attempt) in attempts where attempt.isConnecting && !connecting.contains(peer) {
      return "\(peer) is being connected without a call"
    }
    for path in rereading.devices where !reread.contains(path) { return "\(path) is being read without a call" }
    for path in sessions.starting where !starting.contains(path) {
      return "a subscription to \(path) is starting without a call"
    }
    if pairing.agent.isAsked, !asksAgent { return "the agent is being registered without a call" }
    if discovery.registration.isAsked, !asksDiscovery { return "a discovery is starting without a call" }
    let mark = publishing.mark
    var asked: [(Registration, ObjectPath?)] = [(profile.registration, profile.root), (mark.registration, mark.root)]
    for (root, registration) in publishing.applications { asked.append((registration, root)) }
    for advertisement in publishing.advertisements.values {
      asked.append((advertisement.registration, advertisement.path))
    }
    for (registration, path) in asked where registration.isAsked && !(path.map(registered.contains) ?? false) {
      return "\(path?.text ?? "something") is being registered without a call"
    }
    for service in publishing.services.values where publishing.applications[service.root] == nil {
      return "a service is exported at \(service.root.text), which is not an application"
    }
    return nil
  }

  /// Changes. A peripheral that does not count as changed has nothing that is due: whoever looks at changed ones only has
  /// missed nothing.
  private func brokenChangesInvariant() -> String? {
    guard bluez.state == .poweredOn else { return nil }
    let unchanged = Set(held.peers).union(bluez.devicePaths.keys).subtracting(changes.peers)
    for peer in unchanged {
      if let difference = connections.difference(peer, from: judgement(of: peer)) {
        return "what is done for \(peer) is not what it needs: \(difference)"
      }
    }
    let lost = peripherals(among: unchanged) { $0.isWanted && $0.isConnected && !isUsable($1) }
    if let (_, peer) = lost.first { return "nobody was told that \(peer) has no link" }
    let found = peripherals(among: unchanged.subtracting(untoldConnections)) { peripheral, device in
      peripheral.isPending && peripheral.isDue(at: now) && isUsable(device)
    }
    if let (_, peer) = found.first { return "nobody was told that \(peer) has a link" }
    return nil
  }

  /// The mirror of bluetoothd's objects, whose parts refer to each other.
  private func brokenMirrorInvariant() -> String? {
    for (peer, path) in bluez.devicePaths where bluez.devices[path]?.peer != peer {
      return "\(peer) is said to be at \(path), which is another's"
    }
    if !bluez.isPresent, bluez.adapter != nil || !bluez.devices.isEmpty {
      return "objects of a bluetoothd that is gone"
    }
    return nil
  }
}
