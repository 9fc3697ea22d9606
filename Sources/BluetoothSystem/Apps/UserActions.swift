import AppLink
import FoundationEssentials
import TimeTypes

/// An action or a question that the user asked of an app, and that the app has not answered yet. The app knows it by
/// its name.
struct UserAction: Sendable {
  let identifier: ActionIdentifier
  let name: String
  /// A question's argument; an action has none.
  let argument: String?
  let token: AnswerToken
  /// When the app is told that nobody waits for it much longer.
  private let withdrawalDue: Instant
  /// When the user is told that the app did not answer.
  fileprivate(set) var deadline: Instant
  /// The app's present process has been told.
  fileprivate(set) var isTold = false
  /// The user has given it up, or has waited for almost as long as they wait.
  fileprivate(set) var isWithdrawn = false
  /// The app's present process has been told that, too.
  fileprivate(set) var isToldOfWithdrawal = false
  /// The number of the latest event by which that process was told.
  fileprivate(set) var event: UInt64?

  init(identifier: ActionIdentifier, name: String, argument: String?, token: AnswerToken, at now: Instant) {
    self.identifier = identifier
    self.name = name
    self.argument = argument
    self.token = token
    withdrawalDue = now + Self.patience - Self.withdrawalPatience
    deadline = now + Self.patience
  }

  /// When something is due.
  var due: Instant { isWithdrawn ? deadline : withdrawalDue }

  /// Whether the app's process has to be told something.
  var hasNews: Bool { !isTold || isWithdrawn && !isToldOfWithdrawal }

  /// What the user is told if the app does not answer.
  var silence: String {
    if !isTold { return "The app could not be started in time, and was not asked." }
    let patience = Self.patience.components.seconds
    return deadline < withdrawalDue + Self.withdrawalPatience
      ? "That was given up, and the app does not say what became of it."
      : "The app did not answer within \(patience) s."
  }

  /// The longest name, in bytes.
  static let nameByteLimit = 64
  /// The longest line that an app may show or answer with, in bytes.
  static let textByteLimit = 512
  /// The longest argument of a question, and the longest answer to one, in bytes.
  static let argumentByteLimit = 16 * 1024
  static let answerByteLimit = 64 * 1024
  /// How long the app has to answer, including its launch.
  static let patience: Duration = .seconds(45)
  /// How long the app has to say what became of an action that was withdrawn. It is told in time to do so before its user is told
  /// that it did not answer: what was reported as not done must not be done later.
  static let withdrawalPatience: Duration = .seconds(5)
}

/// The actions that the user asked of one app and that have no answer yet, oldest first.
struct UserActions: Sendable {
  private var waiting: [UserAction] = []

  /// The most actions per app at a time.
  static let limit = 4

  var isEmpty: Bool { waiting.isEmpty }
  var isFull: Bool { waiting.count >= Self.limit }
  var hasNews: Bool { waiting.contains { $0.hasNews } }
  var deadline: Instant? { waiting.map(\.due).min() }
  var lastDeadline: Instant? { waiting.map(\.deadline).max() }

  mutating func add(_ action: UserAction) { waiting.append(action) }

  /// Takes the actions that the app's process has not been told of; it is told now.
  mutating func takeUntold() -> [UserAction] {
    let untold = waiting.filter { !$0.isTold }
    for index in waiting.indices { waiting[index].isTold = true }
    return untold
  }

  /// Takes the withdrawn actions whose withdrawal the app's process has not been told of; it is told now.
  mutating func takeWithdrawn() -> [UserAction] {
    let withdrawn = waiting.filter { $0.isTold && $0.isWithdrawn && !$0.isToldOfWithdrawal }
    for index in waiting.indices where waiting[index].isTold && waiting[index].isWithdrawn {
      waiting[index].isToldOfWithdrawal = true
    }
    return withdrawn
  }

