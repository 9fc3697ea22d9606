import BlueZ
import BluetoothTypes
import BusTesting
import BusValue
import Glibc
import Logging
import SystemBus
import Testing

@testable import BlueZBus

let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// A server of org.bluez and a client of it, on one bus.
struct Pair {
  let bus: PrivateBus
  let server: BlueZServer
  let events = Inbox<BlueZServerEvent>()
  let client: BlueZClient
  let messages = Inbox<DaemonMessage>()

  init() async throws {
    bus = try PrivateBus()
    server = try startServer(on: bus, events)
    let messages = messages
    client = BlueZClient(address: bus.address.text, logger: logger) { messages.put($0) }
    try client.start()
    #expect(try await messages.next() == .appeared(Sample.objects))
  }

  func close() {
    client.close()
    server.close()
  }

  /// What the server hears next, which is answered if it is a call. A call that the bus's side refuses never comes to it.
  func answeringNext() -> Task<BlueZServerEvent, any Error> {
    Task {
      let event = try await events.next()
      if case .message(let sender, .call(let call, _, _)) = event {
        server.send(.reply(call, .success(.none)), to: sender)
      }
      return event
    }
  }

  /// Makes a call, has it answered, and returns the caller.
  @discardableResult
  func exchange(
    _ number: UInt64, _ path: ObjectPath, _ request: Request, answer: Result<Reply, BlueZError> = .success(.none)
  ) async throws -> String {
    client.send(.call(CallIdentifier(number), path: path, request))
    let event = try await events.next()
    guard case .message(let sender, .call(let identifier, let arrivedPath, let arrived)) = event else {
      throw PrivateBus.Failure(description: "\(event) in place of a call")
    }
    #expect(arrivedPath == path)
    #expect(arrived == request)
    server.send(.reply(identifier, answer), to: sender)
    #expect(try await messages.next() == .reply(CallIdentifier(number), answer))
    return sender
  }

  /// Registers the application, the advertisement, the monitor and the agent; returns the client's name.
  func register() async throws -> String {
    try await exchange(
      9001, Sample.adapter, .registerApplication(root: Sample.application, objects: Sample.applicationObjects))
    try await exchange(
      9002, Sample.adapter,
      .registerAdvertisement(path: Sample.advertisement, properties: Sample.advertisementProperties))
    try await exchange(
      9004, Sample.adapter, .registerMonitor(root: Sample.monitors, objects: [Sample.monitor: Sample.monitorInterfaces])
    )
    return try await exchange(
      9003, WellKnown.managerPath, .registerAgent(path: Sample.agent, capability: .displayYesNo))
  }
}

func startServer(on bus: PrivateBus, _ events: Inbox<BlueZServerEvent>) throws -> BlueZServer {
  let server = BlueZServer(
    address: bus.address.text, logger: logger, objects: Sample.objects, isExperimental: true
  ) { events.put($0) }
  try server.start()
  return server
}
