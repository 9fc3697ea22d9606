import AppLink
import CoreBluetooth
import Foundation

/// One run of an installed app: its link to the system of its machine, and the objects it consists of.
final class SimulatedApp: AppLinkConnection, @unchecked Sendable {
  let bundleIdentifier: String
  let machine: String
  let processIdentifier: Int32
  private unowned let engine: HomeEngine
  /// The queue on which the library hears of the link, in order; never the engine's own thread.
  private let linkQueue: DispatchQueue
  /// Takes the place of the app's main thread.
  private let mainQueue: DispatchQueue
  private(set) var session: AppSession?

  private let lock = NSLock()
  /// What `launch` returned; `nil` before that, and after the end.
  private var made: AnyObject?
  private var hasEnded = false

  // Used only on the engine's thread.
  var link: UInt64?
  var isAlive = true
  var isLaunching = true
  /// How many events are still on their way over the link.
  var untold = 0
  var lastSent: UInt64 = 0
  var lastHandled: UInt64 = 0

  init(bundleIdentifier: String, modes: [String], machine: String, processIdentifier: Int32, engine: HomeEngine) {
    self.bundleIdentifier = bundleIdentifier
    self.machine = machine
    self.processIdentifier = processIdentifier
    self.engine = engine
    linkQueue = DispatchQueue(label: "link of \(bundleIdentifier)")
    mainQueue = DispatchQueue(label: "main of \(bundleIdentifier)")
    session = AppSession(
      identity: .success(AppIdentity(bundleIdentifier: bundleIdentifier, backgroundModes: modes)),
      logger: LogCollector().makeLogger()
    ) { _, _ in AppSession.Link(connection: self) {} }
  }

  /// Whether the app still has something to handle.
  var isBusy: Bool { isAlive && (isLaunching || untold > 0 || lastHandled < lastSent) }

  var attachment: Attachment? { session?.attachment }

  func tell(_ news: @escaping @Sendable (AppSession) -> Void) {
    guard let session else { return }
    untold += 1
    linkQueue.async { [self, engine] in
      news(session)
      engine.enqueue { [self] _ in untold -= 1 }
    }
  }

  var root: AnyObject? { lock.withLock { made } }

  /// Runs the app's launch.
  func launch(_ make: @escaping @Sendable () -> AnyObject, _ done: @escaping @Sendable () -> Void) {
    mainQueue.async { [self, session] in
      let root = AppSession.$current.withValue(session) { make() }
      lock.withLock { made = hasEnded ? nil : root }
      done()
    }
  }

  /// The process has ended. Its remaining objects are no longer connected to anything.
  func end() {
    isAlive = false
    link = nil
    session = nil
    // Released outside the lock, because this runs the app's own `deinit`s.
    let root = lock.withLock {
      hasEnded = true
      defer { made = nil }
      return made
    }
    withExtendedLifetime(root) {}
  }

  // MARK: AppLinkConnection

  func send(_ request: AppLink.Request) {
    engine.enqueue { [self] in $0.receive(request, from: self) }
  }

  func query(_ query: Query) throws(AppLinkError) -> QueryReply {
    try engine.run { [self] in $0.answer(query, of: self) }.get()
  }
}
