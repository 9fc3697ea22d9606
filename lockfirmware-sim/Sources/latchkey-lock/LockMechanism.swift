import Dispatch
import DurableFiles
import Foundation
import LockFirmware
import LockProtocol
import Logging
import TimeTypes
import Timekeeping

/// The bolt, its motor and the door's sensor.
protocol LockMechanism: AnyObject {
  /// The bolt's position according to its switches.
  var position: BoltPosition { get }
  var door: DoorState { get }
  /// Called, on the main queue, with `boltStopped`, `boltTurnedByHand` and `doorChanged`.
  var report: ((LockEvent) -> Void)? { get set }
  /// Starts the motor. `boltStopped` follows.
  func turn(to target: BoltTarget)
}

/// A mechanism without a door. A real mechanism does not change when the firmware's process dies, so this one is kept
/// in files: a process that ends during a turn leaves the bolt between its ends.
final class SimulatedMechanism: LockMechanism, @unchecked Sendable {
  // Everything here happens on the main queue.
  private(set) var position: BoltPosition
  private(set) var door: DoorState
  var report: ((LockEvent) -> Void)?
  private(set) var turning: BoltTarget?
  private let directory: String
  private let turnTime: Duration
  private let time: any TimeSource
  private let logger: Logger
  private var alarm: (any Alarm)?

  /// Reads the state from the files. A new lock is locked, in a shut door.
  init(directory: String, turnTime: Duration, time: any TimeSource, logger: Logger) throws {
    self.directory = directory
    self.turnTime = turnTime
    self.time = time
    self.logger = logger
    position = try Self.read(directory + "/bolt", Self.positions) ?? .locked
    door = try Self.read(directory + "/door", Self.doors) ?? .closed
    alarm = time.makeAlarm { [weak self] in DispatchQueue.main.async { self?.turnEnded() } }
  }

  static let positions: [(word: String, value: BoltPosition)] = [
    ("locked", .locked), ("unlocked", .unlocked), ("between", .between),
  ]
  static let doors: [(word: String, value: DoorState)] = [("open", .open), ("shut", .closed)]

  var positionWord: String { Self.positions.first { $0.value == position }?.word ?? "between" }
  var doorWord: String { Self.doors.first { $0.value == door }?.word ?? "open" }

  func turn(to target: BoltTarget) {
    turning = target
    set(.between)
    alarm?.set(time.now + turnTime)
  }

  /// The door moves.
  func move(door state: DoorState) {
    guard state != door else { return }
    door = state
    write(doorWord, "door")
    report?(.doorChanged(state))
  }

  /// A hand turns the bolt. A motor that is turning it is stronger.
  func turnByHand(to target: BoltTarget) {
    guard turning == nil else { return }
    set(target == .locked ? .locked : .unlocked)
    report?(.boltTurnedByHand(position))
  }

  private func turnEnded() {
    guard let target = turning else { return }
    turning = nil
    set(target == .locked ? .locked : .unlocked)
    report?(.boltStopped(position))
  }

  private func set(_ position: BoltPosition) {
    self.position = position
    write(positionWord, "bolt")
  }

  private func write(_ word: String, _ name: String) {
    // A real bolt keeps its position when the power fails.
    do { try DurableFile.replace(directory + "/" + name, with: Array((word + "\n").utf8)) } catch {
      logger.error("the mechanism's state can't be kept: \(error)")
    }
  }

  private static func read<Value>(_ path: String, _ words: [(word: String, value: Value)]) throws -> Value? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    let text = try? String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    guard let found = words.first(where: { $0.word == text }) else {
      throw MechanismError(
        description: "\(path) is damaged or can't be read: it contains none of "
          + "\(words.map(\.word).joined(separator: ", ")). Write the correct one into the file")
    }
    return found.value
  }
}

struct MechanismError: Error, CustomStringConvertible {
  let description: String
}
