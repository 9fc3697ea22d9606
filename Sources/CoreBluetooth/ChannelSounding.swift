import Foundation

/// The result of a channel sounding procedure. bluetoothd has no interface for it, so none is ever created, as on Apple's
/// hardware that can't measure.
open class CBChannelSoundingProcedureResults: CoreBluetoothObject, @unchecked Sendable {
  private let metres: Double
  init(distance: Double) { metres = distance }

  /// In metres.
  open var distance: Double { metres }
}

/// The parameters of a channel sounding session.
open class CBChannelSoundingSessionConfiguration: CoreBluetoothObject, @unchecked Sendable {
  public enum Role: Int, Sendable {
    case initiator = 0
  }

  private let chosenRole: Role

  public init(role: Role) { chosenRole = role }

  open var role: Role { chosenRole }
}
