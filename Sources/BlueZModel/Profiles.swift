import BlueZ
import BluetoothTypes
import BusValue

/// ProfileManager1: clients' profiles of classic Bluetooth (src/profile.c in BlueZ). No device ever uses one.
struct Profiles: Sendable {
  /// The services that an adapter announces, by client and path. `nil` for a profile that only connects to others.
  private var profiles: [ClientIdentifier: [ObjectPath: BluetoothUUID?]] = [:]

  /// bluetoothd has no such limit.
  private static let limit = 512

  var uuids: Set<BluetoothUUID> { Set(profiles.values.flatMap { $0.values.compactMap { $0 } }) }

  /// The answer to a method of ProfileManager1, or `nil` for any other method.
  mutating func answer(_ request: Request, from client: ClientIdentifier) -> Result<Reply, BlueZError>? {
    switch request {
    case .registerProfile(let path, let uuid, let isServer):
      guard profiles[client]?[path] == nil else { return .failure(.alreadyExists) }
      guard let uuid else { return .failure(.invalidArguments("Invalid arguments in method call")) }
      guard profiles[client]?.count ?? 0 < Self.limit else { return .failure(.failed("too many profiles")) }
      profiles[client, default: [:]].updateValue(isServer ? uuid : nil, forKey: path)
    case .unregisterProfile(let path):
      guard profiles[client]?.removeValue(forKey: path) != nil else { return .failure(.doesNotExist) }
    default: return nil
    }
    return .success(.none)
  }

  mutating func forget(_ client: ClientIdentifier) { profiles[client] = nil }

  /// What clients are told when bluetoothd ends.
  var releases: [Notice] {
    profiles.sorted { $0.key < $1.key }.flatMap { client, paths in
      paths.keys.sorted().map {
        Notice(client: client, path: $0, callback: .release(interface: InterfaceName.profile))
      }
    }
  }
}

extension BlueZModel {
  /// The answer to a method of ProfileManager1, or `nil` for any other method.
  mutating func answerProfile(_ request: Request, from client: ClientIdentifier) -> Result<Reply, BlueZError>? {
    let before = profiles.uuids
    let answer = profiles.answer(request, from: client)
    tellProfiles(since: before)
    return answer
  }

  mutating func forgetProfiles(of client: ClientIdentifier) {
    let before = profiles.uuids
    profiles.forget(client)
    tellProfiles(since: before)
  }

  private mutating func tellProfiles(since before: Set<BluetoothUUID>) {
    if profiles.uuids != before, kernel.isPlugged { changed(adapterPath, \Adapter1.uuids) }
  }
}
