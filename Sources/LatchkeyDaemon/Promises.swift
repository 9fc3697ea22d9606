import AppLink
import BluetoothSystem

/// Which events ask for a promise that outlives everything: it counts from when it is on disk, and no earlier.
///
/// All others tell what has happened. That stays true where it can't be stored; the next life of the system would find
/// out anew.
extension BluetoothSystem.Event {
  var asksForPromise: Bool {
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
    // A manager without anything is nothing to keep. One that is resumed says again what was promised to it before.
    case .createManager, .resumeManager, .respond, .handled, .completeAction, .showAlert: false
    }
  }

  /// Whether it may overtake an earlier request that waits for the disk: it answers the system or tells the user, and asks
  /// for nothing.
  var isAnswer: Bool {
    switch self {
    case .respond, .handled, .completeAction, .showAlert: true
    default: false
    }
  }
}

extension CentralRequest {
  fileprivate var asksForPromise: Bool {
    switch self {
    case .connect, .cancelConnection, .scan, .stopScan, .perform(_, _, .setNotify): true
    case .perform: false
    }
  }
}

extension PeripheralRequest {
  fileprivate var asksForPromise: Bool {
    switch self {
    case .addService, .removeService, .removeAllServices, .startAdvertising, .stopAdvertising: true
    case .updateValue: false
    }
  }
}

extension ControlRequest {
  /// To open an app, to leave it and to kill it are deeds of the moment; a force-quit and Bluetooth's switch last.
  var asksForPromise: Bool {
    switch self {
    case .quitApp, .setBluetooth: true
    case .openApp, .leaveApp, .reclaimApp, .performAction, .status, .attendPairings, .answerPairing, .pair: false
    }
  }
}
