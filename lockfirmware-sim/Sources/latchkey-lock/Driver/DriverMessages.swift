import Foundation
import LockFirmware
import LockProtocol

/// The lines between the lock and its driver, docs/lock-driver.md. This is version 1.
enum DriverProtocol {
  static let version = 1
  /// The longest line, without its end.
  static let maximumLineByteCount = 1024
  /// How many lines a driver may send at once, and how many more each second.
  static let lineBurst = 200
  static let linesPerSecond = 50
}

/// What the lock says to its driver.
enum DriverRequest: Equatable {
  case hello
  case extend(UInt64)
  case retract(UInt64)
  case stop
  case ping(UInt64)
  case bye

  /// - Parameter watchdog: after that many milliseconds without a line, the driver must stop its motor.
  func line(watchdog: Int64) -> String {
    switch self {
    case .hello: #"{"type":"hello","versions":[\#(DriverProtocol.version)],"watchdog":\#(watchdog)}"#
    case .extend(let id): #"{"type":"extend","id":\#(id)}"#
    case .retract(let id): #"{"type":"retract","id":\#(id)}"#
    case .stop: #"{"type":"stop"}"#
    case .ping(let id): #"{"type":"ping","id":\#(id)}"#
    case .bye: #"{"type":"bye"}"#
    }
  }
}

/// What a driver says to the lock.
enum DriverReport: Equatable {
  /// Everything that the sensors show at one moment.
  struct Sensors: Equatable {
    var position: BoltPosition
    /// `nil` if there is no such sensor.
    var door: DoorState?
    var battery: UInt8?
    var isCoverOff: Bool?
    /// The side of the hand that turned the bolt, or `nil` if no hand did.
    var hand: HandSide?
  }

  case hello(name: String)
  case state(Sensors)
  case stopped(UInt64, at: BoltPosition)
  case pong(UInt64)
  case mode(OperatingMode)
  case resetButton(isPressed: Bool)
  case enrolmentButton

  // Each message has its own fields. What else a line has is ignored, whatever it is called.
  private struct Line: Decodable { var type: String }
  private struct Version: Decodable { var version: Int? }
  private struct Name: Decodable { var name: String? }
  fileprivate struct State: Decodable {
    var locked: Bool
    var unlocked: Bool
    var door: String?
    var battery: Double?
    var tamper: Bool?
    var hand: String?
  }
  private struct Stopped: Decodable {
    var id: UInt64
    var at: String
  }
  private struct Pong: Decodable { var id: UInt64 }
  private struct Mode: Decodable { var mode: String }
  private struct Reset: Decodable { var pressed: Bool }

  init(line: [UInt8]) throws(DriverFault) {
    func read<Fields: Decodable>(_ fields: Fields.Type) throws(DriverFault) -> Fields {
      guard let read = try? JSONDecoder().decode(fields, from: Data(line)) else { throw .unreadable(line) }
      return read
    }
    switch try read(Line.self).type {
    case "hello":
      let version = try read(Version.self).version
      guard version == DriverProtocol.version else { throw .wrongVersion(version) }
      self = .hello(name: String((try read(Name.self).name ?? "unnamed").prefix(64)))
    case "state":
      guard let sensors = try Sensors(read(State.self)) else { throw .unreadable(line) }
      self = .state(sensors)
    case "stopped":
      let stopped = try read(Stopped.self)
      guard let at = SimulatedMechanism.positions.first(where: { $0.word == stopped.at }) else {
        throw .unreadable(line)
      }
      self = .stopped(stopped.id, at: at.value)
    case "pong": self = .pong(try read(Pong.self).id)
    case "mode":
      guard let mode = OperatingMode.named(try read(Mode.self).mode) else { throw .unreadable(line) }
      self = .mode(mode)
    case "reset": self = .resetButton(isPressed: try read(Reset.self).pressed)
    case "enroll": self = .enrolmentButton
    default: throw .unreadable(line)
    }
  }
}

extension DriverReport.Sensors {
  /// - Returns: `nil` if the fields say what no sensor can.
  fileprivate init?(_ state: DriverReport.State) throws(DriverFault) {
    guard !(state.locked && state.unlocked) else { throw .contradiction("both of its switches are on") }
    position = state.locked ? .locked : state.unlocked ? .unlocked : .between
    switch state.door {
    case nil: break
    case "open": door = .open
    case "closed": door = .closed
    default: return nil
    }
    if let percent = state.battery {
      guard (0...100).contains(percent) else { return nil }
      battery = UInt8(percent)
    }
    isCoverOff = state.tamper
    if let side = state.hand {
      guard let known = HandSide.named(side == "unknown" ? nil : side) else { return nil }
      hand = known
    }
  }
}

/// Why a driver is no longer trusted. It is then killed and started again.
enum DriverFault: Error, Equatable, CustomStringConvertible {
  case notStarted(String)
  case ended(String)
  /// It did not answer in time.
  case silent(String)
  /// It does not read the lock's lines.
  case deaf
  case unreadable([UInt8])
  case lineTooLong
  case tooManyLines
  case wrongVersion(Int?)
  /// It says things that can't all be true.
  case contradiction(String)

  var description: String {
    switch self {
    case .notStarted(let reason): "it can't be started: \(reason)"
    case .ended(let end): "it has ended (\(end))"
    case .silent(let what): "it is silent: \(what)"
    case .deaf: "it does not read what it is told"
    case .unreadable(let line):
      "it sent a line that is no report of version \(DriverProtocol.version): "
        + String(decoding: line.prefix(100), as: UTF8.self).debugDescription
    case .lineTooLong: "it sent a line of more than \(DriverProtocol.maximumLineByteCount) bytes"
    case .tooManyLines:
      "it babbles: more than \(DriverProtocol.lineBurst) lines at once, or \(DriverProtocol.linesPerSecond) a second"
    case .wrongVersion(let version):
      "it speaks \(version.map { "version \($0)" } ?? "no version") of the protocol, and this lock version "
        + "\(DriverProtocol.version)"
    case .contradiction(let what): "it contradicts itself: \(what)"
    }
  }
}
