import AppLink
import CoreBluetooth
import Foundation
import Logging
import TimeTypes

/// One run of an installed app: its link to the system of its machine, and the objects it consists of.
final class SimulatedApp: AppLinkConnection, @unchecked Sendable {
  let bundleIdentifier: String
  let machine: String
  let processIdentifier: Int32
  /// Tasks of an app may outlive the home.
  private weak let engine: HomeEngine?
  /// The queue on which the library hears of the link, in order; never the engine's own thread.
  private let linkQueue: DispatchQueue
  /// Takes the place of the app's main thread.
  private let mainQueue: DispatchQueue
  private let modes: [String]
  private let logger: Logger
  /// `nil` after the end.
  private var liveSession: AppSession?
  private var session: AppSession? { lock.withLock { liveSession } }
  /// Its tasks that have not ended.
  let watch: AppWatch

  private let libraryLink = SimulatedLink()
  private let ownCode = OwnCode()

  private let lock = NSLock()
  /// What `launch` returned; `nil` before that, and after the end.
  private var made: AnyObject?
  private var hasEnded = false
  /// Queues of the app's own that the home waits for.
  private var watchedQueues: [AwaitedQueue] = []

  // Used only on the engine's thread.
  private(set) var link: UInt64?
  var isAlive = true
  var isLaunching = true
  /// How many events are still on their way over the link.
  var untold = 0
  /// Managers' queues that may have something to do for the app's own code.
  private var awaitedQueues = 0
  var lastSent: UInt64 = 0
  var lastHandled: UInt64 = 0
  var isSuspended = false
  /// Events that it will be told.
  var events: ArraySlice<AppLink.Event> = []
  private var pace = EventPace()
  /// Alarms that rang while the app was suspended, and what its channels were told.
  private var waitingAlarms: [@Sendable () -> Void] = []
  private var waitingNotices: [@Sendable () -> Void] = []
  /// How often to look again whether its tasks and queues are done.
  private var looksLeft = 0

  init(
    bundleIdentifier: String, modes: [String], machine: String, processIdentifier: Int32, history: AppHistory,
    watch: AppWatch, engine: HomeEngine
  ) {
    self.bundleIdentifier = bundleIdentifier
    self.machine = machine
    self.processIdentifier = processIdentifier
    self.engine = engine
    self.watch = watch
    linkQueue = DispatchQueue(label: "link of \(bundleIdentifier)")
    mainQueue = DispatchQueue(label: "main of \(bundleIdentifier)")
    self.modes = modes
    logger = history.log.makeLogger()
    liveSession = AppSession(
      identity: .success(AppIdentity(bundleIdentifier: bundleIdentifier, backgroundModes: modes)),
      logger: logger, observer: watch
    ) { _, _ in AppSession.Link(connection: self) {} }
    ownCode.onReturn = { [weak self, weak engine] in
      engine?.enqueue { [self] in self?.tellEvents(at: $0.clock.now) }
    }
  }

  /// Whether the app still has something to handle.
  var isBusy: Bool {
    guard isAlive else { return false }
    if untold > 0 || ownCode.isAwaited || watch.hasWokenThreads || watch.isTidying { return true }
    // A call that waits in a stream may hold the others up, and goes on when time has passed.
    guard !watch.hasWaitingCalls else { return false }
    return isLaunching || awaitedQueues > 0 || lastHandled < lastSent || watch.hasDueCalls
  }

  // MARK: Tasks and queues of the app

  /// Each look lets every task that can run go on. A chain of this many tasks is followed; what waits longer waits for
  /// something outside, such as the next event.
  private static let looks = 40

  /// The app was told something, or did something. Its tasks and queues may have work.
  func stir() {
    looksLeft = Self.looks
    for queue in queues { queue.appIsTold() }
  }

  /// Whether its tasks or queues may still be doing something.
  var isStirring: Bool {
    guard isAlive, looksLeft > 0 else { return false }
    if !watch.isWorking, !watch.hasOwnThreads, queues.isEmpty { looksLeft = 0 }
    return looksLeft > 0
  }

  func wasLookedAt() { looksLeft = max(0, looksLeft - 1) }

  var queues: [AwaitedQueue] { lock.withLock { watchedQueues } }

  func wait(for queue: AwaitedQueue) {
    lock.withLock { if !watchedQueues.contains(where: queue.isSame(as:)) { watchedQueues.append(queue) } }
  }

  /// Makes time wait until everything that the app's code has put on its managers' queues has run, and everything that
  /// this has put there in turn. (For delegate calls, the session does the same.)
  func awaitManagerQueues() {
    for queue in session?.managerQueues ?? [] {
      awaitedQueues += 1
      queue.async(flags: .barrier) { [self, engine] in
        queue.async(flags: .barrier) { engine?.enqueue { [self] _ in awaitedQueues -= 1 } }
      }
    }
  }

  /// Managers whose delegates have not been told everything, for a person.
  var unfinishedManagers: [String] { session?.unfinishedManagers ?? [] }

