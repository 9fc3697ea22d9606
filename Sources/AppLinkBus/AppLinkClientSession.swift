import AppLink
import BusValue
import DequeModule
import Logging
import Synchronization
import SystemBus
import TimeTypes
import Timekeeping

/// The one connection of an `AppLinkClient`. It lives on the bus's thread.
actor AppLinkClientSession {
  private nonisolated let bus: Bus
  private let logger: Logger
  private var time: (any TimeSource)?
  /// Rings when a refused attachment is to be tried again.
  private var alarm: (any Alarm)?
  /// The alarm is set, and no new owner has appeared since.
  private var isAwaitingAlarm = false
  private weak var delegate: (any AppLinkDelegate)?
  private var owner: String?
  private var isAttached = false
  /// An attachment was sent to the system's name, before the bus has said which connection owns it. The sender of the
  /// answer is that owner.
  private var isAskingByName = false
  /// An attachment is under way.
  private var isAttaching = false
  private var isClosed = false
  private var early = EarlyManagers()
  /// Grows with each owner, so that a reply of an earlier one can be recognised.
  private var generation: UInt64 = 0
  /// How many times in a row the present owner has refused the app.
  private var refusals = 0
  /// Requests that the library has handed over and that are not sent yet.
  private var waiting: Deque<Request> = []
  /// The app has handled all events up to this one, and the system has not been told yet. It is told at the next pause
  /// between messages: after a burst of events, one message is enough.
  private var handledThrough: EventSequence?
  private var sent = Amount()
  /// How much of that the system is known to have handled.
  private var receipted = Amount()
  /// How much was sent when a receipt was last requested.
  private var askedFor = Amount()
  /// The owner while attached, for threads that ask.
  private nonisolated let attachedOwner = Mutex<String?>(nil)

  nonisolated var unownedExecutor: UnownedSerialExecutor { bus.unownedExecutor }

  init(bus: Bus, logger: Logger, time: (any TimeSource)?, delegate: (any AppLinkDelegate)?) {
    self.bus = bus
    self.logger = logger
    self.time = time
    self.delegate = delegate
  }

  /// Connects. The greeting to the bus, the question which connection is the system's, and the attachment are sent
  /// together. So an app that was relaunched for an event receives it after one round trip.
  nonisolated func start() throws(BusError) {
    bus.enqueue { bus in
      bus.watchOwner(of: AppLinkName.busName) { _, owner in self.assumeIsolated { $0.ownerChanged(owner) } }
      self.assumeIsolated { $0.attachByName() }
    }
    try bus.start(
      BusHandlers(
        onSignal: { _, signal in self.assumeIsolated { $0.receive(signal) } },
        onClose: { _, _ in self.assumeIsolated { $0.busEnded() } }))
  }

  nonisolated func close() {
    attachedOwner.withLock { $0 = nil }
    bus.enqueue { _ in
      self.assumeIsolated { session in
        session.sendAllWaiting()
        session.isClosed = true
        session.alarm?.set(nil)
      }
    }
    bus.close()
  }

  nonisolated func send(_ request: Request) {
    bus.performSoon { _ in self.assumeIsolated { $0.take(request) } }
  }

  nonisolated func createEarly(_ manager: ManagerIdentifier, _ creation: ManagerCreation) {
    bus.performSoon { _ in self.assumeIsolated { $0.takeEarly(manager, creation) } }
  }

  nonisolated func destroyEarly(_ manager: ManagerIdentifier) {
    bus.performSoon { _ in self.assumeIsolated { $0.endEarly(manager) } }
  }

  nonisolated func query(_ query: Query) throws(AppLinkError) -> QueryReply {
    guard let owner = attachedOwner.withLock({ $0 }) else {
      throw AppLinkError(.unavailable, "this app isn't attached to latchkeyd")
    }
    // The answer to a query depends on the requests before it, so they are sent first.
    bus.performSoon { _ in self.assumeIsolated { $0.sendAllWaiting() } }
    let call = Self.call(QueryCoding.message(query), to: owner)
    do throws(BusError) {
      let reply = try bus.callAndWait(call)
      return try QueryReply(busValue: reply.first ?? .bool(false))
    } catch {
      throw AppLinkError(error)
    }
  }

  private static func call(_ message: WireMessage, to owner: String) -> MethodCall {
    MethodCall(
      to: owner, path: AppLinkName.path, interface: AppLinkName.appInterface, member: message.name,
      arguments: message.arguments)
  }

  private func takeEarly(_ manager: ManagerIdentifier, _ creation: ManagerCreation) {
    guard !isAttached else { return take(.createManager(manager, creation)) }
    guard !isClosed else { return }
    early.add(manager, creation, isAttaching: isAttaching).map(sendEarly)
  }

  private func endEarly(_ manager: ManagerIdentifier) {
    if isAttached { take(.destroyManager(manager)) } else { early.end(manager) }
  }

  /// Sends a request behind an attachment that is under way.
  private func sendEarly(_ sent: EarlyManagers.Sent) {
    let call = Self.call(RequestCoding.message(sent.request), to: owner ?? AppLinkName.busName)
    bus.assumeIsolated { bus in
      bus.call(call) { result in self.assumeIsolated { $0.earlyAnswered(sent, result) } }
    }
  }

  private func earlyAnswered(_ sent: EarlyManagers.Sent, _ result: Result<[Value], BusError>) {
    var isTaken = true
    // A system that left before it answered has not taken the request either.
    if case .failure(let error) = result { isTaken = ![.notAttached, .unavailable].contains(AppLinkError(error).code) }
    if early.answered(sent, isTaken: isTaken, isAttached: isAttached) { take(sent.request) }
  }

  private func take(_ request: Request) {
    guard isAttached, !isClosed else { return }
    if case .handled(let sequence) = request {
      if handledThrough == nil {
        bus.assumeIsolated { $0.performInPause { _ in self.assumeIsolated { $0.tellHandled() } } }
      }
      handledThrough = sequence
      return
    }
    queueHandled()
    waiting.append(request)
    sendWaiting()
  }

  /// The system hears what the app has handled before it hears what the app asks for afterwards.
  private func queueHandled() {
    guard let sequence = handledThrough else { return }
    handledThrough = nil
    waiting.append(.handled(through: sequence))
  }

  private func tellHandled() {
    queueHandled()
    sendWaiting()
  }

  /// Sends waiting requests, as far as the system has handled those sent before.
  private func sendWaiting() {
    guard let owner, isAttached, !isClosed else { return }
    while sent.count - receipted.count < Flow.window, sent.bytes - receipted.bytes < Flow.windowBytes,
      let request = waiting.popFirst()
    {
      let call = Self.call(RequestCoding.message(request), to: owner)
      note(call)
      // A manager that the system does not take back hears nothing any more, so a refusal must not go unseen.
      let isManager = request.takesManagerBack
      let wantsReceipt =
        isManager || sent.count.isMultiple(of: Flow.receiptInterval)
        || sent.bytes - askedFor.bytes >= Flow.windowBytes / 2
      if wantsReceipt { askedFor = sent }
      let (amount, generation) = (sent, generation)
      bus.assumeIsolated { bus in
        if wantsReceipt {
          return bus.call(call) { result in
            self.assumeIsolated { session in
              if isManager { session.noteRefusal(generation, result) }
              session.receipted(amount, generation, result)
            }
          }
        }
        do throws(BusError) {
          try bus.callWithoutReply(call)
        } catch {
          self.assumeIsolated { $0.noteUnsent(error) }
        }
      }
    }
  }

  private func note(_ call: MethodCall) {
    sent.count += 1
    sent.bytes += call.arguments.byteCount
  }

  /// The system has handled this much.
  private func receipted(_ amount: Amount, _ generation: UInt64, _ result: Result<[Value], BusError>) {
    guard generation == self.generation else { return }
    if case .failure(let error) = result {
      noteUnsent(error)
      // The system has cut this app off, so the app attaches again and repeats what it holds.
      if error.saysThatAppWasCutOff { return attachAnew() }
    }
    if amount.count > receipted.count { receipted = amount }
    sendWaiting()
  }

  /// Sends every waiting request, each after the system has handled the one before. Blocks the bus's thread.
  private func sendAllWaiting() {
    guard let owner, isAttached, !isClosed else { return }
    queueHandled()
    while let request = waiting.popFirst() {
      let call = Self.call(RequestCoding.message(request), to: owner)
      note(call)
      do throws(BusError) {
        _ = try bus.callAndWait(call)
        (receipted, askedFor) = (sent, sent)
      } catch {
        noteUnsent(error)
      }
    }
  }

  private func noteRefusal(_ generation: UInt64, _ result: Result<[Value], BusError>) {
    guard generation == self.generation, case .failure(let error) = result, !error.saysThatAppWasCutOff else { return }
    logger.critical(
      "latchkeyd refuses a manager of this app, which hears nothing from now on; start the app anew",
      metadata: ["error": "\(error)"])
  }

  private func noteUnsent(_ error: BusError) {
    logger.error("a request was not sent", metadata: ["error": "\(error)"])
  }

  // MARK: The system comes and goes

  private func ownerChanged(_ newOwner: String?) {
    detach()
    owner = newOwner
    refusals = 0
    // If the first attachment is still under way, its answer will say whether this owner has received it.
    if !isAskingByName { attach() }
  }

  /// Sends the first attachment to the system's name, without waiting to hear which connection owns it.
  private func attachByName() {
    guard let attachment = delegate?.attachment else { return }
    isAskingByName = true
    isAttaching = true
    let call = Self.call(AttachCoding.message(attachment), to: AppLinkName.busName)
    bus.assumeIsolated { bus in
      bus.callOwner(call) { sender, result in self.assumeIsolated { $0.finishAttachByName(sender, result) } }
    }
    early.begin().forEach(sendEarly)
  }

  /// The first attachment is answered. `owner` is known by now: the bus was asked for it before, and reports changes in
  /// order.
  private func finishAttachByName(_ sender: String, _ result: Result<[Value], BusError>) {
    isAskingByName = false
    isAttaching = false
    guard owner != nil, !isClosed else { return }
    if sender == owner { return finishAttach(result, generation) }
    if sender == BusName.bus, case .failure(let error) = result, !error.saysThatNobodyAnswers {
      // The bus itself does not let the app speak to the system.
      return finishAttach(result, generation)
    }
    // Another system owns the name now.
    attach()
  }

  private func attach() {
    guard let owner, !isClosed, !isAttached, let attachment = delegate?.attachment else { return }
    isAttaching = true
    let generation = generation
    let call = Self.call(AttachCoding.message(attachment), to: owner)
    bus.assumeIsolated { bus in
      bus.call(call) { result in self.assumeIsolated { $0.finishAttach(result, generation) } }
    }
    early.begin().forEach(sendEarly)
  }

  private func finishAttach(_ result: Result<[Value], BusError>, _ generation: UInt64) {
    guard generation == self.generation, !isClosed else { return }
    isAttaching = false
    do throws(BusError) {
      let reply = try AttachCoding.reply(try result.get())
      isAttached = true
      refusals = 0
      attachedOwner.withLock { [owner] in $0 = owner }
      for request in early.attached() { take(request) }
      delegate?.linkDidAttach(reply)
    } catch {
      guard !error.saysThatNobodyAnswers else { return }
      refused(AppLinkError(error))
    }
  }

  /// Handles a refusal of the app.
  private func refused(_ refusal: AppLinkError) {
    refusals += 1
    let mayPass = refusal.mayPass
    if !mayPass || refusals == Self.refusalsUntilTold {
      logger.error("the system refuses this app", metadata: ["error": "\(refusal)"])
      early.forgetAll()
      delegate?.linkWasRefused(refusal)
    }
    if mayPass { attachAgain(after: Self.pause(refusals)) }
  }

  /// Attaches again after a pause. A new owner of the name ends the pause, because it is asked at once.
  private func attachAgain(after pause: Duration) {
    do {
      let time = try time ?? ProcessClock.fromEnvironment()
      self.time = time
      let alarm =
        alarm
        ?? time.makeAlarm { [weak self] in
          guard let self else { return }
          bus.enqueue { _ in self.assumeIsolated { $0.alarmRings() } }
        }
      self.alarm = alarm
      isAwaitingAlarm = true
      alarm.set(time.now + pause)
    } catch {
      logger.error("the request is not repeated, because there is no clock", metadata: ["error": "\(error)"])
    }
  }

  private func alarmRings() {
    guard isAwaitingAlarm else { return }
    isAwaitingAlarm = false
    attach()
  }

  /// The app is not told of a refusal that passes within this many attempts.
  private static let refusalsUntilTold = 3

  /// 0.25, 0.5, 1 … 32 s.
  private static func pause(_ refusals: Int) -> Duration { .milliseconds(250 << min(max(refusals, 1) - 1, 7)) }

  private func attachAnew() {
    let owner = owner
    detach()
    self.owner = owner
    attach()
  }

  private func detach() {
    generation += 1
    alarm?.set(nil)
    isAwaitingAlarm = false
    isAttaching = isAskingByName
    owner = nil
    // The library repeats what still matters when the system is back.
    waiting = []
    handledThrough = nil
    (sent, receipted, askedFor) = (Amount(), Amount(), Amount())
    attachedOwner.withLock { $0 = nil }
    guard isAttached else { return }
    isAttached = false
    early.forgetAll()
    if !isClosed { delegate?.linkDidDetach() }
  }

  private func busEnded() {
    guard !isClosed else { return }
    logger.error("the bus has ended")
    detach()
    isClosed = true
  }

  private func receive(_ signal: IncomingSignal) {
    guard isAttached, !isClosed, signal.sender == owner, signal.path == AppLinkName.path,
      signal.interface == AppLinkName.appInterface
    else { return signal.arguments.closeDescriptors() }
    do throws(BusError) {
      delegate?.linkDidReceive(try EventCoding.event(signal.member, signal.arguments))
    } catch {
      logger.error(
        "an event of the system's is malformed", metadata: ["event": "\(signal.member)", "error": "\(error)"])
    }
  }
}
