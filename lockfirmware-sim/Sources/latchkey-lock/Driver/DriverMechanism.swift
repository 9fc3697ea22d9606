import ChildProcesses
import Dispatch
import Glibc
import LockFirmware
import LockProtocol
import Logging

/// A mechanism behind a driver: a child process that has the motor and the sensors. A driver that ends, hangs, sends
/// too much or contradicts itself is killed and started again. Until it works, nothing is known of the bolt.
final class DriverMechanism: LockMechanism, @unchecked Sendable {
  // Everything here happens on the main queue.
  private(set) var position = BoltPosition.between
  private(set) var door = DoorState.closed
  var isKnown: Bool { isReady }
  var report: ((LockEvent) -> Void)?
  var turning: BoltTarget? { session.turning }
  private let command: DriverCommand
  private let logger: Logger
  private var session = DriverSession()
  private var process: DriverProcess?
  /// The number of the present process. What an earlier process still says does not count.
  private var run = 0
  private var ticker: (any DispatchSourceTimer)?
  private var restart: DispatchWorkItem?
  /// How long to wait before the next start, in milliseconds.
  private var backOff = firstBackOff
  private var ticksSinceReady = 0
  /// When the driver's lines were last read.
  private var lastReceived = ContinuousClock.now
  private var isReady = false
  /// What happened before `report` was set.
  private var early: [LockEvent] = []
  private var isEnding = false

  private static let firstBackOff: Int64 = 500
  private static let longestBackOff: Int64 = 60_000
  /// How long a driver must work before its failures are forgotten, in ticks.
  private static let soundTickCount = 60

  /// Starts the driver, and waits until it has shown its sensors, as long as a driver may take for that. If it does not
  /// show them, the lock still starts, but knows nothing of its bolt.
  init(_ command: DriverCommand, logger: Logger) {
    self.command = command
    self.logger = logger
    startDriver()
    let limit =
      ContinuousClock.now + .milliseconds(DriverSession.pingMilliseconds * Int64(DriverSession.startTickLimit))
    while !isReady, let process, ContinuousClock.now < limit {
      process.waitForOutput(milliseconds: 100)
      receive(run)
    }
  }

  func start() {
    if !isReady { report?(.mechanismFailed) }
    for event in early { report?(event) }
    early = []
  }

  func turn(to target: BoltTarget) {
    guard isReady else { return }
    position = .between
    perform(session.turn(to: target))
  }

  func stop() { perform(session.stop()) }

  func end() {
    isEnding = true
    restart?.cancel()
    ticker?.cancel()
    perform([.send(.bye)])
    process?.endInput()
  }

  func perform(_ request: HardwareRequest) throws(MechanismError) {
    throw MechanismError(description: "this lock has a driver: act on its door and its bolt, or on the driver")
  }

  // MARK: The driver's process

  private func startDriver() {
    run += 1
    let run = run
    session = DriverSession()
    ticksSinceReady = 0
    do throws(DriverFault) {
      let process = try DriverProcess(command) { [weak self] end in self?.ended(run, end) }
      self.process = process
      process.watch { [weak self] in self?.receive(run) }
    } catch { return fail(error) }
    let ticker = DispatchSource.makeTimerSource(queue: .main)
    let interval = DispatchTimeInterval.milliseconds(Int(DriverSession.pingMilliseconds))
    ticker.schedule(deadline: .now() + interval, repeating: interval)
    ticker.setEventHandler { [weak self] in self?.tick(run) }
    ticker.resume()
    self.ticker = ticker
    perform(session.start())
  }

  private func tick(_ run: Int) {
    guard run == self.run, process != nil else { return }
    do throws(DriverFault) { perform(try session.tick()) } catch { return fail(error) }
    guard isReady else { return }
    ticksSinceReady += 1
    if ticksSinceReady == Self.soundTickCount { backOff = Self.firstBackOff }
  }

  private func receive(_ run: Int) {
    guard run == self.run, let process else { return }
    let now = ContinuousClock.now
    session.makeRoom(milliseconds: Int64((now - lastReceived) / .milliseconds(1)))
    lastReceived = now
    do throws(DriverFault) {
      for line in try process.lines() {
        perform(try session.receive(line))
        // An action may have ended this run.
        guard run == self.run, self.process != nil else { return }
      }
    } catch { fail(error) }
  }

  private func ended(_ run: Int, _ end: ProcessEnd) {
    guard run == self.run, process != nil, !isEnding else { return }
    // Lines that it sent before its end still count.
    receive(run)
    guard run == self.run, process != nil else { return }
    fail(.ended("\(end)"))
  }

  private func fail(_ fault: DriverFault) {
    process?.kill()
    process = nil
    ticker?.cancel()
    ticker = nil
    guard !isEnding else { return }
    logger.error("the driver \(command.program) failed, and is started again in \(backOff) ms: \(fault)")
    session = DriverSession()
    position = .between
    early = []
    if isReady {
      isReady = false
      tell(.mechanismFailed)
    }
    let work = DispatchWorkItem { [weak self] in self?.startDriver() }
    restart = work
    DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(Int(backOff)), execute: work)
    backOff = min(2 * backOff, Self.longestBackOff)
  }

  // MARK: What it says

  private func perform(_ actions: [DriverSession.Action]) {
    for action in actions {
      switch action {
      case .send(let request):
        do throws(DriverFault) {
          try process?.send(request.line(watchdog: DriverSession.watchdogMilliseconds))
        } catch { return fail(error) }
      case .ready(let sensors):
        isReady = true
        position = sensors.position
        door = sensors.door ?? .closed
        logger.info("the driver \(session.name) is ready: the bolt is \(positionWord), the door \(doorWord)")
        tell(.mechanismRestored(position, door))
      case .report(let event):
        switch event {
        case .boltStopped(let position), .boltFound(let position), .boltTurnedByHand(let position, _):
          self.position = position
        case .doorChanged(let door): self.door = door
        default: break
        }
        tell(event)
      }
    }
  }

  private func tell(_ event: LockEvent) {
    if let report { return report(event) }
    // A mechanism that has failed before `report` is set is reported in `start`.
    if event != .mechanismFailed { early.append(event) }
  }
}
