import AppLink
import FoundationEssentials
import TimeTypes

/// Something that the user asked an app to do, by a name that the app knows, and that has no answer yet.
struct UserAction: Sendable {
  var identifier: ActionIdentifier
  var name: String
  var token: AnswerToken
  /// When the user is told that no answer came.
  var deadline: Instant
  /// This process of the app has been told.
  var isTold = false

  /// What the journal and the wake ledger call it.
  static let kind = "action"
  /// Of one app at a time.
  static let limit = 4
  /// The longest name, in bytes.
  static let nameByteLimit = 64
  /// The longest line that an app shows or answers with, in bytes.
  static let textByteLimit = 512
  /// How long the app has, its launch included.
  static let patience: Duration = .seconds(45)
}

/// What the user asks of apps, and what apps say to the user. As on iOS, where a person acts on a notification, the app is
/// started or woken in the background for it, whatever its modes, and also after it was force-quit
/// (`UNUserNotificationCenterDelegate.userNotificationCenter(_:didReceive:withCompletionHandler:)`).
extension BluetoothSystem {
  mutating func performAction(_ action: String, app name: String, _ token: AnswerToken) {
    guard var app = apps[name] else { return }
    guard !action.isEmpty, action.utf8.count <= UserAction.nameByteLimit else {
      refuse(token, .invalidArguments, "An action's name has 1 to \(UserAction.nameByteLimit) bytes.")
      return
    }
    guard app.actions.count < UserAction.limit else {
      refuse(token, .limitReached, "The app has \(UserAction.limit) actions to do already; wait for them.")
      return
    }
    lastAction += 1
    app.actions.append(
      UserAction(
        identifier: ActionIdentifier(lastAction), name: action, token: token, deadline: now + UserAction.patience))
    app.quitByUser = false
    app.notBefore = now
    apps[name] = app
    persistApp(name)
    journal("action.requested", ["app": name, "action": action])
  }

  /// Tells an app that is awake what it has not been told.
  mutating func tellActions(_ name: String) {
    guard let app = apps[name], app.isReceiving, let link = app.link else { return }
    for (index, action) in app.actions.enumerated() where !action.isTold {
      apps[name]?.actions[index].isTold = true
      send(.actionRequested(action.identifier, name: action.name), to: nil, of: name, link)
    }
  }

  mutating func completeAction(_ identifier: ActionIdentifier, _ error: String?, app name: String) {
    guard let index = apps[name]?.actions.firstIndex(where: { $0.identifier == identifier && $0.isTold }),
      let action = apps[name]?.actions.remove(at: index)
    else { return }
    journal("action.completed", ["app": name, "action": action.name, "succeeded": String(error == nil)])
    if let error {
      refuse(action.token, .unavailable, Self.bounded(error))
    } else {
      emit(.controlReply(action.token, .success(status)))
    }
  }

  mutating func expireActions(_ name: String) {
    while let oldest = apps[name]?.actions.first, oldest.deadline <= now {
      apps[name]?.actions.removeFirst()
      journal("action.expired", ["app": name, "action": oldest.name])
      refuse(oldest.token, .unavailable, "The app did not answer within \(UserAction.patience.components.seconds) s.")
    }
  }

  /// - Parameter onlyTold: what this process had not been told yet is kept for the next one.
  mutating func failActions(ofApp name: String, onlyTold: Bool, _ reason: String) {
    guard let app = apps[name], !app.actions.isEmpty else { return }
    let failed = app.actions.filter { $0.isTold || !onlyTold }
    apps[name]?.actions.removeAll { $0.isTold || !onlyTold }
    for action in failed { refuse(action.token, .unavailable, reason) }
  }

  mutating func showAlert(_ text: String?, app name: String) {
    let text = text.map(Self.bounded)
    guard apps[name]?.alert != text else { return }
    apps[name]?.alert = text
    if let text { journal("user.alert", ["app": name, "text": text]) }
  }

  private mutating func refuse(_ token: AnswerToken, _ code: AppLinkError.Code, _ message: String) {
    emit(.controlReply(token, .failure(AppLinkError(code, message))))
  }

  /// A line for a person's terminal: no longer than one, and without what would steer it.
  private static func bounded(_ text: String) -> String {
    var line = ""
    for scalar in text.unicodeScalars where !scalar.properties.isNoncharacterCodePoint {
      let isControl = scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
      let next = isControl ? " " : String(scalar)
      guard line.utf8.count + next.utf8.count <= UserAction.textByteLimit else { break }
      line += next
    }
    return line
  }
}
