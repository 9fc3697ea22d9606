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

extension BlueZSimulator {
  /// The state of `run`.
  struct Shell {
    let simulator: BlueZSimulator
    /// The thread that everything in this structure runs on.
    private let thread: BusThread
    private let alarm: any Alarm
    /// The deadline for which the alarm was last set. The alarm is set again only for another deadline, or after it has
    /// rung.
    private var alarmDeadline: Instant?
    private var hasAlarmRung = false
    /// The inputs that wait for their turn. Always empty if `takesTurns` is off.
    private var waiting = TurnQueue<Arrival>()
    var world: SimulatedWorld
    /// When the input that is being handled came.
    var now: Instant
    var servers: [String: (number: UInt64, server: BlueZServer)] = [:]
    var serverCount: UInt64 = 0
    /// Machines whose bluetoothd has started, and whose clients are not handled before everything about the start is on
    /// the bus.
    var starting: Set<String> = []
    var sockets: [String: [ChannelIdentifier: ChannelSocket]] = [:]
    var creditSockets: [String: [ChannelIdentifier: CreditSocket]] = [:]
    /// Events while machines were being added. They are discarded if a machine can't be added.
    private var early: [WorldEvent]? = []
    /// Why a machine's bus was not available during the present command.
    var failure: SimulatorError?

    init(_ simulator: BlueZSimulator, thread: BusThread, alarm: any Alarm) {
      self.simulator = simulator
      self.thread = thread
      self.alarm = alarm
      now = simulator.time.now
      world = SimulatedWorld(seed: simulator.seed, physics: simulator.physics)
      world.recordsAir = simulator.recordsAir
    }

    mutating func add(_ machine: SimulatorMachine, at index: Int) throws {
      // In one room until they are placed elsewhere.
      let position = Position(x: 2 * Double(index), y: 0)
      for number in 0..<max(1, machine.adapterCount) {
        var simulated = SimulatedMachine(
          name: AdapterName.name(machine.name, number), position: position, isPrivate: machine.isPrivate)
        simulated.adapterNumber = number
        simulated.isExperimental = machine.isExperimental
        simulated.isDualMode = machine.isDualMode
        carryOut(world.addMachine(simulated, at: now))
        if let failure { throw failure }
      }
    }

    /// The names of a machine's adapters in the world, in order.
    private func adapters(of machine: String) -> [String] {
      let count = simulator.machines.first { $0.name == machine }?.adapterCount ?? 1
      return (0..<max(1, count)).map { AdapterName.name(machine, $0) }
    }

    /// Passes a client's message to the adapter it names, or to each of them.
    private func take(_ message: ClientMessage, from client: ClientIdentifier, of machine: String) -> [SimulatedWorld
      .Event]
    {
      let all = adapters(of: machine)
      switch message {
      case .call(_, let path, _):
        let wanted = AdapterName.number(path).flatMap { all.indices.contains($0) ? [all[$0]] : nil } ?? all
        return wanted.map { .message(machine: $0, from: client, message) }
      case .answer(let callback, let result):
        let (own, number) = AdapterName.split(callback)
        guard all.indices.contains(number) else { return [] }
        return [.message(machine: all[number], from: client, .answer(own, result))]
      case .valueChanged, .serviceRemoved, .advertisementChanged, .monitorAdded, .monitorRemoved, .batteryAdded,
        .batteryChanged, .batteryRemoved:
        return all.map { .message(machine: $0, from: client, message) }
      }
    }

    /// Handles an input, or lets it wait for its turn.
    mutating func take(_ arrival: Arrival) {
      guard simulator.takesTurns, let source = arrival.input.source, waiting.takesTurns(at: arrival.instant) else {
        return handle(arrival)
      }
      waiting.add(arrival, from: source)
      setAlarm()
    }

