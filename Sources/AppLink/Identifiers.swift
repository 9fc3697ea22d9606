import BluetoothTypes
import FoundationEssentials

/// A manager of one app; the app's library numbers them from 1, and the numbers live as long as the app's process.
public struct ManagerIdentifier: Sendable, Hashable, Codable {
  public let rawValue: UInt32
  public init(_ rawValue: UInt32) { self.rawValue = rawValue }
}

/// One operation that an app asked for and that ends in one event; the app's library numbers them.
public struct OperationIdentifier: Sendable, Hashable, Codable {
  public let rawValue: UInt64
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// Something that the user asked an app to do; the system numbers them and never reuses a number.
public struct ActionIdentifier: Sendable, Hashable, Codable {
  public let rawValue: UInt64
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A read or a write of a remote central that an app has to answer; the system numbers them and never reuses a number.
public struct RemoteRequestIdentifier: Sendable, Hashable, Codable {
  public let rawValue: UInt64
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// The place of an event in what one app is told. Starts at 1 with each launch of the app, grows by 1.
public struct EventSequence: Sendable, Hashable, Comparable, Codable {
  public let rawValue: UInt64
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Which of the two kinds of manager.
public enum Role: String, Sendable, Hashable, Codable {
  case central
  case peripheral
}