  /// The user gives it up.
  /// - Returns: the action if the app has not been told of it, and so is not any more.
  mutating func withdraw(_ token: AnswerToken, at now: Instant) -> UserAction? {
    guard let index = waiting.firstIndex(where: { $0.token == token }) else { return nil }
    guard waiting[index].isTold else { return waiting.remove(at: index) }
    guard !waiting[index].isWithdrawn else { return nil }
    waiting[index].isWithdrawn = true
    waiting[index].deadline = min(waiting[index].deadline, now + UserAction.withdrawalPatience)
    return nil
  }

  /// Withdraws the actions for which that is due, and takes those that are over: nobody waits for them any more, or the app was not
  /// told in time.
  mutating func takeExpired(at now: Instant) -> [UserAction] {
    for index in waiting.indices where waiting[index].isTold && !waiting[index].isWithdrawn && waiting[index].due <= now
    {
      waiting[index].isWithdrawn = true
      // If this comes late, because the machine was suspended, the app still has time to say something.
      waiting[index].deadline = max(waiting[index].deadline, now + UserAction.withdrawalPatience)
    }
    let expired = waiting.filter { $0.due <= now }
    waiting.removeAll { $0.due <= now }
    return expired
  }

  mutating func sent(_ identifier: ActionIdentifier, as event: UInt64?) {
    guard let index = waiting.firstIndex(where: { $0.identifier == identifier }) else { return }
    waiting[index].event = event
  }

  /// The app has answered.
  mutating func complete(_ identifier: ActionIdentifier) -> UserAction? {
    waiting.firstIndex { $0.identifier == identifier && $0.isTold }.map { waiting.remove(at: $0) }
  }

  /// - Parameter onlyTold: keep the actions that this process was not told of; they are for the next one.
  mutating func takeFailed(onlyTold: Bool) -> [UserAction] {
    let failed = waiting.filter { $0.isTold || !onlyTold }
    waiting.removeAll { $0.isTold || !onlyTold }
    return failed
  }
}

/// User actions asked of apps, and what apps tell the user. On iOS, a person's response to a notification starts or
/// wakes the app in the background, whatever its modes, and even after a force-quit
/// (`UNUserNotificationCenterDelegate.userNotificationCenter(_:didReceive:withCompletionHandler:)`). The same holds
/// here.
extension BluetoothSystem {
  /// - Parameter argument: what a question is about; `nil` for an action.
  mutating func performAction(_ action: String, argument: String? = nil, app name: String, _ token: AnswerToken) {
    guard var app = apps[name] else { return }
    guard argument?.utf8.count ?? 0 <= UserAction.argumentByteLimit else {
      refuse(token, .invalidArguments, "An argument has at most \(UserAction.argumentByteLimit) bytes.")
      return
    }
    guard !action.isEmpty, action.utf8.count <= UserAction.nameByteLimit else {
      refuse(token, .invalidArguments, "An action's name has 1 to \(UserAction.nameByteLimit) bytes.")
      return
    }
    guard !app.actions.isFull else {
      refuse(token, .limitReached, "The app has \(UserActions.limit) actions to do already; wait for them.")
      return
    }
    lastAction += 1
    app.actions.add(
      UserAction(identifier: ActionIdentifier(lastAction), name: action, argument: argument, token: token, at: now))
    app.wasAsked(at: now)
    apps[name] = app
    persistApp(name)
    journal(.actionRequested, [.app: name, .action: action])
  }

  /// Tells an app that is awake about actions it has not been told of.
  mutating func tellActions(_ name: String) {
    guard let app = apps[name], app.isReceiving, let link = app.link else { return }
    for action in apps[name]?.actions.takeUntold() ?? [] {
      let event: AppLink.Event.Body =
        action.argument.map { .questionAsked(action.identifier, name: action.name, argument: $0) }
        ?? .actionRequested(action.identifier, name: action.name)
      send(event, to: nil, of: name, link)
      let number = apps[name]?.life.process?.lastSequence
      apps[name]?.actions.sent(action.identifier, as: number)
    }
    for action in apps[name]?.actions.takeWithdrawn() ?? [] {
      send(.actionWithdrawn(action.identifier), to: nil, of: name, link)
      let number = apps[name]?.life.process?.lastSequence
      apps[name]?.actions.sent(action.identifier, as: number)
    }
  }

