import AppLink

extension Sample {
  static let controlRequests: [ControlRequest] = [
    .openApp(bundleIdentifier: "a"), .leaveApp(bundleIdentifier: "b"), .quitApp(bundleIdentifier: "c"),
    .reclaimApp(bundleIdentifier: "d"), .reclaimMemory, .performAction(bundleIdentifier: "e", name: "unlock"),
    .askApp(bundleIdentifier: "e", name: "door", argument: "{}"),
    .allowApp(bundleIdentifier: "f", isAllowed: false), .allowApp(bundleIdentifier: "g", isAllowed: true),
    .setBluetooth(on: true),
    .setBluetooth(on: false), .status, .watchStatus,
    .attendPairings, .answerPairing(PairingAnswer(question: 7, isAccepted: true, passkey: 123_456)),
    .pair(device: "Front door"), .withdrawActions,
  ]

  static let status = SystemStatus(
    version: "1.2.3", bluetooth: .poweredOn,
    apps: [
      AppStatus(
        bundleIdentifier: "a", state: .suspended, processIdentifier: 42, pendingConnections: 2, launches: 1,
        peers: [
          PeerStatus(
            identifier: peripheral.identifier, name: "Haustür", address: "C0:FF:EE:00:00:01", isConnected: true,
            sinceUnixSeconds: 1_767_225_600.5, signalDBm: -61),
          PeerStatus(identifier: barePeripheral.identifier, isConnected: false),
        ], peersLeftOut: 1,
        activity: AppActivity(isScanning: true, isAdvertising: false, publishedServices: 2, subscribers: 3)),
      AppStatus(bundleIdentifier: "b", state: .notRunning, quitByUser: true, isAllowed: false),
    ], appsLeftOut: 4,
    links: [PeerStatus(identifier: peripheral.identifier, address: "C0:FF:EE:00:00:01", isConnected: true)],
    linksLeftOut: 5,
    pairings: [
      PairingQuestion(identifier: 7, kind: .compare, address: "C0:FF:EE:00:00:01", name: "Door", passkey: 123_456),
      PairingQuestion(identifier: 8, kind: .enter, address: "C0:FF:EE:00:00:02"),
    ],
    wakes: [
      WakeRecord(
        app: "a", because: .event(.connected), unixSeconds: 1_767_225_600.5, seconds: 2.25, told: 3, said: 4,
        outcome: nil),
      WakeRecord(
        app: "b", because: .event(.valueUpdated), unixSeconds: 0, seconds: 0, told: 0, said: 0, outcome: "suspended"),
    ], wakesLeftOut: 6, storeTrouble: "The disk is full.",
    alerts: [UserAlert(identifier: 9, app: "a", title: "Thermo", text: "Kitchen is connected.", unixSeconds: 5.5)],
    states: [
      ReportedState(app: "a", subject: "Door", text: "locked", sinceUnixSeconds: 1_767_225_600.5),
      ReportedState(app: "b", subject: "Lamp", text: "on"),
    ], statesLeftOut: 7,
    movements: [ReportedMovement(app: "a", subject: "Door", text: "opened", unixSeconds: 1_767_225_600.25)],
    movementsLeftOut: 8)
}
