import CoreBluetooth
import Journal
import JournalEvents
import LockCryptography
import LockFirmware
import LockProtocol
import LockRecords
import Logging
import TimeTypes
import Timekeeping

/// Connects the firmware with a log, a mechanism, a clock and a radio.
final class LockApp: @unchecked Sendable {
  // Everything here happens on the main queue.
  private var firmware: LockFirmware<SwiftCryptography>
  private let log: RecordLog
  private let mechanism: any LockMechanism
  private let time: any TimeSource
  private let logger: Logger
  private let keys: LockKeys
  private let trusted: TrustedStore
  private let access: AccessStore
  private var records = RecordKeeper()
  /// Whether a state that was to be stored before the next record could not be stored.
  private var hasAccessFailed = false
  private let settings: LockSettings
  private var refusals = RefusalLines()
  private var reports = DoorReports()
  private var radio: LockPeripheral?
  private var socket: HardwareSocket?
  private var alarm: (any Alarm)?
  private var terminationSource: (any DispatchSourceSignal)?
  private var isEnding = false
  /// As long as a command may come, this process wakes again and again. If it wakes too late, it stood still, and so may the
  /// command have. A pause of more than both of these together never goes unnoticed.
  private var wakeDue: Instant?
  private static let wakePause: Duration = .seconds(2)
  private static let longestDelay: Duration = .seconds(3)
  /// Events that happened while another event was being handled.
  private var waiting: [LockEvent] = []
  private var isHandling = false
  /// What the firmware has answered to the radio's present event.
  private var readAnswer: [UInt8]?
  private var isWriteAccepted = false
  private var enrolmentAnswer = EnrolmentStatus.closed

  init(
    _ configuration: LockConfiguration, keys: LockKeys, log: RecordLog, trusted: TrustedStore, access: AccessStore,
    settings: LockSettings, mechanism: any LockMechanism, time: any TimeSource, logger: Logger
  ) throws {
    self.trusted = trusted
    self.access = access
    self.settings = settings
    self.keys = keys
    self.log = log
    self.mechanism = mechanism
    self.time = time
    self.logger = logger
    firmware = LockFirmware(
      configuration, staticKey: keys.staticKey, using: SwiftCryptography(), records: log.latest,
      landmarks: log.landmarks.records, trusted: trusted.read(), access: try access.read(), awaited: settings.awaited,
      position: mechanism.isKnown ? mechanism.position : nil, door: mechanism.door, mode: settings.mode,
      at: LockTime(time))
  }

  func start(_ socket: HardwareSocket) {
    self.socket = socket
    alarm = time.makeAlarm { [weak self] in DispatchQueue.main.async { self?.happens(.timePassed) } }
    mechanism.report = { [weak self] event in self?.happens(event) }
    logger.record(
      Recorded.Lock.started,
      [.bolt: mechanism.positionWord, .door: mechanism.doorWord, .records: String(log.recordCount)])
    endOnSignal()
    mechanism.start()
    happens(.timePassed)
    radio = LockPeripheral(self, logger: logger)
    admitCentrals()
    tellUser()
    socket.start()
  }

  // MARK: Radio

  func linkUp(_ central: CentralIdentifier, isRestored: Bool) {
    happens(isRestored ? .linkRestored(central) : .linkUp(central))
  }

  func linkDown(_ central: CentralIdentifier) { happens(.linkDown(central)) }

  /// The Offer's value for this central, or `nil` if it gets none.
  func readOffer(_ central: CentralIdentifier) -> [UInt8]? {
    readAnswer = nil
    happens(.offerRead(central))
    return readAnswer
  }

  /// Whether a write was accepted. Its result follows later, as an Answer.
  func writeCommand(_ bytes: [UInt8], _ central: CentralIdentifier) -> Bool {
    isWriteAccepted = false
    happens(.commandWritten(central, bytes))
    return isWriteAccepted
  }

  /// The radio has refused a command, because its phone is subscribed to nothing.
  func commandIsUnanswerable(_ central: CentralIdentifier) { recordRefusal(central, "unsubscribed") }

  /// Whether a fragment of a question was accepted. The reply follows later.
  func writeRequest(_ bytes: [UInt8], _ central: CentralIdentifier) -> Bool {
    isWriteAccepted = false
    happens(.requestWritten(central, bytes))
    return isWriteAccepted
  }

  /// The battery's charge in percent, or `nil` if it is not measured.
  var battery: UInt8? { firmware.battery.percent }

  /// Whether phones are enrolled now.
  var enrolmentStatus: EnrolmentStatus { firmware.enrolmentStatus }

  /// `open` if a fragment of an enrolment was taken, otherwise why not.
  func writeEnrolment(_ bytes: [UInt8], _ central: CentralIdentifier) -> EnrolmentStatus {
    enrolmentAnswer = .closed
    happens(.enrolmentWritten(central, bytes))
    return enrolmentAnswer
  }

