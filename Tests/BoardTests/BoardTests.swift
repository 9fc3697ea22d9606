import Crypto
import Foundation
import LockCryptography
import LockFirmware
import LockProtocol
import LockScript
import ProcessTesting
import Testing

/// The firmware on a Cortex-M4, in QEMU, beside the same source on Linux.
@Suite("The same source on a board", .timeLimit(.minutes(20))) struct BoardTests {
  /// What a script had come to at one step, as the board prints it.
  private struct Point: Equatable {
    var steps: UInt64
    var trace: String
    var events: UInt64
    var answers: UInt64
    var turns: UInt64
    /// How many times the power failed while something was being stored, and how often that left the wrong thing.
    var cuts: UInt64
    var violations: UInt64
    /// Of the arena, in bytes.
    var used = 0
    var peak = 0

    static func == (one: Point, other: Point) -> Bool {
      one.steps == other.steps && one.trace == other.trace && one.events == other.events && one.answers == other.answers
        && one.turns == other.turns && one.cuts == other.cuts && one.violations == other.violations
    }
  }

  /// The points of one script in the board's output.
  private static func points(_ name: String, in output: String) -> [Point] {
    output.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 12, words[0] == name, words[6] == "cuts", words[9] == "arena", let steps = UInt64(words[1]),
        let events = UInt64(words[3]), let answers = UInt64(words[4]), let turns = UInt64(words[5]),
        let cuts = UInt64(words[7]), let violations = UInt64(words[8]), let used = Int(words[10]),
        let peak = Int(words[11])
      else { return nil }
      return Point(
        steps: steps, trace: words[2], events: events, answers: answers, turns: turns, cuts: cuts,
        violations: violations, used: used, peak: peak)
    }
  }

  private static func figure(_ name: String, in output: String) -> Int? {
    output.split(separator: "\n").first { $0.hasPrefix(name + " ") }.flatMap { Int($0.split(separator: " ")[1]) }
  }

  private static func onLinux<Cryptography: ScriptCryptography>(
    _ script: consuming LockScript<Cryptography>, at steps: [UInt64]
  ) -> [Point] {
    var script = script
    var points: [Point] = []
    var done: UInt64 = 0
    for end in steps {
      while done < end {
        script.step()
        done += 1
      }
      script.settle()
      let trace = String(script.trace.value, radix: 16)
      points.append(
        Point(
          steps: end, trace: String(repeating: "0", count: 16 - trace.count) + trace, events: script.eventCount,
          answers: script.answerCount, turns: script.turnCount, cuts: script.powerCutCount,
          violations: script.violationCount))
    }
    return points
  }

  /// How long the long script is. `make firmware` carries out a million steps, which takes minutes in QEMU.
  private static let stepCount = ProcessInfo.processInfo.environment["LATCHKEY_BOARD_STEPS"] ?? "50000"

  @Test("L4: on which side a hand turned the bolt is a part of the trace")
  func traceHasTheSide() {
    let traces = [nil, .unknown, .inside, .outside].map { (side: HandSide?) in
      var trace = TraceHash()
      trace.mix(.boltMoved(.unlocked, cause: .hand, from: side, record: 1))
      return trace.value
    }
    #expect(Set(traces).count == 4)
  }

  @Test("L6: a Cortex-M4 leaves the same trace as Linux, and needs no more memory as time goes on")
  func sameTrace() async throws {
    let firmware = try await TestProcess(
      TestPlaces.package + "/scripts/firmware", ["--steps", Self.stepCount], mergesErrors: true)
    let outcome = try await firmware.finish()
    try #require(outcome.status == 0, "\(outcome.output)")
    let standIn = Self.points("stand-in", in: outcome.output)
    #expect(standIn.count == 4)
    #expect(Self.onLinux(LockScript<StandInCryptography>(seed: 2), at: standIn.map(\.steps)) == standIn)
    let real = Self.points("bearssl", in: outcome.output)
    if real.isEmpty {
      // Without a network there are no sources of BearSSL. The board then says that it has a stand-in alone.
      #expect(outcome.output.contains("no cryptography"), "\(outcome.output)")
    } else {
      #expect(Self.onLinux(LockScript<SeededSwiftCryptography>(seed: 1), at: real.map(\.steps)) == real)
      #expect((real.last?.answers ?? 0) > 10)
    }
    try checkRoom(in: outcome.output)
    let early = try #require(standIn.first { $0.steps == 1_000 })
    let late = try #require(standIn.last)
    // What is in use then is the newest records and what follows from them; a phone's command takes more than an alarm. So
    // it goes up and down, by 1.5 KiB over 200,000 steps. One byte that is lost in 25 steps would show.
    #expect(late.used <= early.used + 2048, "\(outcome.output)")
    #expect(late.peak <= 32 * 1024)
    #expect(late.cuts > 100)
    #expect((standIn + real).allSatisfy { $0.violations == 0 })
    #expect((Self.figure("stack", in: outcome.output) ?? .max) < 48 * 1024)
    // The board's flash has 512 KiB, and the lock's store needs room there as well.
    #expect((Self.figure("text", in: outcome.output) ?? .max) < 384 * 1024)
  }

  /// A lock that is full does the same on the board as on Linux, refuses what is more, and needs no more memory the next time.
  private func checkRoom(in output: String) throws {
    let lines = output.split(separator: "\n").filter { $0.hasPrefix("room ") }.map {
      $0.split(separator: " ").map(String.init)
    }
    try #require(lines.count == 3 && lines.allSatisfy { $0.count == 11 }, "\(output)")
    var script = RoomScript(seed: 4)
    var rounds = 0
    for line in lines {
      while rounds < Int(line[1]) ?? 0 {
        script.round()
        rounds += 1
      }
      let trace = String(script.trace.value, radix: 16)
      let counts = [
        script.eventCount, script.answerCount, script.turnCount, script.replyCount, script.refusalCount,
        UInt64(script.longestAccess),
      ]
      #expect(line[2] == String(repeating: "0", count: 16 - trace.count) + trace)
      #expect(line[3..<9] == counts.map(String.init)[...])
    }
    #expect(script.refusalCount > 60 && script.replyCount > 100 && script.turnCount >= 40)
    #expect(script.longestAccess <= LockCapacity.board.accessByteCount)
    #expect(LockCapacity.board.accessByteCount <= 4096 - 12 - 7, "a page of 4 KiB has room for it")
    // What is in use does not grow with the rounds; it changes a little with who came last.
    #expect((Int(lines[2][9]) ?? .max) <= (Int(lines[1][9]) ?? 0) + 1024, "\(output)")
    #expect((Int(lines[2][10]) ?? .max) <= 32 * 1024)
  }

  @Test(
    "L6: the power fails at every byte of every step: the store has the old or the new, and the log explains the bolt")
  func everyByte() {
    var script = LockScript<StandInCryptography>(seed: 3)
    var cuts = 0
    for step in 0..<300 {
      // A script is a value, so each byte is tried from the same state.
      for byte in 0... {
        var cut = script
        cut.cutPower(after: byte)
        cut.step()
        guard cut.powerCutCount > script.powerCutCount else { break }
        cuts += 1
        #expect(cut.violationCount == 0, "step \(step), byte \(byte)")
        // What comes after it is stored as well.
        for _ in 0..<3 { cut.step() }
        #expect(cut.violationCount == 0, "after step \(step), byte \(byte)")
      }
      script.step()
    }
    #expect(cuts > 3_000, "\(cuts)")
  }

  @Test("L6: a stand-in for cryptography keeps its laws, so that the script's sessions mean something") func standIn()
    throws
  {
    var cryptography = StandInCryptography(seed: 5)
    let (one, other) = (cryptography.makePrivateKey(), cryptography.makePrivateKey())
    #expect(
      try StandInCryptography.sharedSecret(one, StandInCryptography.publicKey(of: other))
        == StandInCryptography.sharedSecret(other, StandInCryptography.publicKey(of: one)))
    var sealed = try StandInCryptography.seal([1, 2, 3], key: [4], nonce: 5, authenticating: [6])
    #expect(try StandInCryptography.open(sealed, key: [4], nonce: 5, authenticating: [6]) == [1, 2, 3])
    sealed[0] ^= 1
    #expect(throws: NoiseError.authenticationFailed) {
      try StandInCryptography.open(sealed, key: [4], nonce: 5, authenticating: [6])
    }
  }
}

