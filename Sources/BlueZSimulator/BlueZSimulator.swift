import BlueZ
import BlueZBus
import BlueZModel
import Journal
import Logging
import Radio
import SystemBus
import Timekeeping

/// A machine of the simulator's: its name, and its bus.
public struct SimulatorMachine: Sendable, Hashable {
  public var name: String
  /// D-Bus's form, such as `unix:path=/run/door/bus`.
  public var busAddress: String
  public var isPrivate: Bool
  public init(name: String, busAddress: String, isPrivate: Bool = false) {
    self.name = name
    self.busAddress = busAddress
    self.isPrivate = isPrivate
  }
}

/// Why a simulator could not start, or a machine not boot.
public struct SimulatorError: Error, Sendable, Hashable, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }
}

/// A `SimulatedWorld`, with a bus for every machine, and a clock. What happens, happens in one order: that of the one
/// queue through which everything comes.
public final class BlueZSimulator: Sendable {
  private enum Input: Sendable {
    case bus(machine: String, server: UInt64, BlueZServerEvent)
    case request(SimulatorRequest)
    case alarm
  }

  private let machines: [SimulatorMachine]
  private let seed: UInt64
  private let physics: RadioPhysics
  private let time: any TimeSource
  private let logger: Logger
  private let onLine: @Sendable (SimulatorLine) -> Void
  private let inputs: AsyncStream<Input>
  private let queue: AsyncStream<Input>.Continuation

  /// - Parameter onLine: told of every answer and every event, in order.
  public init(
    machines: [SimulatorMachine], seed: UInt64, physics: RadioPhysics = RadioPhysics(), time: any TimeSource,
    logger: Logger,
    onLine: @escaping @Sendable (SimulatorLine) -> Void
  ) {
    self.machines = machines
    self.seed = seed
    self.physics = physics
    self.time = time
    self.logger = logger
    self.onLine = onLine
    (inputs, queue) = AsyncStream.makeStream()
  }

  /// Takes a request; it is answered once, through `onLine`.
  public func send(_ request: SimulatorRequest) { queue.yield(.request(request)) }

  /// Ends `run` after everything that came before.
  public func stop() { queue.finish() }

  /// Serves all machines until `stop`. Called once.
  ///
  /// - Throws: `SimulatorError` where names are not unique or a bus cannot be had.
  public func run() async throws {
    guard !machines.isEmpty else { throw SimulatorError("a world needs a machine: --machine NAME=ADDRESS") }
    guard Set(machines.map(\.name)).count == machines.count else {
      throw SimulatorError("two machines have one name")
    }
    let queue = queue
    var shell = Shell(self, alarm: time.makeAlarm { queue.yield(.alarm) })
    do {
      for (index, machine) in machines.enumerated() { try await shell.add(machine, at: index) }
      onLine(.ready)
      for await input in inputs {
        switch input {
        case .bus(let machine, let server, let event): await shell.take(event, of: machine, server)
        case .request(let request): await shell.obey(request)
        case .alarm: await shell.handle(.timePassed)
        }
      }
    } catch {
      await shell.close()
      throw error
    }
    await shell.close()
  }

  /// What `run` has in hand.
  private struct Shell {
    let simulator: BlueZSimulator
    let alarm: any Alarm
    var world: SimulatedWorld
    var servers: [String: (number: UInt64, server: BlueZServer)] = [:]
    var serverCount: UInt64 = 0
    /// Why a machine's bus could not be had while the command at hand was obeyed.
    var failure: SimulatorError?

    init(_ simulator: BlueZSimulator, alarm: any Alarm) {
      self.simulator = simulator
      self.alarm = alarm
      world = SimulatedWorld(seed: simulator.seed, physics: simulator.physics)
    }

    mutating func add(_ machine: SimulatorMachine, at index: Int) async throws {
      // In one room until somebody places them.
      let position = Position(x: 2 * Double(index), y: 0)
      let outputs = world.addMachine(
        SimulatedMachine(name: machine.name, position: position, isPrivate: machine.isPrivate),
        at: simulator.time.now)
      await carryOut(outputs)
      if let failure { throw failure }
    }

    mutating func handle(_ event: SimulatedWorld.Event) async {
      await carryOut(world.handle(event, at: simulator.time.now))
    }

    mutating func take(_ event: BlueZServerEvent, of machine: String, _ server: UInt64) async {
      guard servers[machine]?.number == server else { return }
      switch event {
      case .message(let client, let message):
        await handle(.message(machine: machine, from: ClientIdentifier(client), message))
      case .clientVanished(let client): await handle(.clientVanished(machine: machine, ClientIdentifier(client)))
      case .busLost:
        simulator.logger.warning("a machine's bus has ended", metadata: ["machine": "\(machine)"])
        servers[machine] = nil
        await handle(.command(.stopBluetoothd(machine: machine, killed: true)))
      }
    }

    mutating func obey(_ request: SimulatorRequest) async {
      failure = nil
      await handle(.command(request.command))
      if let failure {
        simulator.onLine(.reply(SimulatorReply(id: request.id, error: failure.description)))
      } else {
        simulator.onLine(.reply(SimulatorReply(id: request.id, error: nil)))
      }
      failure = nil
    }

    private mutating func carryOut(_ outputs: [SimulatedWorld.Output]) async {
      for output in outputs {
        switch output {
        case .send(let machine, let client, let message): servers[machine]?.server.send(message, to: client.name)
        case .broadcast(let machine, let signal): servers[machine]?.server.broadcast(signal)
        case .started(let machine, let objects): await startServer(machine, objects)
        case .stopped(let machine): await servers.removeValue(forKey: machine)?.server.closeAndWait()
        case .shutDown: break
        case .event(let event): record(event)
        case .refused(let reason): failure = SimulatorError(reason)
        }
      }
      alarm.set(world.nextDeadline)
    }

    private mutating func startServer(_ machine: String, _ objects: ManagedObjects) async {
      guard let address = simulator.machines.first(where: { $0.name == machine })?.busAddress else { return }
      serverCount += 1
      let (number, queue) = (serverCount, simulator.queue)
      let server = BlueZServer(address: address, logger: simulator.logger, objects: objects) { event in
        queue.yield(.bus(machine: machine, server: number, event))
      }
      do {
        try server.start()
        servers[machine] = (number, server)
      } catch {
        failure = SimulatorError("\(machine): no bus at \(address): \(error)")
        simulator.logger.error("no bus", metadata: ["machine": "\(machine)", "error": "\(error)"])
        _ = world.handle(.command(.stopBluetoothd(machine: machine, killed: true)), at: simulator.time.now)
      }
    }

    private func record(_ event: WorldEvent) {
      let entry = event.journalEntry
      simulator.logger.record(entry.name, entry.fields)
      simulator.onLine(.event(event))
    }

    mutating func close() async {
      alarm.set(nil)
      for (_, server) in servers.values { await server.closeAndWait() }
      servers = [:]
    }
  }
}
