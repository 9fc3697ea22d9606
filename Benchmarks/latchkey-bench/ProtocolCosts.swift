import ArrivalTimes
import Crypto
import Foundation
import Glibc
import LockCryptography
import LockFirmware
import LockProtocol
import LockRecords
import Logging

/// What the lock's protocol costs: the sessions of both sides, a guest's command at a lock with many revocations, and a
/// long log. Each figure is processor time of this process, and the least of several rounds.
enum ProtocolCosts {
  private typealias PrivateKey = Curve25519.KeyAgreement.PrivateKey

  /// - Parameter progress: is told what is measured next.
  static func report(progress: (String) -> Void) async throws -> String {
    let arrivals = 100
    progress("\(arrivals) arrivals, in simulated time …")
    guard
      let times = await AcceptanceTimes.measure(
        arrivals, seed: 1, connectionInterval: .milliseconds(15), isDead: true)
    else { throw Failure("the simulated phone and lock do not meet") }
    func each(_ count: Int) -> String { String(format: "%.2f", Double(count) / Double(max(times.times.count, 1))) }
    return try table(progress: progress) + """


      | from the link to the lock's acceptance | the phone writes | and reads | messages of the attribute protocol, both ways |
      |---|---|---|---|
      | the first meeting, nothing discovered | \(times.firstWrites) | \(times.firstReads) | \(times.firstMessages) |
      | an arrival, the app restored | \(each(times.writes)) | \(each(times.reads)) | \(each(times.messages)) |
      """
  }

  private static func table(progress: (String) -> Void) throws -> String {
    progress("the sessions of a phone and a lock …")
    let sessions = try sessions()
    progress("a guest's command, with revoked grants …")
    let (few, many) = (try command(revoked: 1), try command(revoked: mostRevoked))
    var rows = [
      "| the lock makes an offer | \(text(sessions.offer)) |",
      "| the phone makes a command | \(text(sessions.command)) |",
      "| the lock accepts it, and seals the answer | \(text(sessions.answer)) |",
      "| the phone opens the answer | \(text(sessions.opening)) |",
      "| a guest's command, 1 grant revoked | \(text(few)) |",
      "| a guest's command, \(mostRevoked) grants revoked | \(text(many)) (\(ratio(many, few))) |",
    ]
    progress("a log of 1,000 records …")
    let short = try log(1000, progress: progress)
    progress("a log of 1,000,000 records …")
    let long = try log(1_000_000, progress: progress)
    rows += [
      "| a record is stored, of 1,000, without the disk | \(text(short.append)) |",
      "| a record is stored, of 1,000,000, without the disk | \(text(long.append)) (\(ratio(long.append, short.append))) |",
      "| a log of 1,000 records is opened | \(text(short.open)) |",
      "| a log of 1,000,000 records is opened | \(text(long.open)) (\(ratio(long.open, short.open))) |",
      "| its newest page | \(text(short.newest)) and \(text(long.newest)) (\(ratio(long.newest, short.newest))) |",
      "| its oldest page, for the first time | \(text(short.oldest)) and \(text(long.oldest)) "
        + "(\(ratio(long.oldest, short.oldest))) |",
      "| its oldest page, again | \(text(short.oldestAgain)) and \(text(long.oldestAgain)) "
        + "(\(ratio(long.oldestAgain, short.oldestAgain))) |",
    ]
    return (["| | processor time |", "|---|---|"] + rows).joined(separator: "\n")
  }

  // MARK: Sessions

  private struct Sessions {
    var offer: Double
    var command: Double
    var answer: Double
    var opening: Double
  }

  private static func sessions() throws -> Sessions {
    let (lockKey, phoneKey) = (PrivateKey(), PrivateKey())
    let identity = try identity()
    var cryptography = SwiftCryptography()
    let answer = LockAnswer(result: .done, lockState: .unlocked, doorState: .closed, operation: 7, logIndex: 9)
    var best = Sessions(offer: .infinity, command: .infinity, answer: .infinity, opening: .infinity)
    for _ in 0..<rounds {
      var offers: [LockSession<SwiftCryptography>] = []
      best.offer = min(
        best.offer,
        try cost(of: turns) { _ in
          offers.append(try LockSession(identity: identity, staticKey: lockKey, using: &cryptography))
        })
      var phones: [PhoneSession<SwiftCryptography>] = []
      var commands: [[UInt8]] = []
      best.command = min(
        best.command,
        try cost(of: turns) { number in
          var phone = try PhoneSession<SwiftCryptography>(
            offer: offers[number].offer, identity: identity, lockKey: lockKey.publicKey, phoneKey: phoneKey)
          commands.append(try phone.seal(LockCommand(.unlock, operation: 7), using: &cryptography))
          phones.append(phone)
        })
      var answers: [[UInt8]] = []
      best.answer = min(
        best.answer,
        try cost(of: turns) { number in
          _ = try offers[number].accept(commands[number]) { _ in true }
          answers.append(try offers[number].seal(answer))
        })
      best.opening = min(
        best.opening, try cost(of: turns) { number in _ = try phones[number].open(answers[number]) })
    }
    return best
  }

  // MARK: Revocations

  /// As many revoked grants as a lock can have.
  private static let mostRevoked = AccessState.listLimit * RevocationList.maximumCount

