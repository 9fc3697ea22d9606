import BusValue

/// A method call to make.
public struct MethodCall: Sendable, Hashable {
  /// A unique name (`:1.7`) or a well-known one.
  public var destination: String
  public var path: ObjectPath
  public var interface: String
  public var member: String
  public var arguments: [Value]
  /// Whether the reply may contain file descriptors, which the caller then owns and closes. Otherwise a reply with
  /// descriptors is an error, so that none can leak.
  public var acceptsFileDescriptors: Bool

  public init(
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
public struct IncomingCall: Sendable, Hashable {
  /// The caller's unique name, guaranteed by the bus.
  public let sender: String
  public let path: ObjectPath
  public let interface: String?
  public let member: String
  public let arguments: [Value]
  /// Identifies the call for `Bus.reply`, or `nil` if the caller wants no reply.
  let token: UInt64?

  /// The arguments' signatures, joined.
  public var signature: String { arguments.map(\.signature).joined() }
  /// Roughly the memory that its arguments take, in bytes.
  public var byteCount: Int { arguments.byteCount }
  /// Whether the caller wants a reply.
  public var expectsReply: Bool { token != nil }
}

/// A signal that arrived: a matching broadcast, or one that any peer sent to this connection alone. Check `sender`
/// before acting on it.
public struct IncomingSignal: Sendable, Hashable {
  /// The sender's unique name, guaranteed by the bus.
  public let sender: String
  public let path: ObjectPath
  public let interface: String
  public let member: String
  public let arguments: [Value]

  public var signature: String { arguments.map(\.signature).joined() }
}

/// A signal to send.
public struct OutgoingSignal: Sendable, Hashable {
  public var path: ObjectPath
  public var interface: String
  public var member: String
  public var arguments: [Value]
  /// A unique name; `nil` broadcasts.
  public var destination: String?

  public init(path: ObjectPath, interface: String, member: String, arguments: [Value], destination: String? = nil) {
    self.path = path
    self.interface = interface
    self.member = member
    self.arguments = arguments
    self.destination = destination
  }
}

/// Which broadcast signals to receive (D-Bus specification, "Match Rules").
public struct MatchRule: Sendable, Hashable {
  public var sender: String?
  public var interface: String?
  public var member: String?
  public var path: ObjectPath?
  public var pathNamespace: ObjectPath?
  /// What the first argument, a string, must be.
  public var firstArgument: String?

  public init(
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
public struct BusCredentials: Sendable, Hashable {
  public var processIdentifier: Int32
  public var userIdentifier: UInt32
  public init(processIdentifier: Int32, userIdentifier: UInt32) {
    self.processIdentifier = processIdentifier
    self.userIdentifier = userIdentifier
  }
}

/// How much of one message is decoded. Larger messages are refused.
public struct MessageLimits: Sendable, Hashable {
  /// Depth of nested containers.
  public var depth: Int
  /// Number of values, including containers.
  public var values: Int
  /// Total bytes of strings and byte arrays.
  public var bytes: Int
  /// Calls received and not answered yet, over all peers.
  public var openCalls: Int

  public init(depth: Int = 16, values: Int = 200_000, bytes: Int = 4 << 20, openCalls: Int = 4096) {
    self.depth = depth
    self.values = values
    self.bytes = bytes
    self.openCalls = openCalls
  }
}

/// Names and interfaces of the D-Bus specification.
public enum BusName {
  public static let bus = "org.freedesktop.DBus"
  public static let properties = "org.freedesktop.DBus.Properties"
  public static let objectManager = "org.freedesktop.DBus.ObjectManager"
  public static let introspectable = "org.freedesktop.DBus.Introspectable"
  public static let peer = "org.freedesktop.DBus.Peer"
}
