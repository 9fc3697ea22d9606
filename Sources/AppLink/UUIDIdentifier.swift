import FoundationEssentials

/// A remote device, as apps know it (`CBPeer.identifier`): the same for every app and across restarts and reboots.
package struct PeerIdentifier: UUIDIdentifier {
  package let rawValue: UUID
  package init(_ rawValue: UUID) { self.rawValue = rawValue }
}

/// An attribute that an app publishes. The app's library makes the identifier once, so that it means the same attribute
/// after a relaunch. A later attribute of an app has a greater one (`AttributeIdentifiers`). The system gives the
/// attribute a fixed handle.
package struct LocalAttributeIdentifier: UUIDIdentifier {
  package let rawValue: UUID
  package init(_ rawValue: UUID) { self.rawValue = rawValue }
}

/// An identifier that is a UUID. Each kind is a type of its own, so that kinds can't be confused. Identifiers are
/// sorted by their bytes, which is also the order of their texts, and encoded as the UUID itself.
package protocol UUIDIdentifier: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  var rawValue: UUID { get }
  init(_ rawValue: UUID)
}

extension UUIDIdentifier {
  /// 36 characters, in upper case.
  package var uuidString: String { rawValue.uuidString }
  package var description: String { uuidString }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  package init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(UUID.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}