    private mutating func handle(_ arrival: Arrival) {
      now = max(now, arrival.instant)
      switch arrival.input {
      case .client(let machine, let server, _, let work): if servers[machine]?.number == server { work() }
      case .bus(let machine, let server, let event): take(event, of: machine, server)
      case .request(let request): obey(request)
      case .survey(let id): answer(SimulatorReply(id: id, error: nil, world: world.survey))
      case .channel(let machine, let server, let channel, let input):
        take(input, through: channel, of: machine, server)
      case .alarm: alarmRang()
      }
      openServers()
    }

    private mutating func handle(_ event: SimulatedWorld.Event) {
      carryOut(world.handle(event, at: now))
    }

    mutating func take(_ event: BlueZServerEvent, of machine: String, _ server: UInt64) {
      guard servers[machine]?.number == server else {
        if case .message(_, .answer(_, .success(.channel(let descriptor, _)))) = event { Glibc.close(descriptor) }
        return
      }
      switch event {
      case .message(let client, .answer(let callback, .success(.channel(let descriptor, let mtu)))):
        let channel = ChannelIdentifier(given: descriptor)
        let adapters = adapters(of: machine)
        let number = AdapterName.split(callback).number
        listen(
          ChannelSocket(owning: descriptor), as: channel,
          of: adapters.indices.contains(number) ? adapters[number] : machine)
        let answer = ClientMessage.answer(callback, .success(.channel(fileDescriptor: descriptor, mtu: mtu)))
        for event in take(answer, from: ClientIdentifier(client), of: machine) { handle(event) }
      case .message(let client, let message):
        for event in take(message, from: ClientIdentifier(client), of: machine) { handle(event) }
      case .clientVanished(let client):
        for adapter in adapters(of: machine) {
          handle(.clientVanished(machine: adapter, ClientIdentifier(client)))
        }
      case .busLost:
        simulator.logger.warning("a machine's bus has ended", metadata: ["machine": "\(machine)"])
        servers[machine] = nil
        for adapter in adapters(of: machine) {
          handle(.command(.stopBluetoothd(machine: adapter, killed: true)))
        }
      }
    }

    mutating func obey(_ request: SimulatorRequest) {
      failure = nil
      for command in steps(of: request.command) {
        handle(.command(command))
        if failure != nil { break }
      }
      openServers()
      if let failure {
        simulator.onLine(.reply(SimulatorReply(id: request.id, error: failure.description)))
      } else {
        simulator.onLine(.reply(SimulatorReply(id: request.id, error: nil)))
      }
      failure = nil
    }

    /// The commands for each adapter. A machine has one bluetoothd process: it takes leave for the other adapters
    /// before it ends with the first, and it starts with the first.
    private func steps(of command: WorldCommand) -> [WorldCommand] {
      let machine = AdapterName.machine(command.machine)
      // The machine's own name means all its adapters.
      let isFirstAlone = command.machine == "\(machine)/hci0"
      guard world.machineNames.contains(isFirstAlone ? machine : command.machine) else { return [command] }
      let others = adapters(of: machine).dropFirst()
      func stops(_ killed: Bool) -> [WorldCommand] { others.map { .stopBluetoothd(machine: $0, killed: killed) } }
      switch command {
      case .restartBluetoothd(_, let killed): return stops(killed) + [command.naming(machine)]
      case .stopBluetoothd(_, let killed): return stops(killed) + [command.naming(machine)]
      case .startBluetoothd: return [command.naming(machine)]
      default:
        return isFirstAlone ? [command.naming(machine)] : adapters(of: command.machine).map { command.naming($0) }
      }
    }

    private mutating func carryOut(_ outputs: [SimulatedWorld.Output]) {
      for output in outputs {
        switch output {
        case .send(let adapter, let client, let message):
          servers[AdapterName.machine(adapter)]?.server.send(AdapterName.marked(message, adapter), to: client.name)
        case .broadcast(let adapter, let signal): servers[AdapterName.machine(adapter)]?.server.broadcast(signal)
        case .unannounced(let adapter, let signal): servers[AdapterName.machine(adapter)]?.server.apply(signal)
        case .started(let adapter, let objects):
          started(adapter, objects)
        case .channel(let adapter, let effect): carryOut(effect, of: adapter)
        case .stopped(let adapter): stopped(adapter)
        case .shutDown: break
        case .event(let event):
          record(event)
          if case .bluetoothdStopped(let adapter, "crashed") = event { crashed(adapter) }
        case .refused(let reason): failure = SimulatorError(reason)
        }
      }
      setAlarm()
    }