  // MARK: Events and effects

  private func happens(_ event: LockEvent) {
    dispatchPrecondition(condition: .onQueue(.main))
    if !isHandling, let wakeDue, time.now - wakeDue > Self.longestDelay { waiting.append(.stoodStill) }
    waiting.append(event)
    guard !isHandling else { return }
    isHandling = true
    while !waiting.isEmpty {
      let event = waiting.removeFirst()
      records.tells(event)
      let effects = firmware.handle(event, at: LockTime(time))
      // Done before the effects, because a phone that has its answer may bond at once.
      admitCentrals()
      for effect in effects { perform(effect) }
      hasAccessFailed = false
      if case .doorChanged(let door) = event { reports.doorMoved(door) }
    }
    isHandling = false
    radio?.tell(battery: firmware.battery.percent)
    // The user is told of nothing before the lock has its radio.
    if radio != nil { tellUser() }
    let deadline = firmware.nextDeadline.map { Instant(nanoseconds: $0.milliseconds * 1_000_000) }
    wakeDue = firmware.hasOffers ? time.now + Self.wakePause : nil
    alarm?.set([deadline, wakeDue].compactMap(\.self).min())
    if isEnding, mechanism.turning == nil { end() }
  }

  private func admitCentrals() {
    guard radio != nil else { return }
    CentralPolicy.admit(
      acceptsPairings: firmware.acceptsBonds, proven: firmware.provenCentrals.map(\.uuid),
      known: firmware.knownCentrals.map(\.uuid))
  }

  private func tellUser() {
    reports.tell(
      firmware.lockState, firmware.doorState, isTurning: mechanism.turning != nil,
      isWorking: !firmware.isMechanismFailed,
      firmware.battery)
  }

  private func perform(_ effect: LockEffect) {
    switch effect {
    case .sendOffer(let central, let values): radio?.sendOffer(values, to: central)
    case .sendAnswer(let central, let answer): radio?.sendAnswer(answer, to: central)
    case .sendReply(let central, let tag, let message): radio?.sendReply(message, tag: tag, to: central)
    case .readLog(let question):
      do { waiting.append(.logRead(question, try log.page(from: question.from, count: question.count))) } catch {
        logger.error("the log can't be read: \(error)")
        waiting.append(.logRead(question, nil))
      }
    case .answerRead(_, let offer): readAnswer = offer
    case .respond(_, let isAccepted): isWriteAccepted = isAccepted
    case .respondToEnrolment(_, let status): enrolmentAnswer = status
    case .sendEnrolment(let central, let tag, let message): radio?.sendEnrolment(message, tag: tag, to: central)
    case .appendRecord(let record):
      let event = records.keep(record) { record in
        // The state that belongs to this record could not be stored, which was logged.
        if hasAccessFailed { throw StartError(description: "what owners have told is not stored") }
        do { try log.append(record) } catch {
          logger.error("record \(record.index) can't be stored: \(error)")
          throw error
        }
      }
      if let event { waiting.append(event) }
    case .storeTrusted(let centrals): trusted.write(centrals)
    case .storeAccess(let content):
      do { try access.write(content) } catch {
        logger.error("what owners have told can't be stored: \(error)")
        hasAccessFailed = true
      }
    case .turnBolt(let target): mechanism.turn(to: target)
    case .stopBolt: mechanism.stop()
    case .storeAwaited(let awaited): keep { try settings.write(awaited) }
    case .storeMode(let mode): keep { try settings.write(mode) }
    case .forgetPhones(let record): keep { try settings.forget(keys, record: record) }
    case .note(let note): tell(note)
    }
  }

  private func keep(_ write: () throws -> Void) {
    do { try write() } catch {
      logger.error(
        "the lock's settings can't be stored; a mode holds until the next start, and a reset is finished then: \(error)"
      )
    }
  }