  /// What a guest's command costs the firmware as a whole, from the write to the answer.
  private static func command(revoked: Int) throws -> Double {
    let (lockKey, guestKey, identity) = (PrivateKey(), PrivateKey(), try identity())
    let owners = (0..<AccessState.listLimit).map { _ in
      (phone: PrivateKey(), key: OwnerKey(key: Curve25519.Signing.PrivateKey()))
    }
    // As a lock stores it: no clock, the owners without names, and nothing else.
    var access = try AccessState(
      decoding: [1, 0, UInt8(owners.count)]
        + owners.flatMap { Array($0.phone.publicKey.rawRepresentation) + $0.key.publicKey + [0] } + [0, 0, 0, 0])
    var left = revoked
    for owner in owners where left > 0 {
      let count = min(left, RevocationList.maximumCount)
      left -= count
      access.lists.append(
        try owner.key.sign(
          RevocationList(
            lock: identity, issuer: owner.key.publicKey, version: 1,
            entries: (0..<count).map { _ in .grant((0..<16).map { _ in UInt8.random(in: 0...255) }) })))
    }
    let grant = try owners[0].key.sign(
      Grant(
        lock: identity, identifier: [UInt8](repeating: 9, count: 16),
        phone: Array(guestKey.publicKey.rawRepresentation), issuer: owners[0].key.publicKey, schedule: .always, uses: 0,
        permissions: [.unlock, .lock], name: [])
    ).encoded
    var firmware = LockFirmware(
      LockConfiguration(
        identity: identity, enrolledPhones: owners.map { Array($0.phone.publicKey.rawRepresentation) }),
      staticKey: lockKey, using: SwiftCryptography(), records: [], access: access, position: .locked, door: .closed,
      at: LockTime(milliseconds: 0, unixSeconds: 0))
    let central = CentralIdentifier(high: 0, low: 1)
    var cryptography = SwiftCryptography()
    var milliseconds: Int64 = 0
    _ = firmware.handle(.linkUp(central), at: LockTime(milliseconds: 0, unixSeconds: 0))
    var best = Double.infinity
    for _ in 0..<rounds * turns {
      milliseconds += 1000
      let time = LockTime(milliseconds: milliseconds, unixSeconds: 0)
      var offer: [UInt8]?
      for effect in firmware.handle(.offerRead(central), at: time) {
        if case .answerRead(_, let read) = effect { offer = read }
      }
      guard let offer else { throw Failure("the lock made no offer") }
      var session = try PhoneSession<SwiftCryptography>(
        offer: offer, identity: identity, lockKey: lockKey.publicKey, phoneKey: guestKey)
      let command = try session.seal(LockCommand(.status, operation: 0), grant: grant, using: &cryptography)
      var answer: [UInt8]?
      best = min(
        best,
        cost(of: 1) { _ in
          for effect in firmware.handle(.commandWritten(central, command), at: time) {
            if case .sendAnswer(_, let sealed) = effect { answer = sealed }
          }
        })
      guard let answer, try session.open(answer).result == .unknownOperation else {
        throw Failure("the lock did not accept the guest")
      }
    }
    return best
  }

  // MARK: The log

  private struct LogCosts {
    var append: Double
    var open = Double.infinity
    var newest = Double.infinity
    var oldest = Double.infinity
    var oldestAgain = Double.infinity
  }

  /// The log is in memory. On a disk, a million records would wait an hour for the disk to say that they are durable,
  /// and that is not processor time.
  private static func log(_ count: UInt64, progress: (String) -> Void) throws -> LogCosts {
    let memory = URL(fileURLWithPath: "/dev/shm")
    let folder = memory.appendingPathComponent("latchkey-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("records.log").path
    let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
    var costs = LogCosts(append: .infinity)
    do {
      let log = try RecordLog(path: path, logger: logger)
      // The first thousand and the last one are of the same length, so that files that are set aside count.
      for start in stride(from: UInt64(0), to: count, by: 1000) {
        if start > 0, start.isMultiple(of: 200_000) { progress("  \(start) records are stored") }
        costs.append = min(
          costs.append,
          try cost(of: 1000) { number in
            try log.append(
              LockRecord(
                .outcome, index: start + UInt64(number) + 1, unixSeconds: Int64(start), target: .locked, cause: .phone,
                result: .done, phone: [UInt8](repeating: 7, count: 32), operation: start))
          })
      }
    }
    for _ in 0..<rounds {
      var log: RecordLog?
      costs.open = min(costs.open, try cost(of: 1) { _ in log = try RecordLog(path: path, logger: logger) })
      guard let log else { throw Failure("the log was not opened") }
      func page(_ from: UInt64) throws -> Double {
        try cost(of: 1) { _ in
          guard try log.page(from: from, count: LogPage.maximumCount).records.count == LogPage.maximumCount else {
            throw Failure("the page has other records")
          }
        }
      }
      costs.newest = min(costs.newest, try page(count - UInt64(LogPage.maximumCount) + 1))
      costs.oldest = min(costs.oldest, try page(1))
      costs.oldestAgain = min(costs.oldestAgain, try page(1))
    }
    return costs
  }

  // MARK: Measuring

  private struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  private static let rounds = 9
  private static let turns = 50

  private static func identity() throws -> LockIdentity {
    guard let identity = LockIdentity([UInt8](repeating: 3, count: LockIdentity.byteCount)) else {
      throw Failure("no identity")
    }
    return identity
  }

  /// The processor time of one turn, in microseconds.
  private static func cost(of turns: Int, _ body: (Int) throws -> Void) rethrows -> Double {
    let before = processorNanoseconds()
    for number in 0..<turns { try body(number) }
    return Double(processorNanoseconds() - before) / 1000 / Double(turns)
  }

  private static func processorNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }

  private static func text(_ microseconds: Double) -> String {
    microseconds < 10_000
      ? String(format: "%.1f µs", microseconds) : String(format: "%.1f ms", microseconds / 1000)
  }

  private static func ratio(_ value: Double, _ other: Double) -> String { String(format: "%.2f times", value / other) }
}
