import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// A remote central's read or write that an app has to answer.
struct OpenRemoteRequest: Sendable {
  let callback: CallbackIdentifier
  let manager: ManagerKey
  let central: PeerIdentifier
  let isRead: Bool
  let deadline: Instant
}

/// All requests that wait for an app's answer, by the numbers given to the apps. The first number is random, so that an answer to
/// a request of an earlier system answers none of this one.
struct OpenRemoteRequests: Sendable {
  private var last: UInt64
  private var open: [RemoteRequestIdentifier: OpenRemoteRequest] = [:]

  init(after last: UInt64) { self.last = last }

  var count: Int { open.count }
  var deadline: Instant? { open.values.lazy.map(\.deadline).min() }
  func count(of app: String) -> Int { open.values.count { $0.manager.app == app } }

  func hasOne(of central: PeerIdentifier) -> Bool { open.values.contains { $0.central == central } }

  mutating func add(_ request: OpenRemoteRequest) -> RemoteRequestIdentifier {
    last += 1
    let identifier = RemoteRequestIdentifier(last)
    open[identifier] = request
    return identifier
  }

  /// An app answers. Returns `nil` if the app or the system has already answered, or if the request is another app's.
  mutating func take(_ identifier: RemoteRequestIdentifier, of app: String) -> OpenRemoteRequest? {
    guard open[identifier]?.manager.app == app else { return nil }
    return open.removeValue(forKey: identifier)
  }

  /// Removes what matches, oldest first.
  mutating func take(where matches: (RemoteRequestIdentifier, OpenRemoteRequest) -> Bool)
    -> [(RemoteRequestIdentifier, OpenRemoteRequest)]
  {
    let taken = open.filter { matches($0.key, $0.value) }.sorted { $0.key.rawValue < $1.key.rawValue }
    for (identifier, _) in taken { open[identifier] = nil }
    return taken.map { ($0.key, $0.value) }
  }
}
