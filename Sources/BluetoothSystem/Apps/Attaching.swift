import AppLink
import BluetoothTypes
import TimeTypes

/// Apps' processes connecting to latchkeyd and disconnecting.
extension BluetoothSystem {
  mutating func attach(
    _ link: AppLinkIdentifier, _ process: ProcessIdentity, _ attachment: Attachment, _ token: AnswerToken
  ) {
    if let error = refusal(link, process, attachment) {
      emit(.attachReply(token, .failure(error)))
      return
    }
    let name = attachment.bundleIdentifier
    guard var app = apps[name] else { return }
    // The answer to our own launch may still be on its way. If there was no launch, the user started the process by
    // hand.
    let isStranger = app.attach(
      link, process, lastEvent: attachment.lastEvent, at: now, budget: app.wakeBudget(configuration))
    if isStranger { emit(.adopt(name, process)) }
    apps[name] = app
    persistApp(name)
    let (centrals, peripherals) = app.launchReason == .opened ? ([], []) : restorable(name)
    emit(
      .attachReply(
        token,
        .success(
          AttachReply(
            centralsToRestore: centrals, peripheralsToRestore: peripherals,
            backgroundModes: app.declaration.backgroundModes))))
  }

  /// More than a process can receive in its life, even at a million events a second.
  private static let sequenceLimit: UInt64 = 1 << 62

  private func refusal(_ link: AppLinkIdentifier, _ process: ProcessIdentity, _ attachment: Attachment) -> AppLinkError?
  {
    guard attachment.protocolVersion == Attachment.currentProtocolVersion else {
      return AppLinkError(
        .wrongVersion,
        "The app speaks version \(attachment.protocolVersion), the system \(Attachment.currentProtocolVersion); "
          + "install both from one release.")
    }
    let name = attachment.bundleIdentifier
    guard let app = apps[name] else {
      return refusalOfLeftOut(name)
        ?? AppLinkError(
          .unknownApp, "No Info.plist in the system's apps folder declares \"\(name)\"; put one there and restart it.")
    }
    guard attachment.lastEvent.map({ $0.rawValue <= Self.sequenceLimit }) ?? true else {
      return AppLinkError(
        .invalidArguments,
        "The last event that \"\(name)\" claims to have heard can't have been told; attach without it.")
    }
    if let running = app.process, running.processIdentifier != process.processIdentifier {
      return AppLinkError(
        .notThatApp,
        "\"\(name)\" already runs as process \(running.processIdentifier); quit that one before starting another.")
    }
    if let other = app.link, other != link {
      return AppLinkError(.alreadyAttached, "\"\(name)\" is attached already; a process attaches once.")
    }
    return nil
  }

  mutating func detach(_ link: AppLinkIdentifier) {
    guard let name = appName(of: link) else { return }
    apps[name]?.detach(at: now)
    forgetOperations(ofApp: name)
    failActions(ofApp: name, onlyTold: true, "The app lost its connection to latchkeyd before it was done.")
    failRemoteRequests(ofApp: name)
    for key in managers.keys where key.app == name { managers[key]?.rest() }
  }

  func appName(of link: AppLinkIdentifier) -> String? { apps.name(of: link) }
}
