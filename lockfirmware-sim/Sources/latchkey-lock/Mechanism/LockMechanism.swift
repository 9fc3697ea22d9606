import LockFirmware
import LockProtocol

/// The bolt, its motor and the sensors. Everything happens on the main queue.
protocol LockMechanism: AnyObject {
  /// The bolt's position according to its switches; `between` while nothing is known of it.
  var position: BoltPosition { get }
  /// Whether the switches have been read since the start.
  var isKnown: Bool { get }
  var door: DoorState { get }
  /// The position to which the motor is turning the bolt, or `nil` if it does not turn.
  var turning: BoltTarget? { get }
  /// Called with what happens: `boltStopped`, `doorChanged` and the like.
  var report: ((LockEvent) -> Void)? { get set }
  /// Called once, when `report` is set. Reports everything that is known besides the position and the door.
  func start()
  /// Starts the motor. `boltStopped` follows.
  func turn(to target: BoltTarget)
  /// Stops the motor. The bolt's position afterwards is reported as any other change.
  func stop()
  /// The lock ends, while nothing turns.
  func end()
  /// Answers a request from the hardware socket, or says why not.
  func perform(_ request: HardwareRequest) throws(MechanismError)
}

extension LockMechanism {
  var isKnown: Bool { true }
  var positionWord: String { SimulatedMechanism.positions.first { $0.value == position }?.word ?? "between" }
  var doorWord: String { SimulatedMechanism.doors.first { $0.value == door }?.word ?? "open" }
}

struct MechanismError: Error, CustomStringConvertible {
  let description: String
}
