import BusValue

/// A method call to make.
package struct MethodCall: Sendable, Hashable {
  /// A unique name (`:1.7`) or a well-known one.
  package var destination: String
  package var path: ObjectPath
  package var interface: String
  package var member: String
  package var arguments: [Value]
  /// Whether the reply may contain file descriptors, which the caller then owns and closes. Otherwise a reply with
  /// descriptors is an error, so that none can leak.
  package var acceptsFileDescriptors: Bool

  package init(
    to destination: String, path: ObjectPath, interface: String, member: String, arguments: [Value] = [],
    acceptsFileDescriptors: Bool = false
  ) {
    self.destination = destination
    self.path = path
    self.interface = interface
    self.member = member
    self.arguments = arguments
    self.acceptsFileDescriptors = acceptsFileDescriptors
  }

  /// A method of the bus itself.
  static func toBus(_ member: String, _ arguments: [Value]) -> MethodCall {
    MethodCall(
      to: BusName.bus, path: ObjectPath(unchecked: "/org/freedesktop/DBus"), interface: BusName.bus, member: member,
      arguments: arguments)
  }
}

/// A method call that a peer made to this connection. It is answered once, with `Bus.reply`.
package struct IncomingCall: Sendable, Hashable {
  /// The caller's unique name, guaranteed by the bus.
  package let sender: String
  package let path: ObjectPath
  package let interface: String?
  package let member: String
  package let arguments: [Value]
  /// Identifies the call for `Bus.reply`, or `nil` if the caller wants no reply.
  let token: UInt64?

  /// The arguments' signatures, joined.
  package var signature: String { arguments.map(\.signature).joined() }
  /// Roughly the memory that its arguments take, in bytes.
  package var byteCount: Int { arguments.byteCount }
  /// Whether the caller wants a reply.
  package var expectsReply: Bool { token != nil }
}

/// A signal that arrived: a matching broadcast, or one that any peer sent to this connection alone. Check `sender`
/// before acting on it.
package struct IncomingSignal: Sendable, Hashable {
  /// The sender's unique name, guaranteed by the bus.
  package let sender: String
  package let path: ObjectPath
  package let interface: String
  package let member: String
  package let arguments: [Value]

  package var signature: String { arguments.map(\.signature).joined() }
}

/// A signal to send.
package struct OutgoingSignal: Sendable, Hashable {
  package var path: ObjectPath
  package var interface: String
  package var member: String
  package var arguments: [Value]
  /// A unique name; `nil` broadcasts.
  package var destination: String?

  package init(path: ObjectPath, interface: String, member: String, arguments: [Value], destination: String? = nil) {
    self.path = path
    self.interface = interface
    self.member = member
    self.arguments = arguments
    self.destination = destination
  }
}

/// Which broadcast signals to receive (D-Bus specification, "Match Rules").
package struct MatchRule: Sendable, Hashable {
  package var sender: String?
  package var interface: String?
  package var member: String?
  package var path: ObjectPath?
  package var pathNamespace: ObjectPath?
  /// What the first argument, a string, must be.
  package var firstArgument: String?

  package init(
    sender: String? = nil, interface: String? = nil, member: String? = nil, path: ObjectPath? = nil,
    pathNamespace: ObjectPath? = nil, firstArgument: String? = nil
  ) {
    self.sender = sender
    self.interface = interface
    self.member = member
    self.path = path
    self.pathNamespace = pathNamespace
    self.firstArgument = firstArgument
  }

  var text: String {
    var parts = ["type='signal'"]
    func add(_ key: String, _ value: String?) {
      guard let value else { return }
      // Names and paths contain no quotes. In an argument, a quote is closed, escaped and opened again.
      parts.append(
        "\(key)='\(value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'")
    }
    add("sender", sender)
    add("interface", interface)
    add("member", member)
    add("path", path?.text)
    add("path_namespace", pathNamespace?.text)
    add("arg0", firstArgument)
    return parts.joined(separator: ",")
  }
}

/// The process behind a connection, according to the bus.
package struct BusCredentials: Sendable, Hashable {
  package var processIdentifier: Int32
  package var userIdentifier: UInt32
  package init(processIdentifier: Int32, userIdentifier: UInt32) {
    self.processIdentifier = processIdentifier
    self.userIdentifier = userIdentifier
  }
}

/// How much of one message is decoded. Larger messages are refused.
package struct MessageLimits: Sendable, Hashable {
  /// Depth of nested containers.
  package var depth: Int
  /// Number of values, including containers.
  package var values: Int
  /// Total bytes of strings and byte arrays.
  package var bytes: Int
  /// Calls received and not answered yet, over all peers.
  package var openCalls: Int
  /// The same of one peer.
  package var openCallsOfPeer: Int
  /// Whether signals may contain file descriptors, which the handler of signals then owns and closes, whoever sent them.
  /// Otherwise such a signal is ignored.
  package var signalsMayHaveDescriptors: Bool
  /// Whether a file descriptor where none is expected is read as the number -1. Otherwise its message is refused.
  package var ignoresUnexpectedDescriptors: Bool

  package init(
    depth: Int = 16, values: Int = 200_000, bytes: Int = 4 << 20, openCalls: Int = 4096, openCallsOfPeer: Int = .max,
    signalsMayHaveDescriptors: Bool = false, ignoresUnexpectedDescriptors: Bool = false
  ) {
    self.signalsMayHaveDescriptors = signalsMayHaveDescriptors
    self.ignoresUnexpectedDescriptors = ignoresUnexpectedDescriptors
    self.openCallsOfPeer = openCallsOfPeer
    self.depth = depth
    self.values = values
    self.bytes = bytes
    self.openCalls = openCalls
  }
}

/// Names and interfaces of the D-Bus specification.
package enum BusName {
  package static let bus = "org.freedesktop.DBus"
  package static let properties = "org.freedesktop.DBus.Properties"
  package static let objectManager = "org.freedesktop.DBus.ObjectManager"
  package static let introspectable = "org.freedesktop.DBus.Introspectable"
  package static let peer = "org.freedesktop.DBus.Peer"
}
