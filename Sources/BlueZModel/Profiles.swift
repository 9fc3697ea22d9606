import BlueZ
import BluetoothTypes
import BusValue

/// ProfileManager1: clients' profiles of classic Bluetooth (src/profile.c in BlueZ). No device ever uses one.
struct Profiles: Sendable {
  private struct Profile {
    /// Its UUID as bluetoothd keeps it: a whole UUID as the client has written it, or what another name stands for.
    var text: String
    /// The service that adapters announce. `nil` for a profile that only connects to others.
    var announced: BluetoothUUID?
  }

  private var profiles: [ClientIdentifier: [ObjectPath: Profile]] = [:]

  /// bluetoothd has no such limit.
  private static let limit = 512

  /// bluetoothd's own profiles of classic Bluetooth that have a UUID on this side: two of its network plugin, and
  /// input (profiles/network/manager.c, profiles/input/manager.c).
  private static let own = Set([0x1116, 0x1115, 0x1124].map { BluetoothUUID($0 as UInt16).description })

  var uuids: Set<BluetoothUUID> { Set(profiles.values.flatMap { $0.values.compactMap(\.announced) }) }

  /// Whether a profile has this UUID. bluetoothd compares texts, so another spelling is another UUID (src/profile.c,
  /// btd_profile_find_uuid).
  private func isTaken(_ text: String) -> Bool {
    Self.own.contains(text) || profiles.values.contains { $0.values.contains { $0.text == text } }
  }

  /// The answer to a method of ProfileManager1, or `nil` for any other method.
  mutating func answer(_ request: Request, from client: ClientIdentifier) -> Result<Reply, BlueZError>? {
    switch request {
    case .registerProfile(let path, let name, let isServer):
      guard profiles[client]?[path] == nil else { return .failure(.alreadyExists) }
      guard !isTaken(name) else { return .failure(.notPermitted("UUID already registered")) }
      guard let uuid = ProfileName.uuid(name) else {
        return .failure(.invalidArguments("Invalid arguments in method call"))
      }
      guard profiles[client]?.count ?? 0 < Self.limit else { return .failure(.failed("too many profiles")) }
      profiles[client, default: [:]][path] = Profile(
        text: name.utf8.count == 36 ? name : uuid.description, announced: isServer ? uuid : nil)
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
