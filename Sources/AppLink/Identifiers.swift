import BluetoothTypes
import FoundationEssentials

/// A manager of one app. The app's library numbers them from 1, and the numbers live as long as the app's process.
package struct ManagerIdentifier: Sendable, Hashable, Codable {
  package let rawValue: UInt32
  package init(_ rawValue: UInt32) { self.rawValue = rawValue }
}

/// An operation that an app asked for. It ends in one event. The app's library numbers operations.
package struct OperationIdentifier: Sendable, Hashable, Codable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// An action that the user asked of an app. The system numbers actions and never reuses a number.
package struct ActionIdentifier: Sendable, Hashable, Codable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A remote central's read or write that an app has to answer. The system numbers them and never reuses a number.
package struct RemoteRequestIdentifier: Sendable, Hashable, Codable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// An event's position among the events of one app. Starts at 1 with each launch of the app, and grows by 1.
package struct EventSequence: Sendable, Hashable, Comparable, Codable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The two kinds of manager.
package enum Role: String, Sendable, Hashable, Codable, CaseIterable {
  case central
  case peripheral
}
