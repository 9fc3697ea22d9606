import BlueZ
import BlueZBus
import BlueZModel
import BluetoothTypes
import Glibc
import Journal
import Logging
import Radio
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

/// A `SimulatedWorld` with a bus for every machine, and a clock. Everything passes through one queue, so there is one
/// order of events.
package final class BlueZSimulator: Sendable {
  enum Input: Sendable {
    case bus(machine: String, server: UInt64, BlueZServerEvent)
    case request(SimulatorRequest)
    case survey(UInt64)
    case channel(machine: String, server: UInt64, ChannelIdentifier, ChannelInput)
    case alarm
  }

  /// An input and when it came. It counts from then: a busy machine that handles it late must not take an answer that
  /// came in time for one that did not.
  private struct Arrival: Sendable {
    let input: Input
    let instant: Instant
  }

  let machines: [SimulatorMachine]
  let seed: UInt64
  let physics: RadioPhysics
  let recordsAir: Bool
  let time: any TimeSource
  let logger: Logger
  let onLine: @Sendable (SimulatorLine) -> Void
  private let inputs: AsyncStream<Arrival>
  private let queue: AsyncStream<Arrival>.Continuation

  /// - Parameters:
  ///   - recordsAir: whether advertisements and scans are among the events.
  ///   - onLine: is told of every answer and every event, in order.
  package init(
    machines: [SimulatorMachine], seed: UInt64, physics: RadioPhysics = RadioPhysics(), time: any TimeSource,
    logger: Logger, recordsAir: Bool = false,
    onLine: @escaping @Sendable (SimulatorLine) -> Void
  ) {
    self.machines = machines
    self.seed = seed
    self.physics = physics
    self.recordsAir = recordsAir
    self.time = time
    self.logger = logger
    self.onLine = onLine
    (inputs, queue) = AsyncStream.makeStream()
  }

  /// Queues a request. It is answered once, through `onLine`.
  package func send(_ request: SimulatorRequest) { enqueue(.request(request)) }

  /// Answers, through `onLine`, with a survey of the world.
  package func survey(id: UInt64) { enqueue(.survey(id)) }

  func enqueue(_ input: Input) { queue.yield(Arrival(input: input, instant: time.now)) }

  /// Ends `run` after everything queued before.
  package func stop() { queue.finish() }

  /// Serves all machines until `stop`. Called once.
  ///
  /// - Throws: `SimulatorError` if names are not unique or a bus is not available.
  package func run() async throws {
    guard !machines.isEmpty else { throw SimulatorError("a world needs a machine: --machine NAME=ADDRESS") }
    guard Set(machines.map(\.name)).count == machines.count else {
      throw SimulatorError("two machines have one name")
    }
    var shell = Shell(self, alarm: time.makeAlarm { [weak self] in self?.enqueue(.alarm) })
    do {
      for (index, machine) in machines.enumerated() { try await shell.add(machine, at: index) }
      shell.begin()
      for await arrival in inputs {
        shell.now = max(shell.now, arrival.instant)
        switch arrival.input {
        case .bus(let machine, let server, let event): await shell.take(event, of: machine, server)
        case .request(let request): await shell.obey(request)
        case .survey(let id): shell.answer(SimulatorReply(id: id, error: nil, world: shell.world.survey))
        case .channel(let machine, let server, let channel, let input):
          await shell.take(input, through: channel, of: machine, server)
        case .alarm: await shell.alarmRang()
        }
        shell.openServers()
      }
    } catch {
      await shell.close()
      throw error
    }
    await shell.close()
  }
}
