import BlueZ

/// Registrations that were asked of a bluetoothd, or of an adapter, that went before it answered.
///
/// The bus delivers a call to `org.bluez` to the process that owns the name at that moment. So a call that was made
/// while bluetoothd stopped may reach the next bluetoothd, which then has an object that this system does not know of.
/// Its handles are taken, so that the same service is refused, or it goes on connecting a device that no app wants any
/// more. So the new bluetoothd is asked to forget such objects before anything is registered anew. If the call never
/// reached it, it refuses that, and nothing is lost.
struct StrayRegistrations: Sendable {
  private var ends: [BlueZ.Request] = []

  /// The reply to this call is no longer awaited.
  mutating func add(_ pending: PendingCall) {
    switch pending {
    case .registerProfile(let root), .registerService(_, let root), .registerMark(let root):
      ends.append(.unregisterApplication(root: root))
    case .registerAdvertisement(_, let path): ends.append(.unregisterAdvertisement(path: path))
    default: break
    }
  }

  /// What to ask of an adapter that has appeared.
  mutating func takeEnds() -> [BlueZ.Request] {
    defer { ends = [] }
    return ends
  }
}
