import Foundation

/// What a channel sounding procedure measured. No controller of ours measures yet, so none is ever made.
open class CBChannelSoundingProcedureResults: NSObject, @unchecked Sendable {
  private let metres: Double
  init(distance: Double) { metres = distance }

  /// In metres.
  open var distance: Double { metres }
}

/// How a channel sounding session is to run.
open class CBChannelSoundingSessionConfiguration: NSObject, @unchecked Sendable {
  public enum Role: Int, Sendable {
    case initiator = 0
  }

  private let chosenRole: Role

  public init(role: Role) { chosenRole = role }

  open var role: Role { chosenRole }
}
