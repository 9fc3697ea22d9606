import LockFirmware
import LockProtocol

/// One run of a driver, from its start to its end: what it is asked, what its lines mean, and when it is no longer
/// trusted. A state machine, without a process or a clock.
struct DriverSession {
  enum Action: Equatable {
    case send(DriverRequest)
    /// The sensors are known for the first time.
    case ready(DriverReport.Sensors)
    case report(LockEvent)
  }

  /// In milliseconds: after this time without a line, the driver must stop its motor. The lock kills a driver that
  /// leaves the pings of about this time unanswered (`unansweredLimit`).
  static let watchdogMilliseconds: Int64 = 3_000
  /// The time between two pings, in milliseconds.
  static let pingMilliseconds = watchdogMilliseconds / 3
  /// How many pings may be unanswered. They are counted, and the time is not measured, because a lock that was frozen
  /// for days has sent no pings in that time.
  static let unansweredLimit = 3
  /// How many ticks the hello and the first state may take.
  static let startTickLimit = 5

  private(set) var name = ""
  private(set) var sensors: DriverReport.Sensors?
  private(set) var turning: BoltTarget?
  private var isKnown = false
  private var turn: UInt64 = 0
  /// Turns whose ends are still to be told, and of no interest any more: another one has begun.
  private var replacedTurns: Set<UInt64> = []
  /// How many such ends a driver may owe. A driver that never tells them is ended, and another run of it begins.
  static let replacedTurnLimit = 16
  private var ping: UInt64 = 0
  private var unanswered = 0
  private var ticksBeforeReady = 0
  /// How many ticks ago the motor was told to stop, or `nil` if it was not.
  private var ticksSinceStop: Int?
  /// How many lines may still come, in thousandths. Time adds some.
  private var room = DriverProtocol.lineBurst * 1000

  /// The driver has been started.
  mutating func start() -> [Action] { [.send(.hello)] }

  /// One `pingMilliseconds` has passed.
  mutating func tick() throws(DriverFault) -> [Action] {
    guard sensors != nil else {
      ticksBeforeReady += 1
      guard ticksBeforeReady < Self.startTickLimit else {
        throw .silent(isKnown ? "no state after its hello" : "no hello")
      }
      return []
    }
    guard unanswered < Self.unansweredLimit else { throw .silent("\(unanswered) pings are unanswered") }
    guard replacedTurns.count <= Self.replacedTurnLimit else {
      throw .silent("it does not say how \(replacedTurns.count) turns have ended that others replaced")
    }
    if let ticks = ticksSinceStop {
      guard ticks < Self.unansweredLimit else {
        throw .silent("it was told to stop its motor, and does not say that it did")
      }
      ticksSinceStop = ticks + 1
    }
    ping += 1
    unanswered += 1
    return [.send(.ping(ping))]
  }

  mutating func turn(to target: BoltTarget) -> [Action] {
    // The motor was told to stop, and its driver may say so only now.
    // Beyond the limit the driver is about to be ended anyway.
    if turning != nil, replacedTurns.count <= Self.replacedTurnLimit { replacedTurns.insert(turn) }
    turn += 1
    turning = target
    ticksSinceStop = nil
    return [.send(target == .locked ? .extend(turn) : .retract(turn))]
  }

  mutating func stop() -> [Action] {
    guard turning != nil else { return [] }
    ticksSinceStop = 0
    return [.send(.stop)]
  }

  /// So much time has passed since the last lines were read. A lock that stood still finds all lines of that time at once.
  mutating func makeRoom(milliseconds: Int64) {
    // A frozen lock reads what fits into the pipe. An hour is more than enough for that.
    let elapsed = Int(min(max(milliseconds, 0), 3_600_000))
    room = min(DriverProtocol.lineBurst * 1000, room) + DriverProtocol.linesPerSecond * elapsed
  }

  /// - Parameter line: without its end.
  mutating func receive(_ line: [UInt8]) throws(DriverFault) -> [Action] {
    guard room >= 1000 else { throw .tooManyLines }
    room -= 1000
    let report = try DriverReport(line: line)
    if case .hello(let name) = report {
      guard !isKnown else { throw .contradiction("it says hello twice") }
      isKnown = true
      self.name = name
      return []
    }
    guard isKnown else { throw .contradiction("it did not say hello first") }
    switch report {
    case .hello: return []
    case .state(let new): return changed(to: new)
    case .stopped(let id, let claimed): return try stopped(id, claimed)
    case .pong(let id):
      guard id <= ping else { throw .contradiction("it answers a ping that was not sent") }
      if id == ping { unanswered = 0 }
      return []
    case .mode(let mode): return sensors == nil ? [] : [.report(.modeSet(mode))]
    case .enrolmentButton: return sensors == nil ? [] : [.report(.enrolmentButton)]
    case .resetButton(let isPressed): return sensors == nil ? [] : [.report(.resetButton(isPressed: isPressed))]
    }
  }

  private mutating func changed(to new: DriverReport.Sensors) -> [Action] {
    guard let old = sensors else {
      sensors = new
      // What an earlier run had sensors for is forgotten with it.
      return [
        .ready(new), .report(.batteryChanged(new.battery)), .report(.tamperChanged(isOpen: new.isCoverOff ?? false)),
      ]
    }
    var new = new
    // What is left out has not changed.
    new.door = new.door ?? old.door
    new.battery = new.battery ?? old.battery
    new.isCoverOff = new.isCoverOff ?? old.isCoverOff
    sensors = new
    var actions: [Action] = []
    // The end of a turn is reported by `stopped`.
    if new.position != old.position, turning == nil {
      if let side = new.hand, new.position != .between {
        actions.append(.report(.boltTurnedByHand(new.position, from: side)))
      } else {
        actions.append(.report(.boltFound(new.position)))
      }
    }
    if let door = new.door, door != old.door { actions.append(.report(.doorChanged(door))) }
    if new.battery != old.battery { actions.append(.report(.batteryChanged(new.battery))) }
    if let isOpen = new.isCoverOff, isOpen != old.isCoverOff {
      actions.append(.report(.tamperChanged(isOpen: isOpen)))
    }
    return actions
  }

  private mutating func stopped(_ id: UInt64, _ claimed: BoltPosition) throws(DriverFault) -> [Action] {
    if replacedTurns.remove(id) != nil { return [] }
    guard turning != nil, id == turn, let sensors else { throw .contradiction("a turn ended that was not under way") }
    guard claimed == sensors.position else {
      throw .contradiction("it says that the bolt is \(claimed), and its switches say \(sensors.position)")
    }
    turning = nil
    ticksSinceStop = nil
    return [.report(.boltStopped(claimed))]
  }
}