  private func tell(_ note: LockNote) {
    reports.noted(note)
    switch note {
    case .offerSent(let central): logger.record(Recorded.Lock.offerSent, [.central: central.text])
    case .commandAccepted(let central, let command):
      logger.record(
        Recorded.Lock.commandAccepted,
        [.central: central.text, .command: "\(command.kind)", .operation: String(command.operation, radix: 16)])
    case .commandRefused(let central, let reason): recordRefusal(central, "\(reason)")
    case .requestAccepted(let central, let kind):
      logger.record(Recorded.Lock.requestAccepted, [.central: central.text, .request: "\(kind)"])
    case .requestRefused(let central):
      guard refusals.tell(at: LockTime(time).milliseconds) != nil else { return }
      logger.record(Recorded.Lock.requestRefused, [.central: central.text], level: .warning)
    case .linkRefused(let central):
      guard refusals.tell(at: LockTime(time).milliseconds) != nil else { return }
      logger.record(Recorded.Lock.linkRefused, [.central: central.text], level: .warning)
    case .noRoom(let central, let kind):
      guard refusals.tell(at: LockTime(time).milliseconds) != nil else { return }
      logger.record(
        Recorded.Lock.noRoom, [.central: central.text, .request: kind.map { "\($0)" } ?? "too long"], level: .warning)
    case .boltMoved(let target, let cause, let side, let record):
      var fields: [JournalField: String] = [.to: "\(target)", .cause: "\(cause)", .record: String(record)]
      // Some locks can't tell the thumb-turn from a key.
      if let side, side != .unknown { fields[.from] = "\(side)" }
      logger.record(Recorded.Lock.boltMoved, fields)
    case .boltJammed(let target, let cause, let record):
      logger.record(
        Recorded.Lock.boltJammed, [.to: "\(target)", .cause: "\(cause)", .record: String(record)], level: .error)
    case .accessChanged: logger.record(Recorded.Lock.accessChanged)
    case .turnWasInterrupted(let record):
      logger.record(Recorded.Lock.boltInterrupted, [.record: String(record)], level: .warning)
    case .alarmRaised(let alarm, let record):
      logger.record(Recorded.Lock.alarmRaised, [.alarm: "\(alarm)", .record: String(record)], level: .warning)
    case .alarmCleared(let alarm, let record):
      logger.record(Recorded.Lock.alarmCleared, [.alarm: "\(alarm)", .record: String(record)])
    case .batteryChanged(let level, let percent):
      logger.record(
        Recorded.Lock.batteryChanged, [.level: "\(level)", .percent: String(percent)],
        level: level == .ok ? .info : .warning)
    case .enrolmentOpened: logger.record(Recorded.Lock.enrolmentOpened)
    case .enrolmentClosed(let end): logger.record(Recorded.Lock.enrolmentClosed, [.because: "\(end)"])
    case .enrolmentRefused(let central, let status):
      guard refusals.tell(at: LockTime(time).milliseconds) != nil else { return }
      logger.record(
        Recorded.Lock.enrolmentRefused, [.central: central.text, .reason: "\(status)"], level: .warning)
    case .phoneEnrolled(let record): logger.record(Recorded.Lock.phoneEnrolled, [.record: String(record)])
    case .modeChanged(let mode): logger.record(Recorded.Lock.modeChanged, [.mode: "\(mode)"])
    case .recordFailed(let record): logger.error("the bolt stays as it is: record \(record) was not stored")
    }
  }

  private func recordRefusal(_ central: CentralIdentifier, _ reason: String) {
    guard let untold = refusals.tell(at: LockTime(time).milliseconds) else { return }
    var fields: [JournalField: String] = [.central: central.text, .reason: reason]
    if untold > 0 { fields[.untold] = String(untold) }
    logger.record(Recorded.Lock.commandRefused, fields, level: .warning)
  }

  // MARK: World

  private struct HardwareStatus: Encodable {
    var bolt: String
    var door: String
    var isTurning: Bool
    var records: Int
    var lockState: String
    var doorState: String
    var mode: String
    var alarms: [String]
    /// Whether phones are enrolled now: `open`, `closed`, `lockedOut`, or `noCode`.
    var enrolment: String
    var battery: Int?
    var batteryLevel: String?
  }

  /// Answers one line of the hardware socket.
  func answerHardware(_ line: String) -> String {
    guard let request = HardwareRequest(line: line) else { return HardwareRequest.help }
    if request.isAction {
      do throws(MechanismError) { try mechanism.perform(request) } catch {
        return #"{"error":\#(error.description.debugDescription)}"#
      }
    }
    let battery = firmware.battery.percent
    let status = HardwareStatus(
      bolt: mechanism.positionWord, door: mechanism.doorWord, isTurning: mechanism.turning != nil,
      records: Int(clamping: log.recordCount), lockState: "\(firmware.lockState)", doorState: "\(firmware.doorState)",
      mode: "\(firmware.mode)", alarms: firmware.alarms.map { "\($0)" },
      enrolment: "\(firmware.enrolmentStatus)", battery: battery.map { Int($0) },
      batteryLevel: battery.map { _ in "\(firmware.battery.level)" })
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let data = try? encoder.encode(status) else { return #"{"error":"no status"}"# }
    return String(decoding: data, as: UTF8.self)
  }

  // MARK: The end

  private func endOnSignal() {
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
    source.setEventHandler { [weak self] in
      guard let self else { return }
      // A turn under way is finished first, because a bolt between its ends is not wanted.
      self.isEnding = true
      if self.mechanism.turning == nil { self.end() }
    }
    source.resume()
    terminationSource = source
  }

  private func end() {
    mechanism.end()
    logger.info("the lock ends on SIGTERM")
    exit(0)
  }
}

extension LockTime {
  init(_ time: any TimeSource) {
    self.init(milliseconds: time.now.nanoseconds / 1_000_000, unixSeconds: Int64(time.unixSeconds))
  }
}