/// swift-crypto with keys from a seed, as the board has them.
private struct SeededSwiftCryptography: ScriptCryptography {
  typealias PrivateKey = SwiftCryptography.PrivateKey
  typealias PublicKey = SwiftCryptography.PublicKey

  private var random: ScriptRandom

  init(seed: UInt64) { random = ScriptRandom(seed: seed) }

  mutating func makePrivateKey() -> PrivateKey { Self.privateKey(from: random.bytes(NoiseSize.keyByteCount)) }

  static func privateKey(from bytes: [UInt8]) -> PrivateKey {
    guard let key = try? PrivateKey(rawRepresentation: bytes) else { preconditionFailure("a key has 32 bytes") }
    return key
  }

  static func publicKey(of privateKey: PrivateKey) -> PublicKey { SwiftCryptography.publicKey(of: privateKey) }
  static func publicKey(from bytes: [UInt8]) throws(NoiseError) -> PublicKey {
    try SwiftCryptography.publicKey(from: bytes)
  }
  static func bytes(of publicKey: PublicKey) -> [UInt8] { SwiftCryptography.bytes(of: publicKey) }
  static func sharedSecret(_ privateKey: PrivateKey, _ publicKey: PublicKey) throws(NoiseError) -> [UInt8] {
    try SwiftCryptography.sharedSecret(privateKey, publicKey)
  }
  static func seal(
    _ plaintext: [UInt8], key: [UInt8], nonce: UInt64, authenticating associatedData: [UInt8]
  ) throws(NoiseError) -> [UInt8] {
    try SwiftCryptography.seal(plaintext, key: key, nonce: nonce, authenticating: associatedData)
  }
  static func open(
    _ ciphertext: [UInt8], key: [UInt8], nonce: UInt64, authenticating associatedData: [UInt8]
  ) throws(NoiseError) -> [UInt8] {
    try SwiftCryptography.open(ciphertext, key: key, nonce: nonce, authenticating: associatedData)
  }
  static func hash(_ bytes: [UInt8]) -> [UInt8] { SwiftCryptography.hash(bytes) }
  static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    SwiftCryptography.authenticationCode(of: bytes, key: key)
  }
}
