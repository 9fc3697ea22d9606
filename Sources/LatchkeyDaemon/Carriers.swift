import AppLink
import AppLinkBus
import BlueZ
import BlueZBus
import BluetoothSystem
import Dispatch
import Glibc
import Logging
import Synchronization
import SystemBus
import TimeTypes
import Timekeeping

/// The ends of both buses. Their messages go into the loop, and what the system decides goes out through them. The
/// system identifies connections and questions by numbers; the carriers' own names for them are kept here.
final class Carriers: Sendable {
  private struct Names {
    var last: UInt64 = 0
    var links: [AppConnection: AppLinkIdentifier] = [:]
    var connections: [AppLinkIdentifier: AppConnection] = [:]
    var attachments: [AnswerToken: (token: AttachToken, connection: AppConnection)] = [:]
    var queries: [AnswerToken: QueryToken] = [:]
    var controls: [AnswerToken: ControlToken] = [:]

    mutating func number() -> UInt64 {
      last += 1
      return last
    }
  }

  private let names = Mutex(Names())
  private let lines: Lines
  private let server = Mutex<AppLinkServer?>(nil)
  private let client = Mutex<BlueZClient?>(nil)
  private let sleep = Mutex<SleepWatch?>(nil)
  private let loop: SystemLoop
  private let supervisor: any Supervisor
  private let bluetoothBus: String?
  private let time: any TimeSource
  /// Orders apps' messages in a simulated world; `nil` on a real machine.
  private let turns: AppTurns?
  private let logger: Logger
  /// Limits how far bluetoothd's messages may run ahead of the loop. Beyond the limit, they wait on the bus, where none
  /// is lost. Most take less than a kilobyte, so their number matters. The largest that are accepted (`MessageLimits`),
  /// with all objects of a machine that has thousands of them, take some 13 MB each, so only one of those is admitted
  /// at a time.
  private let turnstile = Turnstile(limit: 1024, byteLimit: 8 << 20)
  private let heap = Heap()

  /// - Parameter bluetoothBus: the address of bluetoothd's bus, or `nil` if it is the apps' bus.
  init(
    loop: SystemLoop, supervisor: any Supervisor, bluetoothBus: String? = nil, time: any TimeSource,
    turns: AppTurns? = nil, logger: Logger
  ) {
    self.loop = loop
    self.time = time
    self.turns = turns
    lines = Lines(loop: loop)
    self.supervisor = supervisor
    self.bluetoothBus = bluetoothBus
    self.logger = logger
  }

  /// How long bluetoothd may take to show its objects before apps are let in without them.
  private static let lookPatience = Duration.seconds(5)

  /// Listens to bluetoothd first, and takes the system's name on the bus when bluetoothd's objects are known. Apps that
  /// run already attach as soon as the name is taken, and go on with what they were doing. Without bluetoothd's
  /// objects, a request for a link that exists would fail.
  func start() throws(DaemonError) {
    let server = AppLinkServer(logger: logger) { [weak self, turns] event in
      guard let turns else { return self?.receive(event) ?? () }
      turns.add(event) { [weak self] in self?.receive(event) }
    }
    let bluetooth = bluetoothBus.map { BusAddress($0) } ?? .system
    let looked = DispatchSemaphore(value: 0)
    let client = BlueZClient(
      address: bluetooth.text, logger: logger,
      onBusLost: { [loop, logger, bluetoothBus] in
        guard let bluetoothBus else { return }
        logger.critical("bluetoothd's bus \(bluetoothBus) has ended, and latchkeyd with it")
        loop.stop()
      },
      onLooked: { looked.signal() },
      onMessage: { [loop, turnstile, heap] message in
        let bytes = message.byteCount
        turnstile.enter(bytes: bytes)
        loop.handle(.daemon(message)) {
          turnstile.leave(bytes: bytes)
          heap.handled(bytes: bytes)
        }
      })
    self.server.withLock { $0 = server }
    self.client.withLock { $0 = client }
    do {
      try client.start()
      let watch = try SleepWatch(address: bluetooth) { [loop] in loop.handle(.resumedFromSleep) }
      sleep.withLock { $0 = watch }
    } catch {
      guard bluetoothBus != nil else { throw Self.noBus(error) }
      throw DaemonError(
        "bluetoothd's bus \(bluetooth) can't be reached (\(error)). Is its address right?")
    }
    let alarm = time.makeAlarm { looked.signal() }
    alarm.set(time.now + Self.lookPatience)
    looked.wait()
    alarm.set(nil)
    do { try server.start() } catch { throw Self.noBus(error) }
  }

  private static func noBus(_ error: BusError) -> DaemonError {
    DaemonError(
      "latchkeyd needs a D-Bus system bus on which it may own org.latchkey.System1, but finds none "
        + "(\(error)). Start dbus-daemon, or name one with DBUS_SYSTEM_BUS_ADDRESS.")
  }

  func close() {
    turnstile.open()
    sleep.withLock { $0 }?.close()
    client.withLock { $0 }?.close()
    server.withLock { $0 }?.close()
  }

  var ports: SystemPorts {
    SystemPorts(
      bluez: { [self] message in client.withLock { $0 }?.send(message) },
      event: { [self] event, link in
        guard let connection = names.withLock({ $0.connections[link] }) else { return }
        turns?.willSend(event, to: connection)
        server.withLock { $0 }?.send(event, to: connection)
      },
      attachReply: { [self] token, result in replyAttach(token, result) },
      queryReply: { [self] token, result in
        guard let question = names.withLock({ $0.queries.removeValue(forKey: token) }) else { return }
        server.withLock { $0 }?.reply(to: question, result)
      },
      controlReply: { [self] token, result in
        guard let question = names.withLock({ $0.controls.removeValue(forKey: token) }) else { return }
        server.withLock { $0 }?.reply(to: question, result.map { Optional($0) })
      },
      controlText: { [self] token, text in
        guard let question = names.withLock({ $0.controls.removeValue(forKey: token) }) else { return }
        server.withLock { $0 }?.reply(to: question, text: text)
      },
      statusChanged: { [self] number in server.withLock { $0 }?.statusChanged(number) })
  }

