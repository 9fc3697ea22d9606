import FoundationEssentials

/// A remote device, as apps know it (`CBPeer.identifier`): the same for every app and across restarts and reboots.
public struct PeerIdentifier: UUIDIdentifier {
  public let rawValue: UUID
  public init(_ rawValue: UUID) { self.rawValue = rawValue }
}

/// An attribute that an app publishes. The app's library draws it at random once, so that it means the same attribute
/// after a relaunch. The system gives it a fixed handle.
public struct LocalAttributeIdentifier: UUIDIdentifier {
  public let rawValue: UUID
  public init(_ rawValue: UUID) { self.rawValue = rawValue }
}

/// An identifier that is a UUID. Each kind is a type of its own, so that kinds can't be confused. Sorted by the
/// bytes, which is also the order of the texts; encoded as the UUID itself.
public protocol UUIDIdentifier: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  var rawValue: UUID { get }
  init(_ rawValue: UUID)
}

extension UUIDIdentifier {
  /// 36 characters, in upper case.
  public var uuidString: String { rawValue.uuidString }
  public var description: String { uuidString }
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(UUID.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}
