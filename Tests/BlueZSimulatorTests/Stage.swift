import BlueZ
import BlueZBus
import BlueZSimulator
import BusTesting
import BusValue
import Logging
import ProcessTesting
import Testing
import Timekeeping

/// A simulator on private buses, with its output.
final class Stage: Sendable {
  let buses: [String: PrivateBus]
  let simulator: BlueZSimulator
  let lines = Inbox<SimulatorLine>()
  let running: Task<Void, any Error>

  /// - Parameter adapters: the number of adapters, for machines with several.
  init(_ names: [String], adapters: [String: Int] = [:], experimental: Set<String> = []) async throws {
    var buses: [String: PrivateBus] = [:]
    for name in names { buses[name] = try PrivateBus() }
    self.buses = buses
    let lines = lines
    let machines = names.map { name in
      var machine = SimulatorMachine(name: name, busAddress: buses[name]?.address.text ?? "")
      machine.adapterCount = adapters[name] ?? 1
      machine.isExperimental = experimental.contains(name)
      return machine
    }
    let simulator = BlueZSimulator(
      machines: machines, seed: 1, time: try BootClock(),
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), onLine: { lines.put($0) })
    self.simulator = simulator
    // Its own, because a simulated bluetoothd that gets no processor for seconds gives up on its clients.
    let thread = OwnThread()
    running = Task(executorPreference: thread) {
      defer { thread.stop() }
      try await simulator.run()
    }
    while try await lines.next() != .ready {}
  }

  deinit { simulator.stop() }

  /// The answer to a command. Events before it are skipped.
  func obey(_ command: SimulatorCommand, id: UInt64 = 1) async throws -> SimulatorReply {
    simulator.send(SimulatorRequest(id: id, command: command))
    while true {
      if case .reply(let reply) = try await lines.next(), reply.id == id { return reply }
    }
  }

  /// A client that answers on its bus's thread: bluetoothd gives an application five seconds, and a busy machine can
  /// keep a test's own task waiting for longer.
  func client(on machine: String) throws -> (BlueZClient, Inbox<DaemonMessage>) {
    let inbox = Inbox<DaemonMessage>()
    let answering = Answering()
    let client = BlueZClient(
      address: buses[machine]?.address.text, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
      onMessage: { message in
        answering.hear(message)
        inbox.put(message)
      })
    answering.client.withLock { $0 = client }
    try client.start()
    return (client, inbox)
  }

  /// A client that has seen bluetoothd's objects.
  func talker(on machine: String) async throws -> Talker {
    let talker = try Talker(address: buses[machine]?.address.text)
    try await talker.until { $0.isPresent }
    return talker
  }
}
