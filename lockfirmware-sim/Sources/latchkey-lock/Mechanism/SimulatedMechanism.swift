import Dispatch
import DurableFiles
import Foundation
import LockFirmware
import LockProtocol
import Logging
import TimeTypes
import Timekeeping

/// A simulated mechanism. A real one does not change when the firmware's process dies, so this one's state is in files:
/// a process that ends during a turn leaves the bolt between its ends.
final class SimulatedMechanism: LockMechanism, @unchecked Sendable {
  /// What can be wrong with the motor.
  enum Fault: String, CaseIterable {
    case none
    /// The bolt does not arrive, and nothing reports it.
    case jam
    /// The bolt does not arrive, and the motor's current shows it.
    case stall
  }

  // Everything here happens on the main queue.
  private(set) var position: BoltPosition
  private(set) var door: DoorState
  var report: ((LockEvent) -> Void)?
  private(set) var turning: BoltTarget?
  private var fault: Fault
  /// The charge in percent, or `nil` if there is no battery.
  private var battery: Int?
  private var drain: Int
  private var isCoverOff: Bool
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
    fault = try Self.read(directory + "/motor-fault", Fault.allCases.map { ($0.rawValue, $0) }) ?? .none
    let percents = (0...100).map { (String($0), $0) }
    battery = try Self.read(directory + "/battery", percents)
    drain = try Self.read(directory + "/drain", percents) ?? 0
    isCoverOff = try Self.read(directory + "/cover", [("on", false), ("off", true)]) ?? false
    alarm = time.makeAlarm { [weak self] in DispatchQueue.main.async { self?.turnEnded() } }
  }

  static let positions: [(word: String, value: BoltPosition)] = [
    ("locked", .locked), ("unlocked", .unlocked), ("between", .between),
  ]
  static let doors: [(word: String, value: DoorState)] = [("open", .open), ("shut", .closed)]

  func start() {
    if let battery { report?(.batteryChanged(UInt8(clamping: battery))) }
    if isCoverOff { report?(.tamperChanged(isOpen: true)) }
  }

  func turn(to target: BoltTarget) {
    turning = target
    set(.between)
    if let battery { charge(battery - drain) }
    switch fault {
    case .none: alarm?.set(time.now + turnTime)
    case .stall: alarm?.set(time.now + turnTime / 2)
    case .jam: alarm?.set(nil)
    }
  }

  func stop() {
    turning = nil
    alarm?.set(nil)
  }

  func end() {}

  func perform(_ request: HardwareRequest) throws(MechanismError) {
    // The whole request is checked before any of it is done.
    let door = try Self.value(request.door, Self.doors, "a door is open or shut")
    let turn = try Self.value(
      request.turn, [("locked", BoltPosition.locked), ("unlocked", .unlocked)],
      "a bolt is turned to locked or to unlocked")
    guard let side = HandSide.named(request.from) else {
      throw MechanismError(description: "a hand turns from inside or from outside")
    }
    let fault = try Self.value(
      request.fault, Fault.allCases.map { ($0.rawValue, $0) }, "a motor's fault is jam, stall or none")
    let mode = try Self.value(
      request.mode, OperatingMode.allCases.filter { $0 != .vacation }.map { ("\($0)", $0) },
      "a mode is normal, privacy, passage or noRemoteLockUnlock")
    let isPressed = try Self.value(
      request.reset, [("pressed", true), ("released", false)], "the reset button is pressed or released")
    _ = try Self.value(request.enroll, [("pressed", ())], "the button for enrolments is pressed")
    guard (0...100).contains(request.battery ?? 0), (0...100).contains(request.drain ?? 0) else {
      throw MechanismError(description: "battery and drain are from 0 to 100 percent")
    }
    if let fault {
      self.fault = fault
      write(fault.rawValue, "motor-fault")
    }
    if let drain = request.drain {
      self.drain = drain
      write(String(drain), "drain")
    }
    if let battery = request.battery { charge(battery) }
    if let door { move(door: door) }
    if let turn { turnByHand(to: turn, from: side) }
    if let isCoverOff = request.tamper, isCoverOff != self.isCoverOff {
      self.isCoverOff = isCoverOff
      write(isCoverOff ? "off" : "on", "cover")
      report?(.tamperChanged(isOpen: isCoverOff))
    }
    if let mode { report?(.modeSet(mode)) }
    if let isPressed { report?(.resetButton(isPressed: isPressed)) }
    if request.enroll != nil { report?(.enrolmentButton) }
  }

  private static func value<Value>(
    _ word: String?, _ words: [(word: String, value: Value)], _ help: String
  ) throws(MechanismError) -> Value? {
    guard let word else { return nil }
    guard let found = words.first(where: { $0.word == word }) else { throw MechanismError(description: help) }
    return found.value
  }

  /// The door moves.
  private func move(door state: DoorState) {
    guard state != door else { return }
    door = state
    write(doorWord, "door")
    report?(.doorChanged(state))
  }

  /// A hand turns the bolt. A motor that is turning it is stronger.
  private func turnByHand(to target: BoltPosition, from side: HandSide) {
    guard turning == nil else { return }
    set(target)
    report?(.boltTurnedByHand(position, from: side))
  }

  private func charge(_ percent: Int) {
    let percent = max(0, percent)
    battery = percent
    write(String(percent), "battery")
    report?(.batteryChanged(UInt8(clamping: percent)))
  }

  private func turnEnded() {
    guard let target = turning else { return }
    turning = nil
    if fault == .none { set(target == .locked ? .locked : .unlocked) }
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
      let valid = words.count > 10 ? "a number from 0 to 100" : words.map(\.word).joined(separator: ", ")
      throw MechanismError(
        description:
          "\(path) is damaged or can't be read: it contains none of \(valid). Write the correct one into the "
          + "file")
    }
    return found.value
  }
}
