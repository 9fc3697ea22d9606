import AppLink
import BusTesting
import BusValue
import Foundation
import Synchronization
import SystemBus
import Testing

@testable import AppLinkBus

/// A process with the system's name that answers as a test says.
private final class BareSystem: Sendable {
  let calls = Inbox<IncomingCall>()
  private let bus: Bus

  /// - Parameter relay: opened by the first call, on the bus's own thread: a client waits for the bus's greeting for 25 s only, and
  ///   on a busy machine a test may not be continued for longer than that.
  init(on bus: PrivateBus, opening relay: BusRelay? = nil) throws {
    self.bus = try Bus(address: bus.address, name: AppLinkName.busName)
    try self.bus.start(
      BusHandlers(onCall: { [calls] _, call in
        relay?.letThrough()
        calls.put(call)
      }))
  }

  func answer(_ call: IncomingCall, _ result: Result<[Value], AppLinkError>) {
    bus.enqueue { $0.reply(to: call, with: result.mapError { BusError($0) }) }
  }

  func accept(_ call: IncomingCall) { answer(call, .success(AttachCoding.values(TestSystem.reply))) }

  func close() { bus.closeAndWait() }
}

@Suite("One round trip from the start of an app to what it was started for", .timeLimit(.minutes(20)))
struct EarlyManagerTests {
  private static let creation = ManagerCreation(role: .central, restoreIdentifier: "door")
  private static let request = Request.createManager(Sample.manager, creation)
  private static let refusal = AppLinkError(.notAttached, "an app attaches first")

  @Test("L2: the attachment leaves with the greeting, before the bus has answered anything")
  func oneRoundTrip() async throws {
    let bus = try PrivateBus()
    let relay = try BusRelay(to: bus.address)
    // The bus says nothing until the attachment has arrived.
    let system = try BareSystem(on: bus, opening: relay)
    let app = App()
    let client = AppLinkClient(address: relay.address.text, logger: logger, delegate: app)
    // On a thread of its own, because it blocks until the bus has answered.
    let started = Inbox<Bool>()
    Thread.detachNewThread { started.put((try? client.start()) != nil) }
    let attachment = try await system.calls.next()
    #expect(attachment.member == "Attach")
    #expect(try await started.next())
    system.accept(attachment)
    #expect(try await app.told.next() == .attached(TestSystem.reply))
    client.close()
    system.close()
  }

  /// An app that makes its manager as it starts.
  private func client(of app: App, on bus: PrivateBus) throws -> AppLinkClient {
    let client = AppLinkClient(address: bus.address.text, logger: logger, delegate: app)
    try client.start()
    #expect(client.createEarly(Sample.manager, Self.creation))
    return client
  }

  @Test("L2: a manager is asked for behind the attachment, before that is answered, and once")
  func behindTheAttachment() async throws {
    let bus = try PrivateBus()
    let system = try BareSystem(on: bus)
    let app = App()
    let client = try client(of: app, on: bus)
    let attachment = try await system.calls.next()
    #expect(attachment.member == "Attach")
    let creation = try await system.calls.next()
    isAsked(creation)
    system.accept(attachment)
    #expect(try await app.told.next() == .attached(TestSystem.reply))
    system.answer(creation, .success([]))
    client.send(.central(Sample.manager, .stopScan))
    #expect(try await system.calls.next().member == RequestCoding.message(.central(Sample.manager, .stopScan)).name)
    client.close()
    system.close()
  }

  @Test("L2: a system of a version that refuses it is asked again once the app is attached", arguments: [true, false])
  func olderSystem(refusesFirst: Bool) async throws {
    let bus = try PrivateBus()
    let system = try BareSystem(on: bus)
    let app = App()
    let client = try client(of: app, on: bus)
    let (attachment, creation) = (try await system.calls.next(), try await system.calls.next())
    if refusesFirst { system.answer(creation, .failure(Self.refusal)) }
    system.accept(attachment)
    if !refusesFirst { system.answer(creation, .failure(Self.refusal)) }
    let again = try await system.calls.next()
    isAsked(again)
    client.close()
    system.close()
  }

