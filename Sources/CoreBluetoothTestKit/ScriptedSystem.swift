import AppLink
import CoreBluetooth
import Foundation

/// A Bluetooth system controlled by a test: it records what an app asks for, and tells the app what the test emits.
/// It is for testing the conversation of one manager; `SimulatedHome` simulates whole systems.
package final class ScriptedSystem: AppLinkConnection, @unchecked Sendable {
  /// The app's requests, in order.
  package let requests = Inbox<Request>()
  package let log = LogCollector()

  private let lock = NSLock()
  /// The link's own thread: the library is never called back from inside its own calls.
  private let link = DispatchQueue(label: "org.latchkey.scripted-link")
  private var isAttached = false
  private var lastSequence: UInt64 = 0
  private var recordedAttachments: [Attachment] = []
  private var answers: [(Query) -> Result<QueryReply, AppLinkError>] = []
  private weak var delegate: (any AppLinkDelegate)?
  private var session: AppSession?

  /// - Parameter backgroundModes: `UIBackgroundModes` of the app's Info.plist.
  package init(
    bundleIdentifier: String = "org.example.app",
    backgroundModes: [String] = ["bluetooth-central", "bluetooth-peripheral"]
  ) {
    launch(.success(AppIdentity(bundleIdentifier: bundleIdentifier, backgroundModes: backgroundModes)))
  }

  /// An app without a usable Info.plist.
  package init(missingInfoPlist reason: String) {
    launch(.failure(AppIdentity.Missing(description: reason)))
  }

  private func launch(_ identity: Result<AppIdentity, AppIdentity.Missing>) {
    session = AppSession(identity: identity, logger: log.makeLogger()) { delegate, _ in
      self.delegate = delegate
      return AppSession.Link(connection: self) {}
    }
  }

  /// Runs `body` as the app's code: managers made in it belong to this system.
  package func run<Value>(_ body: () throws -> Value) rethrows -> Value {
    try AppSession.$current.withValue(session) { try body() }
  }

  // MARK: The link's life

  /// What the app sent each time it attached.
  package var attachments: [Attachment] { lock.withLock { recordedAttachments } }

  package func attach(_ reply: AttachReply = AttachReply()) {
    link.async { [self] in
      guard let delegate else { return }
      lock.withLock {
        isAttached = true
        recordedAttachments.append(delegate.attachment)
      }
      delegate.linkDidAttach(reply)
    }
  }

  /// The system goes away. It is gone when this returns, and comes back with `attach`.
  package func detach() {
    link.sync {
      lock.withLock { isAttached = false }
      delegate?.linkDidDetach()
    }
  }

  package func refuse(_ error: AppLinkError) {
    link.async { [self] in delegate?.linkWasRefused(error) }
  }

  /// Sends the app the next event.
  ///
  /// - Parameter manager: the manager that is told, by default the first that the app created; `nil` means the app
  ///   itself.
  package func emit(_ body: Event.Body, to manager: ManagerIdentifier? = ManagerIdentifier(1)) {
    let sequence = lock.withLock {
      lastSequence += 1
      return EventSequence(lastSequence)
    }
    emit(Event(sequence: sequence, manager: manager, body: body))
  }

  /// Sends the app an event with any number, even one that it has already received.
  package func emit(_ event: Event) {
    link.async { [self] in delegate?.linkDidReceive(event) }
  }

  /// Answers the app's next question.
  package func answerNextQuery(_ answer: @escaping (Query) -> Result<QueryReply, AppLinkError>) {
    lock.withLock { answers.append(answer) }
  }

  // MARK: AppLinkConnection

  package func send(_ request: Request) {
    guard lock.withLock({ isAttached }) else { return }
    requests.put(request)
  }

  package func query(_ query: Query) throws(AppLinkError) -> QueryReply {
    let answer = lock.withLock { answers.isEmpty ? nil : answers.removeFirst() }
    guard let answer else { throw AppLinkError(.unavailable, "the test has no answer to \(query)") }
    return try answer(query).get()
  }
}