  private func replyAttach(_ token: AnswerToken, _ result: Result<AttachReply, AppLinkError>) {
    let question = names.withLock { names -> AttachToken? in
      guard let question = names.attachments.removeValue(forKey: token) else { return nil }
      // A refused connection is not listened to any more.
      if case .failure = result, let link = names.links.removeValue(forKey: question.connection) {
        names.connections[link] = nil
      }
      return question.token
    }
    guard let question else { return }
    server.withLock { $0 }?.reply(to: question, result)
  }

  // MARK: From the apps' bus

  private func receive(_ event: AppLinkServerEvent) {
    switch event {
    case .attach(let connection, let credentials, let attachment, let token):
      attach(connection, credentials, attachment, token)
    case .request(let connection, let request):
      guard let link = names.withLock({ $0.links[connection] }) else { return noteHandled(connection) }
      lines.enter(link, .request(link, request)) { [self] in noteHandled(connection) }
    case .query(let connection, let query, let token):
      let known = names.withLock { names -> (AppLinkIdentifier, AnswerToken)? in
        guard let link = names.links[connection] else { return nil }
        let answer = AnswerToken(names.number())
        names.queries[answer] = token
        return (link, answer)
      }
      guard let (link, answer) = known else {
        server.withLock { $0 }?.reply(
          to: token, .failure(AppLinkError(.notAttached, "Attach before asking.")))
        return noteHandled(connection)
      }
      lines.enter(link, .query(link, query, answer)) { [self] in noteHandled(connection) }
    case .detached(let connection):
      names.withLock { names in
        guard let link = names.links.removeValue(forKey: connection) else { return }
        names.connections[link] = nil
        // Under the lock, so that no attachment comes after it.
        lines.enter(link, .detached(link))
      }
    case .control(let request, let credentials, let token): control(request, credentials, token)
    case .withdrawn(let token):
      guard let answer = names.withLock({ $0.controls.first { $0.value == token }?.key }) else { return }
      loop.handle(.withdrawn(answer))
    case .statusWatched(let isWatched): loop.watchStatus(isWatched)
    case .busLost:
      logger.critical("the bus has ended, and latchkeyd with it")
      loop.stop()
    }
  }

  private func noteHandled(_ connection: AppConnection) { server.withLock { $0 }?.handled(connection) }

  private func attach(
    _ connection: AppConnection, _ credentials: Credentials, _ attachment: Attachment, _ token: AttachToken
  ) {
    guard let process = try? ProcessIdentity.of(credentials.processIdentifier) else {
      refuse(token, .notThatApp("There is no process \(credentials.processIdentifier) here."))
      return
    }
    let link = names.withLock { names in
      let link = names.links[connection] ?? AppLinkIdentifier(names.number())
      names.links[connection] = link
      names.connections[link] = connection
      return link
    }
    let claim = AppClaim(
      bundleIdentifier: attachment.bundleIdentifier, process: process, userIdentifier: credentials.userIdentifier)
    supervisor.verify(claim) { [weak self] refusal in
      self?.verified(claim, refusal, link, connection, attachment, token)
    }
  }

  private func verified(
    _ claim: AppClaim, _ refusal: ClaimRefusal?, _ link: AppLinkIdentifier, _ connection: AppConnection,
    _ attachment: Attachment, _ token: AttachToken
  ) {
    var refusal = refusal
    // Since the claim, the process number may have passed to another process.
    if refusal == nil, (try? ProcessIdentity.of(claim.process.processIdentifier)) != claim.process {
      refusal = .notThatApp("Process \(claim.process.processIdentifier) has ended.")
    }
    if let refusal {
      logger.warning("a process is refused as \(claim.bundleIdentifier.prefix(128)): \(refusal.reason)")
      names.withLock { names in
        names.links[connection] = nil
        names.connections[link] = nil
      }
      refuse(token, refusal)
      return
    }
    names.withLock { names in
      // The connection may have left in the meantime.
      guard names.links[connection] == link else { return }
      let answer = AnswerToken(names.number())
      names.attachments[answer] = (token, connection)
      lines.enter(link, .attach(link, claim.process, attachment, answer))
    }
  }

  private func refuse(_ token: AttachToken, _ refusal: ClaimRefusal) {
    let error =
      switch refusal {
      case .notThatApp(let reason): AppLinkError(.notThatApp, reason)
      case .unavailable(let reason): AppLinkError(.unavailable, reason)
      }
    server.withLock { $0 }?.reply(to: token, .failure(error))
  }

  private func control(_ request: ControlRequest, _ credentials: Credentials, _ token: ControlToken) {
    guard LocalUser.mayControl(credentials.userIdentifier) else {
      server.withLock { $0 }?.reply(
        to: token,
        .failure(
          AppLinkError(.unavailable, "Only root, the system's own user and members of the group latchkey may say that.")
        ))
      return
    }
    if request == .watchStatus {
      // The request comes back as `status`, once the server has registered the caller as a watcher.
      server.withLock { $0 }?.watch(token, credentials)
      return
    }
    let answer = names.withLock { names in
      let answer = AnswerToken(names.number())
      names.controls[answer] = token
      return answer
    }
    loop.handle(.control(request, answer))
  }
}