    /// An alarm at the present moment rings when the world rests.
    private mutating func setAlarm() {
      setAlarm(waiting.isEmpty ? world.nextDeadline : simulator.time.now)
    }

    private mutating func setAlarm(_ deadline: Instant?) {
      guard deadline != alarmDeadline || hasAlarmRung else { return }
      (alarmDeadline, hasAlarmRung) = (deadline, false)
      alarm.set(deadline)
    }

    private mutating func alarmRang() {
      hasAlarmRung = true
      // The inputs of this moment come before what is due at it.
      guard !waiting.isEmpty else { return handle(.timePassed) }
      for arrival in waiting.nextTurn(at: simulator.time.now) { handle(arrival) }
      setAlarm()
    }

    /// For a machine with several adapters, the first brings the bus, and then all start. The others' objects are
    /// added one by one, as usual.
    private mutating func started(_ adapter: String, _ objects: ManagedObjects) {
      let machine = AdapterName.machine(adapter)
      guard machine == adapter else {
        if !world.isRunning(machine) { handle(.command(.startBluetoothd(machine: machine))) }
        return
      }
      startServer(machine, objects)
      guard servers[machine] != nil else { return }
      let known = Set(world.machineNames)
      for other in adapters(of: machine).dropFirst() where known.contains(other) && !world.isRunning(other) {
        handle(.command(.startBluetoothd(machine: other)))
      }
    }

    /// A crash caused by one adapter ends bluetoothd for all of them.
    private mutating func crashed(_ adapter: String) {
      let machine = AdapterName.machine(adapter)
      guard machine != adapter, world.isRunning(machine) else { return }
      handle(.command(.stopBluetoothd(machine: machine, killed: true)))
    }

    /// A machine has one bluetoothd process: when the first adapter's ends, all end.
    private mutating func stopped(_ adapter: String) {
      let machine = AdapterName.machine(adapter)
      guard machine == adapter else { return }
      servers.removeValue(forKey: machine)?.server.close()
      for other in adapters(of: machine).dropFirst() where world.isRunning(other) {
        handle(.command(.stopBluetoothd(machine: other, killed: true)))
      }
    }

    // MARK: Sockets

    private mutating func carryOut(_ effect: BlueZModel.ChannelEffect, of machine: String) {
      switch effect {
      case .open(let channel, let client, let call, let mtu):
        guard let server = servers[AdapterName.machine(machine)]?.server else { return }
        guard let (socket, other) = ChannelSocket.pair() else {
          return server.send(.reply(call, .failure(.failed("Input/output error"))), to: client.name)
        }
        listen(socket, as: channel, of: machine)
        server.send(.reply(call, .success(.channel(fileDescriptor: other, mtu: mtu))), to: client.name)
      case .openCredit(let channel, let client, let call, let mtu, let device):
        guard let server = servers[AdapterName.machine(machine)] else { return }
        let number = server.number
        guard
          let (socket, other) = CreditSocket.pair(onInput: { [weak simulator] in
            simulator?.enqueue(.channel(machine: machine, server: number, channel, $0))
          })
        else {
          enqueueEnd(of: channel, machine, number)
          return server.server.send(.reply(call, .failure(.failed("Input/output error"))), to: client.name)
        }
        creditSockets[machine, default: [:]][channel] = socket
        let descriptor = ChannelDescriptor(owning: other) { Glibc.close($0) }
        server.server.send(
          .reply(call, .success(.creditChannel(descriptor, mtu: mtu, device: device))), to: client.name)
      case .read(let channel): creditSockets[machine]?[channel]?.readOne()
      case .data(let channel, let bytes):
        sockets[machine]?[channel]?.send(bytes)
        creditSockets[machine]?[channel]?.send(bytes)
      case .close(let channel):
        sockets[machine]?.removeValue(forKey: channel)?.close()
        creditSockets[machine]?.removeValue(forKey: channel)?.end()
      }
    }

