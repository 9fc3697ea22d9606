import AppLink
import BlueZ
import BluetoothTypes

/// What the user is shown. It contains only what the system already knows: bluetoothd and the apps are asked nothing
/// for it, and nothing changes.
extension BluetoothSystem {
  package var status: SystemStatus {
    let apps = appNames.compactMap { self.apps[$0].map { status(of: $0) } }
    // By identifier, so that a device keeps its place.
    let links = bluez.devices.connectedDevices.sorted { $0.peer < $1.peer }
    let shownLinks = links.prefix(SystemStatus.Limit.links)
    let wakes = wakeRecords
    let (states, movements) = (reportedStates, reportedMovements)
    return SystemStatus(
      bluetooth: bluez.state, apps: Array(apps.prefix(SystemStatus.Limit.apps)),
      appsLeftOut: max(0, apps.count - SystemStatus.Limit.apps),
      links: shownLinks.map { status(of: $0.peer, isConnected: true, since: $0.connectedUnixSeconds) },
      linksLeftOut: links.count - shownLinks.count,
      pairings: Array(pairing.openQuestions.prefix(SystemStatus.Limit.pairings)),
      wakes: Array(wakes.suffix(SystemStatus.Limit.wakes)),
      wakesLeftOut: max(0, wakes.count - SystemStatus.Limit.wakes), alerts: alerts.shown,
      states: Array(states.prefix(SystemStatus.Limit.states)),
      statesLeftOut: max(0, states.count - SystemStatus.Limit.states),
      movements: Array(movements.suffix(SystemStatus.Limit.movements)),
      movementsLeftOut: max(0, movements.count - SystemStatus.Limit.movements))
  }

  private func status(of app: App) -> AppStatus {
    let name = app.declaration.bundleIdentifier
    let managers = managers.values.filter { $0.key.app == name }
    let wanted = managers.flatMap { manager in
      held.peers(of: manager.key).compactMap { peer in held[manager.key, peer].map { (key: peer, value: $0) } }
    }.filter(\.value.isWanted)
    let connected = wanted.filter(\.value.isConnected).sorted { $0.key < $1.key }
    let requested = wanted.filter { !$0.value.isConnected }.sorted { $0.key < $1.key }
    let shown = (connected + requested).prefix(SystemStatus.Limit.peersPerApp)
    return AppStatus(
      bundleIdentifier: name, state: app.state, processIdentifier: app.process?.processIdentifier,
      quitByUser: app.quitByUser, isAllowed: !app.isDenied, pendingConnections: requested.count,
      connections: connected.count,
      launches: app.launches, alert: app.alert,
      peers: shown.map { status(of: $0.key, isConnected: $0.value.isConnected, since: $0.value.sinceUnixSeconds) },
      peersLeftOut: wanted.count - shown.count, activity: activity(of: managers, app))
  }

  private func activity(of managers: [Manager], _ app: App) -> AppActivity {
    let isInForeground = app.state == .foreground
    return AppActivity(
      isScanning: managers.contains { manager in
        manager.scan?.goesOn(inForeground: isInForeground) == true && mayWork(manager.key)
      },
      isAdvertising: managers.contains { $0.advertisement != nil },
      publishedServices: managers.reduce(0) { $0 + $1.services.count },
      subscribers: managers.reduce(into: Set<PeerIdentifier>()) { peers, manager in
        for some in manager.subscribers.values { peers.formUnion(some) }
      }.count)
  }

  private func status(of peer: PeerIdentifier, isConnected: Bool, since: Double?) -> PeerStatus {
    let device = bluez.device(peer)
    return PeerStatus(
      identifier: peer,
      name: name(of: peer)?.onOneLine(byteLimit: SystemStatus.Limit.nameBytes),
      address: (device?.address ?? peers[peer]?.address ?? identifiers.address(of: peer))?.description,
      isConnected: isConnected, sinceUnixSeconds: since, signalDBm: device?.lastSignal.map { Int($0) })
  }
}

extension String {
  /// Text that is safe to print on one line of a terminal: with a limited length, and without control characters.
  func onOneLine(byteLimit: Int) -> String {
    var line = ""
    for scalar in unicodeScalars where !scalar.properties.isNoncharacterCodePoint {
      let isControl = scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
      let next = isControl ? " " : String(scalar)
      guard line.utf8.count + next.utf8.count <= byteLimit else { break }
      line += next
    }
    return line
  }
}
