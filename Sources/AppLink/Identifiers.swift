import BluetoothTypes
import FoundationEssentials

/// A manager of one app. The app's library numbers them from 1, and the numbers live as long as the app's process.
public struct ManagerIdentifier: Sendable, Hashable, Codable {
  public let rawValue: UInt32
  public init(_ rawValue: UInt32) { self.rawValue = rawValue }
}

/// An operation that an app asked for. It ends in one event. The app's library numbers operations.
public struct OperationIdentifier: Sendable, Hashable, Codable {
  public let rawValue: UInt64
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// An action that the user asked of an app. The system numbers actions and never reuses a number.
public struct ActionIdentifier: Sendable, Hashable, Codable {
  public let rawValue: UInt64
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A remote central's read or write that an app has to answer. The system numbers them and never reuses a number.
public struct RemoteRequestIdentifier: Sendable, Hashable, Codable {
  public let rawValue: UInt64
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// An event's position among the events of one app. Starts at 1 with each launch of the app, and grows by 1.
public struct EventSequence: Sendable, Hashable, Comparable, Codable {
  public let rawValue: UInt64
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The two kinds of manager.
public enum Role: String, Sendable, Hashable, Codable {
  case central
  case peripheral
}
