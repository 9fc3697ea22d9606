import AppLink
import BusTesting
import Foundation
import Logging
import Synchronization

@testable import AppLinkBus

// The test library has one too.
typealias Attachment = AppLink.Attachment

let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// An app's library that records what it is told.
final class App: AppLinkDelegate {
  enum Told: Equatable, Sendable {
    case attached(AttachReply)
    case event(Event)
    case detached
    case refused(AppLinkError)
  }

  let told = Inbox<Told>()
  private let lastEvent = Mutex<EventSequence?>(nil)

  var attachment: Attachment {
    Attachment(bundleIdentifier: "org.latchkey.test", lastEvent: lastEvent.withLock { $0 })
  }
  func linkDidAttach(_ reply: AttachReply) { told.put(.attached(reply)) }
  func linkDidReceive(_ event: Event) {
    lastEvent.withLock { $0 = event.sequence }
    told.put(.event(event))
  }
  func linkDidDetach() { told.put(.detached) }
  func linkWasRefused(_ error: AppLinkError) { told.put(.refused(error)) }
}

/// A system that accepts everyone and answers queries with `peripherals`.
struct TestSystem {
  let server: AppLinkServer
  let events = Inbox<AppLinkServerEvent>()
  static let reply = AttachReply(
    centralsToRestore: ["door"], peripheralsToRestore: [], backgroundModes: ["bluetooth-central"])

  init(on bus: PrivateBus, refusing: AppLinkError? = nil) throws {
    let inbox = events
    let box = Holder()
    server = AppLinkServer(address: bus.address.text, logger: logger) { event in
      if case .attach(_, _, _, let token) = event {
        box.value?.reply(to: token, refusing.map { .failure($0) } ?? .success(Self.reply))
      }
      if case .query(_, _, let token) = event {
        box.value?.reply(to: token, .success([Sample.peripheral, Sample.barePeripheral]))
      }
      inbox.put(event)
      switch event {
      case .request(let connection, _), .query(let connection, _, _): box.value?.handled(connection)
      default: break
      }
    }
    box.value = server
    try server.start()
  }

  /// The connection of the next app that attaches.
  func nextAttach() async throws -> (AppConnection, Credentials, Attachment) {
    guard case .attach(let connection, let credentials, let attachment, _) = try await events.next() else {
      throw PrivateBus.Failure(description: "no attach")
    }
    return (connection, credentials, attachment)
  }
}

/// An app with its library, attached to a system.
struct AttachedApp {
  let app = App()
  let client: AppLinkClient
  /// What the system was told about it.
  let connection: AppConnection
  let credentials: Credentials
  let attachment: Attachment

  /// Returns when both sides know of each other. No message is left unread.
  init(on bus: PrivateBus, to system: TestSystem) async throws {
    client = AppLinkClient(address: bus.address.text, logger: logger, delegate: app)
    try client.start()
    (connection, credentials, attachment) = try await system.nextAttach()
    guard case .attached(TestSystem.reply) = try await app.told.next() else {
      throw PrivateBus.Failure(description: "not attached")
    }
  }
}

/// An app that asks the system something: in its delegate's methods, or when a test says so.
final class Asker: AppLinkDelegate {
  let attached = Inbox<Bool>()
  let answers = Inbox<Result<QueryReply, AppLinkError>>()
  /// The requests it sends before each question.
  private let requests: [Request]
  private let asksWhenAttached: Bool
  private let client = Mutex<AppLinkClient?>(nil)

  init(saying requests: [Request] = [], asksWhenAttached: Bool = false) {
    self.requests = requests
    self.asksWhenAttached = asksWhenAttached
  }

  func start(on bus: PrivateBus) throws {
    let client = AppLinkClient(address: bus.address.text, logger: logger, delegate: self)
    self.client.withLock { $0 = client }
    try client.start()
  }

  /// Blocks until there is an answer.
  func ask() {
    guard let client = client.withLock({ $0 }) else { return }
    for request in requests { client.send(request) }
    answers.put(Result { () throws(AppLinkError) in try client.query(Sample.queries[0]) })
  }

  func close() { client.withLock { $0 }?.close() }

  var attachment: Attachment { Attachment(bundleIdentifier: "org.latchkey.asker") }
  func linkDidAttach(_ reply: AttachReply) {
    attached.put(true)
    if asksWhenAttached { ask() }
  }
  func linkDidReceive(_ event: Event) { ask() }
  func linkDidDetach() {}
  func linkWasRefused(_ error: AppLinkError) {}
}

/// A server that its own closure refers to.
final class Holder: Sendable {
  private let state = Mutex<AppLinkServer?>(nil)
  var value: AppLinkServer? {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}
