import AppLink
import BluetoothSystem

/// Which events ask for a lasting promise. Such a promise counts from the moment it is on disk.
///
/// All other events report what has happened. That stays true even if it can't be stored, and the next run of the
/// system would find it out again.
extension BluetoothSystem.Event {
  package var asksForPromise: Bool {
    switch self {
    case .request(_, let request): request.asksForPromise
    case .control(let request, _): request.asksForPromise
    default: false
    }
  }
}

extension AppLink.Request {
  var asksForPromise: Bool {
    switch self {
    case .central(_, let request): request.asksForPromise
    case .peripheral(_, let request): request.asksForPromise
    case .destroyManager: true
    // An empty manager is not worth storing. A resumed manager repeats what was promised to it before.
    case .createManager, .resumeManager, .heldPeripherals, .respond, .handled, .completeAction, .answerQuestion,
      .showAlert, .report, .admit:
      false
    }
  }

  /// Whether the request may overtake an earlier one that waits for the disk. It answers the system or informs the
  /// user, and asks for nothing.
  var isAnswer: Bool {
    switch self {
    case .respond, .handled, .completeAction, .answerQuestion, .showAlert, .report, .admit: true
    default: false
    }
  }
}

extension CentralRequest {
  fileprivate var asksForPromise: Bool {
    switch self {
    case .connect, .cancelConnection, .scan, .stopScan, .perform(_, _, .setNotify): true
    case .perform, .watchConnections: false
    }
  }
}

extension PeripheralRequest {
  fileprivate var asksForPromise: Bool {
    switch self {
    case .addService, .removeService, .removeAllServices, .startAdvertising, .stopAdvertising: true
    case .updateValue, .publishChannel, .unpublishChannel: false
    }
  }
}

extension ControlRequest {
  /// Opening an app, leaving it and killing it have no lasting effect. A force-quit, an app's permission and the Bluetooth
  /// switch do.
  var asksForPromise: Bool {
    switch self {
    case .quitApp, .allowApp, .setBluetooth: true
    case .openApp, .leaveApp, .reclaimApp, .reclaimMemory, .performAction, .askApp, .withdrawActions: false
    case .status, .watchStatus, .attendPairings, .answerPairing, .pair: false
    }
  }
}
