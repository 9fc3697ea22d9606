import AppLink
import SystemBus

// What an app's end of the link makes of errors.

extension BusError {
  /// Whether the error means that nobody has answered. An owner of the system's name that has left has not refused the app, so the
  /// next owner is awaited.
  var saysThatNobodyAnswers: Bool {
    [
      BusError.Name.noReply, BusError.Name.serviceUnknown, BusError.Name.nameHasNoOwner, BusError.Name.disconnected,
    ].contains(name)
  }

  /// Whether the system has forgotten the app's attachment. The app attaches again and repeats what it holds.
  var saysThatAppWasCutOff: Bool { [.notAttached, .limitReached].contains(AppLinkError(self).code) }
}

extension AppLinkError {
  /// Whether the refusal of an app may pass: the system could not verify the app in time, or has no room now. If something is wrong
  /// with the app itself or its installation, only another system can accept it.
  var mayPass: Bool {
    switch code {
    case .wrongVersion, .unknownApp, .appLeftOut, .invalidArguments: false
    case .notThatApp, .notAttached, .alreadyAttached, .limitReached, .notFound, .unavailable: true
    }
  }
}

extension Request {
  /// Whether the request takes a manager to a system that has come back.
  var takesManagerBack: Bool {
    switch self {
    case .heldPeripherals, .resumeManager: true
    default: false
    }
  }
}
