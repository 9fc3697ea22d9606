import BlueZ
import BlueZBus
import BlueZModel
import BluetoothTypes
import Glibc
import Journal
import Logging
import Radio
import Synchronization
import SystemBus
import TimeTypes
import Timekeeping

/// A machine of the simulator: its name and its bus.
package struct SimulatorMachine: Sendable, Hashable {
  package var name: String
  /// A D-Bus address, such as `unix:path=/run/door/bus`.
  package var busAddress: String
  package var isPrivate: Bool
  /// How many adapters it has: `hci0`, `hci1` and so on. In commands and events the second one is `NAME/hci1`. A
  /// command for NAME applies to all of them.
  package var adapterCount = 1
  /// bluetoothd's `--experimental`.
  package var isExperimental = false
  /// Its adapters have classic Bluetooth beside Low Energy.
  package var isDualMode = false
  package init(name: String, busAddress: String, isPrivate: Bool = false) {
    self.name = name
    self.busAddress = busAddress
    self.isPrivate = isPrivate
  }
}

/// Why a simulator could not start, or a machine could not boot.
package struct SimulatorError: Error, Sendable, Hashable, CustomStringConvertible {
  package let description: String
  init(_ description: String) { self.description = description }
}

/// A `SimulatedWorld` with a bus for every machine, and a clock. All input passes through one queue, so there is one
/// order of events. One thread serves all buses and handles the queue, so a message from one machine to another never
/// waits for a second thread.
package final class BlueZSimulator: Sendable {
  enum Input: Sendable {
    /// A client's message has come. The closure handles it.
    case client(machine: String, server: UInt64, name: String, @Sendable () -> Void)
    case bus(machine: String, server: UInt64, BlueZServerEvent)
    case request(SimulatorRequest)
    case survey(UInt64)
    case channel(machine: String, server: UInt64, ChannelIdentifier, ChannelInput)
    case alarm

    /// The source whose turn an input waits for, or `nil` for an input that is handled at once. Commands are handled at
    /// once, because nothing else happens in the world while one is given.
    var source: TurnQueue<Arrival>.Source? {
      switch self {
      case .client(let machine, _, let client, _): .init(group: machine, name: client)
      // Named so that it differs from the name of a client.
      case .channel(let machine, _, let channel, _):
        .init(group: AdapterName.machine(machine), name: "channel \(channel)")
      case .bus, .request, .survey, .alarm: nil
      }
    }
  }

  /// An input, and the time at which it came. That time counts, and not the time at which the input is handled: on a
  /// busy computer, an answer that came in time must not count as late.
  struct Arrival: Sendable {
    let input: Input
    let instant: Instant
  }

  let machines: [SimulatorMachine]
  let seed: UInt64
  let physics: RadioPhysics
  let recordsAir: Bool
  let takesTurns: Bool
  let time: any TimeSource
  let logger: Logger
  let onLine: @Sendable (SimulatorLine) -> Void

  private enum State: Sendable {
    /// `run` was not called yet.
    case new([Arrival], isStopped: Bool)
    case running(Engine)
    case stopped
  }

  private let state = Mutex(State.new([], isStopped: false))

  /// - Parameters:
  ///   - recordsAir: whether advertisements and scans are among the events.
  ///   - takesTurns: whether what machines say is handled only when the world rests (`TurnQueue`). This needs a `time`
  ///     whose alarms ring when the world rests, such as `SharedClock`.
  ///   - onLine: receives every answer and every event, in order.
  package init(
    machines: [SimulatorMachine], seed: UInt64, physics: RadioPhysics = RadioPhysics(), time: any TimeSource,
    logger: Logger, recordsAir: Bool = false, takesTurns: Bool = false,
    onLine: @escaping @Sendable (SimulatorLine) -> Void
  ) {
    self.machines = machines
    self.seed = seed
    self.physics = physics
    self.recordsAir = recordsAir
    self.takesTurns = takesTurns
    self.time = time
    self.logger = logger
    self.onLine = onLine
  }

  /// Queues a request. It is answered once, through `onLine`.
  package func send(_ request: SimulatorRequest) { enqueue(.request(request)) }

  /// Answers, through `onLine`, with a survey of the world.
  package func survey(id: UInt64) { enqueue(.survey(id)) }

  func enqueue(_ input: Input) {
    let arrival = Arrival(input: input, instant: time.now)
    // Under the lock, so that nothing overtakes what came before `run`.
    state.withLock { state in
      switch state {
      case .new(let earlier, isStopped: false): state = .new(earlier + [arrival], isStopped: false)
      case .running(let engine): engine.take(arrival)
      case .new, .stopped: break
      }
    }
  }

  /// Ends `run` after everything queued before.
  package func stop() {
    state.withLock { state in
      switch state {
      case .new(let earlier, _): state = .new(earlier, isStopped: true)
      case .running(let engine):
        engine.end()
        state = .stopped
      case .stopped: break
      }
    }
  }

  /// Serves all machines until `stop`. Called once.
  ///
  /// - Throws: `SimulatorError` if names are not unique or a bus is not available.
  package func run() async throws {
    guard !machines.isEmpty else { throw SimulatorError("a world needs a machine: --machine NAME=ADDRESS") }
    guard Set(machines.map(\.name)).count == machines.count else {
      throw SimulatorError("two machines have one name")
    }
    let engine = try Engine(self)
    defer { engine.thread.stop() }
    do {
      try await engine.begin(machines)
    } catch {
      state.withLock { $0 = .stopped }
      await engine.close()
      throw error
    }
    state.withLock { state in
      guard case .new(let earlier, let isStopped) = state else { return }
      for arrival in earlier { engine.take(arrival) }
      if isStopped { engine.end() }
      state = isStopped ? .stopped : .running(engine)
    }
    await engine.waitForEnd()
    await engine.close()
  }
}