  /// Who asked gives it up, or is gone.
  mutating func withdrawAction(_ token: AnswerToken) {
    for name in appNames where apps[name]?.actions.isEmpty == false {
      guard let untold = apps[name]?.actions.withdraw(token, at: now) else { continue }
      refuse(untold.token, .unavailable, "That was given up before the app was asked.")
    }
  }

  /// The app has answered. It gets a new wake budget, because it may have something left to do for the action.
  private mutating func takeCompleted(_ identifier: ActionIdentifier, app name: String) -> UserAction? {
    guard let action = apps[name]?.actions.complete(identifier) else { return nil }
    apps[name]?.beginBudget(at: now, configuration)
    return action
  }

  mutating func completeAction(_ identifier: ActionIdentifier, _ error: String?, app name: String) {
    guard let action = takeCompleted(identifier, app: name) else { return }
    journal(.actionCompleted, [.app: name, .action: action.name, .succeeded: String(error == nil)])
    if let error {
      refuse(action.token, .unavailable, Self.bounded(error))
    } else if action.argument != nil {
      // An app that knows only actions has done what its name says, and has nothing to tell.
      emit(.controlText(action.token, ""))
    } else {
      emit(.controlReply(action.token, .success(status)))
    }
  }

  mutating func answerQuestion(_ identifier: ActionIdentifier, _ text: String, app name: String) {
    guard text.utf8.count <= UserAction.answerByteLimit else {
      return completeAction(
        identifier, "The app's answer is longer than \(UserAction.answerByteLimit) bytes.", app: name)
    }
    guard let action = takeCompleted(identifier, app: name) else { return }
    journal(.actionCompleted, [.app: name, .action: action.name, .succeeded: "true"])
    if action.argument == nil {
      emit(.controlReply(action.token, .success(status)))
    } else {
      emit(.controlText(action.token, text))
    }
  }

  mutating func expireActions(_ name: String) {
    let expired = apps[name]?.actions.takeExpired(at: now) ?? []
    for action in expired {
      journal(.actionExpired, [.app: name, .action: action.name])
      refuse(action.token, .unavailable, action.silence)
    }
    // What a hung process was told can't be taken back: it would do it whenever it goes on, long after its user was
    // told that it was not done.
    guard let process = apps[name]?.life.process, apps[name]?.isEnding == false,
      expired.contains(where: { $0.event.map { $0 > process.handledSequence } ?? false })
    else { return }
    journal(.appUnresponsive, [.app: name])
    end(name, because: "did not take its user's request")
  }

  /// - Parameter onlyTold: keep the actions that this process was not told of; they are for the next one.
  mutating func failActions(ofApp name: String, onlyTold: Bool, _ reason: String) {
    for action in apps[name]?.actions.takeFailed(onlyTold: onlyTold) ?? [] {
      refuse(action.token, .unavailable, reason)
    }
  }

  mutating func showAlert(_ text: String?, app name: String) {
    let text = text.map(Self.bounded)
    guard apps[name]?.alert != text else { return }
    apps[name]?.alert = text
    guard let text else { return alerts.remove(app: name, .app) }
    _ = show(text, .app, app: name)
    journal(.userAlert, [.app: name, .text: text])
  }

  private mutating func refuse(_ token: AnswerToken, _ code: AppLinkError.Code, _ message: String) {
    emit(.controlReply(token, .failure(AppLinkError(code, message))))
  }

  private static func bounded(_ text: String) -> String { text.onOneLine(byteLimit: UserAction.textByteLimit) }
}
