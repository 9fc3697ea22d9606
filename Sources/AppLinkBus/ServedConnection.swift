import DequeModule
import SystemBus

/// What the system's end knows of a connection that claims to be an app.
struct ServedConnection {
  var watch: Bus.NameWatch
  /// The system has been told of it.
  var isKnown = false
  /// The system has accepted it.
  var isAttached = false
  /// The user it belongs to, or `nil` until the bus has said.
  var user: UInt32?
  /// Calls that came behind the attachment. They are delivered when the system has accepted the app.
  var early: [IncomingCall] = []
  var earlyBytes = 0

  /// Keeps a call, or returns false if there is no room.
  mutating func keep(_ call: IncomingCall) -> Bool {
    let size = call.byteCount
    guard early.count < Flow.earlyLimit, earlyBytes + size <= Flow.earlyByteLimit else { return false }
    early.append(call)
    earlyBytes += size
    return true
  }
}

/// What a connection has sent and the system has not handled yet.
struct UndoneCalls {
  /// Oldest first. Each call gets its reply when it has been handled.
  var calls: Deque<(call: IncomingCall?, bytes: Int)> = []
  var bytes = 0
}
