import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// A read or a write of a remote central that an app has to answer.
struct OpenRemoteRequest: Sendable {
  let callback: CallbackIdentifier
  let manager: ManagerKey
  let central: PeerIdentifier
  let isRead: Bool
  let deadline: Instant
}

/// All that wait for an app's answer, by the numbers that apps know them by.
struct OpenRemoteRequests: Sendable {
  private var last: UInt64 = 0
  private var open: [RemoteRequestIdentifier: OpenRemoteRequest] = [:]

  var count: Int { open.count }
  var deadline: Instant? { open.values.lazy.map(\.deadline).min() }
  func count(of app: String) -> Int { open.values.count { $0.manager.app == app } }
  func hasAny(of app: String) -> Bool { open.values.contains { $0.manager.app == app } }

  mutating func add(_ request: OpenRemoteRequest) -> RemoteRequestIdentifier {
    last += 1
    let identifier = RemoteRequestIdentifier(last)
    open[identifier] = request
    return identifier
  }

  /// An app answers: `nil` where it has answered already, the system has for it, or the request is another app's.
  mutating func take(_ identifier: RemoteRequestIdentifier, of app: String) -> OpenRemoteRequest? {
    guard open[identifier]?.manager.app == app else { return nil }
    return open.removeValue(forKey: identifier)
  }

  /// Takes out what matches, the oldest first.
  mutating func take(where matches: (RemoteRequestIdentifier, OpenRemoteRequest) -> Bool)
    -> [(RemoteRequestIdentifier, OpenRemoteRequest)]
  {
    let taken = open.filter { matches($0.key, $0.value) }.sorted { $0.key.rawValue < $1.key.rawValue }
    for (identifier, _) in taken { open[identifier] = nil }
    return taken.map { ($0.key, $0.value) }
  }
}
