import AppLink
import SystemBus

/// The user's requests as method calls, and back.
enum ControlCoding {
  static let shapes = table.shapes

  /// In the order of introspection.
  private static let table = MessageTable<ControlRequest>([
    openApp, leaveApp, quitApp, reclaimApp, performAction, askApp, allowApp, setBluetooth, getStatus, watchStatus,
    attendPairings, answerPairing, pair, reclaimMemory, withdrawActions,
  ])

  private static let openApp = Message("OpenApp", ["bundle_identifier"], ControlRequest.openApp)
  private static let leaveApp = Message("LeaveApp", ["bundle_identifier"], ControlRequest.leaveApp)
  private static let quitApp = Message("QuitApp", ["bundle_identifier"], ControlRequest.quitApp)
  private static let reclaimApp = Message("ReclaimApp", ["bundle_identifier"], ControlRequest.reclaimApp)
  private static let performAction = Message(
    "PerformAction", ["bundle_identifier", "name"], ControlRequest.performAction)
  private static let askApp = Message(
    "AskApp", ["bundle_identifier", "name", "argument"], returns: [.init("answer", String.self)]
  ) { (app: String, name: String, argument: LongText) in
    ControlRequest.askApp(bundleIdentifier: app, name: name, argument: argument.text)
  }
  private static let allowApp = Message("AllowApp", ["bundle_identifier", "is_allowed"], ControlRequest.allowApp)
  private static let setBluetooth = Message("SetBluetooth", ["on"], ControlRequest.setBluetooth)
  private static let getStatus = Message("GetStatus", returns: [.init("status", SystemStatus.self)]) {
    ControlRequest.status
  }
  private static let watchStatus = Message("WatchStatus", returns: [.init("status", SystemStatus.self)]) {
    ControlRequest.watchStatus
  }
  private static let attendPairings = Message("AttendPairings", returns: [.init("status", SystemStatus.self)]) {
    ControlRequest.attendPairings
  }
  private static let answerPairing = Message("AnswerPairing", ["question", "is_accepted", "passkey"]) {
    (question: UInt64, isAccepted: Bool, passkey: UInt32) in
    ControlRequest.answerPairing(PairingAnswer(question: question, isAccepted: isAccepted, passkey: passkey))
  }
  private static let pair = Message("Pair", ["device"], ControlRequest.pair)
  private static let reclaimMemory = Message("ReclaimMemory") { ControlRequest.reclaimMemory }
  private static let withdrawActions = Message("WithdrawActions") { ControlRequest.withdrawActions }

  /// The signal to those that watch: the status has changed. Its number grows with each change. After it, a client is
  /// told nothing more until it has asked for the status.
  static let statusChanged = Message("StatusChanged", ["number"]) { (number: UInt64) in number }

  static func message(_ request: ControlRequest) -> WireMessage {
    switch request {
    case .openApp(let app): openApp(app)
    case .leaveApp(let app): leaveApp(app)
    case .quitApp(let app): quitApp(app)
    case .reclaimApp(let app): reclaimApp(app)
    case .reclaimMemory: reclaimMemory()
    case .performAction(let app, let name): performAction(app, name)
    case .askApp(let app, let name, let argument): askApp(app, name, LongText(argument))
    case .withdrawActions: withdrawActions()
    case .allowApp(let app, let isAllowed): allowApp(app, isAllowed)
    case .setBluetooth(let on): setBluetooth(on)
    case .status: getStatus()
    case .watchStatus: watchStatus()
    case .attendPairings: attendPairings()
    case .answerPairing(let answer): answerPairing(answer.question, answer.isAccepted, answer.passkey)
    case .pair(let device): pair(device)
    }
  }

  static func request(_ name: String, _ reader: ArgumentReader) throws(BusError) -> ControlRequest? {
    var reader = reader
    return try table.read(name, &reader)
  }
}