    /// Reports a channel as closed, because no socket could be made for it.
    private func enqueueEnd(of channel: ChannelIdentifier, _ machine: String, _ number: UInt64) {
      simulator.enqueue(.channel(machine: machine, server: number, channel, .closed))
    }

    private mutating func listen(_ socket: ChannelSocket, as channel: ChannelIdentifier, of machine: String) {
      guard let number = servers[AdapterName.machine(machine)]?.number else { return socket.close() }
      sockets[machine, default: [:]][channel] = socket
      socket.listen { [weak simulator] in
        simulator?.enqueue(.channel(machine: machine, server: number, channel, $0))
      }
    }

    mutating func take(
      _ input: ChannelInput, through channel: ChannelIdentifier, of machine: String, _ server: UInt64
    ) {
      guard servers[AdapterName.machine(machine)]?.number == server else { return }
      handle(.channel(machine: machine, channel, input))
      // The channel may be unknown to the model, or no longer known.
      if input == .closed {
        sockets[machine]?.removeValue(forKey: channel)?.close()
        creditSockets[machine]?.removeValue(forKey: channel)?.close()
      }
    }

    private mutating func startServer(_ machine: String, _ objects: ManagedObjects) {
      guard let served = simulator.machines.first(where: { $0.name == machine }) else { return }
      serverCount += 1
      let number = serverCount
      let turns: BlueZServer.Turns = { [weak simulator] client, work in
        simulator?.enqueue(.client(machine: machine, server: number, name: client, work))
      }
      let server = BlueZServer(
        address: served.busAddress, logger: simulator.logger, objects: objects, isExperimental: served.isExperimental,
        time: simulator.time, thread: thread, turns: simulator.takesTurns ? turns : nil
      ) { [weak simulator] event in
        simulator?.enqueue(.bus(machine: machine, server: number, event))
      }
      do {
        try server.connect()
        servers[machine] = (number, server)
        starting.insert(machine)
      } catch {
        hasNoBus(machine, error)
      }
    }

    /// Clients of a new bluetoothd are handled when everything about its start is on the bus. A client that calls as
    /// soon as the name appears finds every object, as with bluetoothd, which exports its objects before it handles
    /// calls.
    mutating func openServers() {
      for machine in starting.sorted() {
        do {
          try servers[machine]?.server.open()
        } catch {
          servers[machine] = nil
          hasNoBus(machine, error)
        }
      }
      starting = []
    }

    private mutating func hasNoBus(_ machine: String, _ error: BusError) {
      let address = simulator.machines.first { $0.name == machine }?.busAddress ?? ""
      failure = SimulatorError("\(machine): no bus at \(address): \(error)")
      simulator.logger.error("no bus", metadata: ["machine": "\(machine)", "error": "\(error)"])
      _ = world.handle(.command(.stopBluetoothd(machine: machine, killed: true)), at: now)
    }

    private mutating func record(_ event: WorldEvent) {
      guard early == nil else {
        early?.append(event)
        return
      }
      let entry = event.journalEntry
      simulator.logger.record(entry.event, entry.fields)
      simulator.onLine(.event(event))
    }

    /// All machines are there.
    mutating func begin() {
      openServers()
      let events = early ?? []
      early = nil
      for event in events { record(event) }
      simulator.onLine(.ready)
    }

    func answer(_ reply: SimulatorReply) { simulator.onLine(.reply(reply)) }

    mutating func close() {
      setAlarm(nil)
      for socket in sockets.values.flatMap(\.values) { socket.close() }
      sockets = [:]
      for socket in creditSockets.values.flatMap(\.values) { socket.close() }
      creditSockets = [:]
      for (_, server) in servers.values { server.close() }
      servers = [:]
    }
  }
}
