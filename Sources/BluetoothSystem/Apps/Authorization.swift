import AppLink
import BluetoothTypes
import TimeTypes

/// Whether an app may use Bluetooth is the user's choice. It may until the user says no: there is no screen to ask on, and
/// whoever installed the app put its Info.plist into the system's folder.
///
/// A no ends everything that the app asked for, on the air and on disk. Its managers are told `unauthorized`. After a later
/// yes they are told the state of Bluetooth, and the app asks again, as after Bluetooth was off.
extension BluetoothSystem {
  private static let notAllowed = PeerError.coreBluetooth(
    .operationCancelled, message: "The user does not let this app use Bluetooth.")

  func isDenied(_ key: ManagerKey) -> Bool { apps[key.app]?.isDenied ?? false }

  /// The state of Bluetooth as this manager sees it.
  func state(for key: ManagerKey) -> ManagerState { isDenied(key) ? .unauthorized : bluez.state }

  mutating func allow(_ name: String, _ isAllowed: Bool) {
    guard apps[name]?.allow(isAllowed) == true else { return }
    persistApp(name)
    journal(.appAuthorization, [.app: name, .state: isAllowed ? "allowed" : "denied"])
    guard !isAllowed else { return }
    failRemoteRequests(ofApp: name)
    for key in managers.keys where key.app == name {
      if managers[key]?.number == nil { removeManager(key) } else { forgetRequests(of: key) }
    }
  }

  /// The manager's process goes on, and everything that the manager asked for ends.
  private mutating func forgetRequests(of key: ManagerKey) {
    for peer in held.peers(of: key).sorted() {
      failOperations(peer, of: key, Self.notAllowed)
      releaseConnection(key, peer)
      held[key, peer] = nil
      erase(PeripheralRecord.key(key, peer))
      releasePeer(peer)
    }
    for service in managers[key]?.services.keys.sorted() ?? [] { removeService(key, service) }
    removeChannels(of: key)
    managers[key]?.scan = nil
    managers[key]?.watched = nil
    managers[key]?.advertisement = nil
    managers[key]?.isAdvertisingUnannounced = false
    persistManager(key)
    apps[key.app]?.queue.removeAll { $0.manager == key && !$0.body.isAnswer }
  }

  /// Answers a request of an app that may not use Bluetooth. The library sends one only if it did not know that yet.
  mutating func refuse(_ request: CentralRequest, _ key: ManagerKey) {
    switch request {
    case .scan, .stopScan, .cancelConnection, .watchConnections: break
    case .connect(let peer, _): tell(key, .failedToConnect(peer, Self.notAllowed))
    case .perform(let peer, let identifier, _):
      tell(key, .operationCompleted(peer, identifier, .failed(Self.notAllowed)))
    }
  }

  mutating func refuse(_ request: PeripheralRequest, _ key: ManagerKey) {
    switch request {
    case .addService(let definition): tell(key, .serviceAdded(definition.identifier, error: Self.notAllowed))
    case .startAdvertising: tell(key, .advertisingStarted(error: Self.notAllowed))
    case .publishChannel: tell(key, .channelPublished(psm: 0, error: Self.notAllowed))
    case .removeService, .removeAllServices, .stopAdvertising, .updateValue, .unpublishChannel: break
    }
  }
}

extension AppLink.Event.Body {
  /// The answer to something that the app asked, which the app may wait for.
  fileprivate var isAnswer: Bool {
    switch self {
    case .operationCompleted, .serviceAdded, .advertisingStarted, .managerRejected, .channelPublished: true
    default: false
    }
  }
}
