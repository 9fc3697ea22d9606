import AppLink

/// Words for what latchkeyd says.
struct StatusWords: Sendable {
  let clock: LocalClock
  /// In seconds since 1970.
  let now: Double

  static func bluetooth(_ state: ManagerState) -> String {
    switch state {
    case .poweredOn: "on"
    case .poweredOff: "off"
    case .unsupported: "there is no adapter"
    case .unauthorized: "not allowed"
    case .resetting: "bluetoothd has gone, and is awaited"
    case .unknown: "bluetoothd is not there yet"
    }
  }

  static func state(_ state: AppState) -> String {
    switch state {
    case .notRunning: "not running"
    case .launching: "being started"
    case .foreground: "in front"
    case .background: "background"
    case .suspended: "suspended"
    }
  }

  /// What a person has to know or do, the most important first.
  static func attention(_ status: SystemStatus) -> [String] {
    var lines: [String] = []
    if let trouble = status.storeTrouble { lines.append("The state can't be stored. \(trouble)") }
    switch status.bluetooth {
    case .poweredOn: break
    case .poweredOff: lines.append("Bluetooth is off, so nothing connects. Switch it on: latchkey bluetooth on")
    case .unsupported: lines.append("There is no Bluetooth adapter, so nothing connects.")
    case .unauthorized: lines.append("Bluetooth is not allowed here, so nothing connects.")
    case .resetting, .unknown:
      lines.append("bluetoothd does not run, so nothing connects. Look at it: systemctl status bluetooth")
    }
    for question in status.pairings {
      lines.append("\(device(question.name, question.address)) wants to pair. Answer it: latchkey pairings")
    }
    for app in status.apps {
      if let alert = app.alert { lines.append("\(app.bundleIdentifier): \(alert)") }
    }
    for alert in status.alerts
    where !status.apps.contains(where: { $0.bundleIdentifier == alert.app && $0.alert == alert.text }) {
      lines.append("\(alert.app): \(alert.text) Look at it: latchkey open \(alert.app)")
    }
    return lines
  }

  private static func device(_ name: String?, _ address: String) -> String {
    guard let name, !name.isEmpty else { return address }
    return "\(name) (\(address))"
  }

  static func device(_ peer: PeerStatus) -> String { device(peer.name, peer.address ?? peer.identifier.uuidString) }

  func since(_ unixSeconds: Double?) -> String {
    unixSeconds.map { "since \(clock.minute($0, now: now))" } ?? "since before latchkeyd started"
  }

  static func signal(_ peer: PeerStatus) -> String? {
    peer.signalDBm.map { peer.isConnected ? "\($0) dBm" : "last heard at \($0) dBm" }
  }

  /// How something is, since when, and who says so.
  func state(_ state: ReportedState) -> String {
    let since = state.sinceUnixSeconds.map { ", since \(clock.minute($0, now: now))" } ?? ""
    return "\(state.text)\(since), says \(state.app)"
  }

  /// What an app asks of Bluetooth besides connections.
  static func activity(_ activity: AppActivity) -> [String] {
    var words: [String] = []
    if activity.isScanning { words.append("looks for devices") }
    if activity.isAdvertising { words.append("advertises") }
    if activity.publishedServices > 0 { words.append("publishes \(count(activity.publishedServices, "service"))") }
    if activity.subscribers > 0 { words.append(count(activity.subscribers, "subscriber")) }
    return words
  }

  static func count(_ number: some BinaryInteger, _ what: String) -> String {
    "\(number) \(what)\(number == 1 ? "" : "s")"
  }

  /// Why an app was woken.
  static func reason(_ because: WakeReason) -> String {
    switch because {
    case .adopted: "awake already when latchkeyd started"
    case .restore: "relaunched to be restored"
    case .event(let kind): "woken by \(Self.what(kind))"
    case .unknown(let name): "woken by \(name)"
    }
  }

  private static func what(_ kind: Event.Kind) -> String {
    switch kind {
    case .connected: "a connection"
    case .disconnected: "a disconnection"
    case .failedToConnect: "a connection that failed"
    case .discovered: "a discovery"
    case .valueUpdated: "a new value"
    case .operationCompleted: "an answer"
    case .nameChanged: "a changed name"
    case .servicesModified: "changed services"
    case .mtuChanged: "what its link carries"
    case .connectionEvent: "a link of others"
    case .subscribed: "a subscription"
    case .unsubscribed: "the end of a subscription"
    case .readRequested: "a read"
    case .writeRequested: "a write"
    case .requestExpired: "a request that it did not answer in time"
    case .stateChanged: "Bluetooth's state"
    case .managerRejected: "a manager that was refused"
    case .willRestoreState: "its restoration"
    case .serviceAdded: "a service that was published"
    case .advertisingStarted: "the start of its advertising"
    case .updateCredit: "room for more values"
    case .channelPublished: "a channel that was published"
    case .channelUnpublished: "a channel that was withdrawn"
    case .channelOpened: "a channel that was opened"
    case .actionRequested: "its user's request"
    }
  }

  /// Milliseconds matter: most wakes take less than a second.
  static func seconds(_ seconds: Double) -> String {
    let milliseconds = Int((min(max(seconds, 0), 1e9) * 1000).rounded())
    let fraction = String(milliseconds % 1000)
    return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction) s"
  }

  /// How a wake went. What an app that is still awake has done is not final.
  static func course(_ wake: WakeRecord) -> String {
    let did = "told \(count(wake.told, "event")), made \(count(wake.said, "request"))"
    return "awake for \(seconds(wake.seconds)), \(did), \(wake.outcome.map { "then \($0)" } ?? "still awake")"
  }
}