  @Test("L2: a system that leaves before it answers is followed by the next one, which is asked for the same managers")
  func nextSystem() async throws {
    let bus = try PrivateBus()
    let first = try BareSystem(on: bus)
    let app = App()
    let client = try client(of: app, on: bus)
    for member in ["Attach", "CreateManager"] { #expect(try await first.calls.next().member == member) }
    first.close()
    let second = try BareSystem(on: bus)
    let attachment = try await second.calls.next()
    #expect(attachment.member == "Attach")
    isAsked(try await second.calls.next())
    second.accept(attachment)
    #expect(try await app.told.next() == .attached(TestSystem.reply))
    // Gone from an app that was attached: now the library repeats what still matters.
    second.close()
    #expect(try await app.told.next() == .detached)
    let third = try BareSystem(on: bus)
    third.accept(try await third.calls.next())
    #expect(try await app.told.next() == .attached(TestSystem.reply))
    client.send(.central(Sample.manager, .stopScan))
    #expect(try await third.calls.next().member == RequestCoding.message(.central(Sample.manager, .stopScan)).name)
    client.close()
    third.close()
  }

  /// It is the request for the manager.
  private func isAsked(_ call: IncomingCall) {
    #expect((try? RequestCoding.request(call.member, ArgumentReader(call.arguments))) == Self.request)
  }

  @Test("L2: a manager that is gone before the app is attached is not left behind")
  func goneEarly() async throws {
    let bus = try PrivateBus()
    let system = try BareSystem(on: bus)
    let app = App()
    let client = try client(of: app, on: bus)
    let (attachment, creation) = (try await system.calls.next(), try await system.calls.next())
    client.destroyEarly(Sample.manager)
    system.accept(attachment)
    system.answer(creation, .success([]))
    let end = try await system.calls.next()
    #expect(
      try RequestCoding.request(end.member, ArgumentReader(end.arguments)) == .destroyManager(Sample.manager))
    client.close()
    system.close()
  }

  // MARK: The system's side

  private struct Peer {
    let bus: Bus
    let answers = Inbox<String?>()

    init(on bus: PrivateBus) throws {
      self.bus = try Bus(address: bus.address)
      try self.bus.start()
    }

    /// Calls, and puts the error's name into `answers`, or `nil`.
    func call(_ message: WireMessage) {
      let call = MethodCall(
        to: AppLinkName.busName, path: AppLinkName.path, interface: AppLinkName.appInterface, member: message.name,
        arguments: message.arguments)
      bus.enqueue { [answers] bus in
        bus.call(call) { result in
          if case .failure(let error) = result { answers.put(error.name) } else { answers.put(nil) }
        }
      }
    }
  }

  @Test(
    "L2: latchkeyd keeps what comes behind an attachment until the app is accepted, within limits",
    arguments: [true, false])
  func kept(isAccepted: Bool) async throws {
    let bus = try PrivateBus()
    let events = Inbox<AppLinkServerEvent>()
    let box = Holder()
    let server = AppLinkServer(address: bus.address.text, logger: logger) { event in
      if case .request(let connection, _) = event { box.value?.handled(connection) }
      events.put(event)
    }
    box.value = server
    try server.start()
    let peer = try Peer(on: bus)
    peer.call(AttachCoding.message(Attachment(bundleIdentifier: "org.latchkey.test")))
    guard case .attach(let connection, _, _, let token) = try await events.next() else {
      Issue.record("no attachment")
      return
    }
    for _ in 0...Flow.earlyLimit { peer.call(RequestCoding.message(Self.request)) }
    // The one too many is refused at once.
    #expect(try await peer.answers.next() == "org.latchkey.Error.NotAttached")
    #expect(events.untaken.isEmpty)
    server.reply(to: token, isAccepted ? .success(TestSystem.reply) : .failure(AppLinkError(.notThatApp, "no")))
    #expect(try await peer.answers.next() == (isAccepted ? nil : "org.latchkey.Error.NotThatApp"))
    for _ in 0..<Flow.earlyLimit {
      if isAccepted { #expect(try await events.next() == .request(connection, Self.request)) }
      #expect(try await peer.answers.next() == (isAccepted ? nil : "org.latchkey.Error.NotAttached"))
    }
    #expect(events.untaken.isEmpty)
    peer.bus.close()
    server.close()
  }
}