  /// Runs the app's own code.
  func run<Value>(_ body: () throws -> Value) rethrows -> Value {
    ownCode.begin()
    defer { ownCode.end() }
    return try ownSession.asApp(body)
  }

  func run<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
  ) async rethrows -> Value {
    try await ownSession.asApp(isolation: isolation, body)
  }

  /// An app that has ended keeps its identity, and reaches nobody.
  private var ownSession: AppSession {
    lock.withLock { liveSession }
      ?? AppSession(
        identity: .success(AppIdentity(bundleIdentifier: bundleIdentifier, backgroundModes: modes)), logger: logger
      ) { _, _ in AppSession.Link(connection: NoSystem()) {} }
  }

  /// An alarm of the app rings. A suspended app hears it when it runs again, and one that has ended never does.
  func ring(_ body: @escaping @Sendable () -> Void) {
    guard isAlive else { return }
    guard !isSuspended else { return waitingAlarms.append(body) }
    stir()
    run(body)
    awaitManagerQueues()
  }

  /// Tells the app those events that are due.
  func tellEvents(at now: Instant) {
    guard isAlive, !isSuspended, !events.isEmpty, !ownCode.mustReturnFirst() else { return }
    while isAlive, !isSuspended, !events.isEmpty, pace.takes(at: now), let event = events.popFirst() {
      lastSent = event.sequence.rawValue
      tell { [libraryLink, link] in libraryLink.receive(event, over: link, $0) }
    }
  }

  /// When it will be told the next event.
  var nextEvent: Instant? { isSuspended || events.isEmpty ? nil : pace.deadline }

  /// The app's end of a channel can be read or written, or has ended. A suspended app learns it when it runs again.
  func tellOfChannel(_ notice: @escaping @Sendable () -> Void) {
    guard isAlive else { return }
    guard !isSuspended else { return waitingNotices.append(notice) }
    tell { _ in notice() }
  }

  /// The app runs again.
  func hearWaiting() {
    let notices = waitingNotices
    waitingNotices = []
    for notice in notices { tellOfChannel(notice) }
    let bodies = waitingAlarms
    waitingAlarms = []
    for body in bodies { ring(body) }
  }

  /// Begins a link. Returns what the library says of itself, or `nil` if the app has ended.
  func attach(over link: UInt64) -> Attachment? {
    guard let attachment = session.map({ libraryLink.begin(link, $0) }) else { return nil }
    self.link = link
    // Once its managers are back, the app reports that it has handled everything up to here.
    lastSent = attachment.lastEvent?.rawValue ?? 0
    lastHandled = 0
    return attachment
  }

  func tellAttached(_ reply: AttachReply) {
    guard let link else { return }
    tell { [libraryLink] in libraryLink.isAttached(link, $0, reply) }
  }

  /// The system is gone, and with it what it has not told yet.
  func detach() {
    link = nil
    libraryLink.becomes(nil)
    events = []
    tell { [libraryLink] in libraryLink.isDetached($0) }
  }

  func tell(_ news: @escaping @Sendable (AppSession) -> Void) {
    guard let session else { return }
    untold += 1
    stir()
    linkQueue.async { [self, engine] in
      news(session)
      engine?.enqueue { [self] _ in untold -= 1 }
    }
  }

  var root: AnyObject? { lock.withLock { made } }

  /// Runs the app's launch.
  func launch(_ make: @escaping @Sendable () -> AnyObject, _ done: @escaping @Sendable () -> Void) {
    stir()
    ownCode.begin()
    mainQueue.async { [self, session] in
      let root = session?.asApp(make) ?? make()
      lock.withLock { made = hasEnded ? nil : root }
      done()
      ownCode.end()
    }
  }

  /// The process has ended. Its remaining objects are no longer connected to anything.
  func end() {
    isAlive = false
    link = nil
    libraryLink.becomes(nil)
    // Released outside the lock, because this runs the app's own `deinit`s.
    let released = lock.withLock {
      hasEnded = true
      defer { (made, liveSession) = (nil, nil) }
      return (made, liveSession)
    }
    withExtendedLifetime(released) {}
  }

  // MARK: AppLinkConnection

  func send(_ request: AppLink.Request) {
    for queue in queues { queue.appAsks() }
    let link = libraryLink.known
    engine?.enqueue { [self] in $0.receive(request, from: self, over: link) }
  }

  func query(_ query: Query) throws(AppLinkError) -> QueryReply {
    guard let engine else { throw AppLinkError(.unavailable, "the home is gone") }
    return try engine.run { [self] in $0.answer(query, of: self) }.get()
  }
}

/// The link of an app that has ended.
private final class NoSystem: AppLinkConnection {
  func send(_ request: AppLink.Request) {}
  func query(_ query: Query) throws(AppLinkError) -> QueryReply {
    throw AppLinkError(.unavailable, "the app has ended")
  }
}
