import CoreBluetooth
import Foundation

/// A call of an app's delegate by Core Bluetooth. What a manager without a delegate would say is listed as well.
public struct SimulatedDelegateCall: Sendable, CustomStringConvertible {
  /// When: the home's `clock.now`.
  public var time: Duration
  /// In which run of the app, from 1.
  public var launch: Int
  /// The first word of the method that is not about its sender: `didConnect`, `willRestoreState`, `didUpdateValueFor`,
  /// `didReceiveWrite`, and so on. For `centralManagerDidUpdateState(_:)` and the peripheral manager's it is
  /// `didUpdateState`, for `peripheralDidUpdateName(_:)` it is `didUpdateName`, and `isReady` for
  /// `peripheralIsReady(toSendWriteWithoutResponse:)` and `peripheralManagerIsReady(toUpdateSubscribers:)`.
  public var method: String
  /// The restore identifier of the manager, or its number in the order in which the app made them.
  public var manager: String
  /// The identifier of the peripheral or the central that the call is about.
  public var peer: UUID?
  /// The UUID of the service, characteristic or descriptor that the call is about.
  public var attribute: CBUUID?
  /// What was read, written or notified.
  public var value: Data?
  /// The call's error.
  public var error: (any Error)?

  public var description: String {
    var words = [method]
    if let attribute { words.append("\(attribute)") }
    if let value { words.append("[\(value.map { String($0) }.joined(separator: ", "))]") }
    if let error {
      let error = error as NSError
      words.append("failed: \(error.domain) \(error.code)")
    }
    return words.joined(separator: " ")
  }
}
