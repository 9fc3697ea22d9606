import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import Testing

/// What owners change is stored, and then its record. The power may fail between the two, or at any other write.
@Suite("Changes without a record") struct UnrecordedChangeTests {
  private static let code = EnrolmentCode.draw()
  private static let carol = CentralIdentifier(high: 0, low: 3)

  /// Whether the log has exactly one record of each change that the lock has stored.
  private func isExplained(_ bench: Bench) -> Bool {
    func count(_ change: AccessChange, _ phone: [UInt8], _ number: UInt64 = 0) -> Int {
      bench.log.count { $0.change == change && $0.phone == phone && $0.operation == number }
    }
    let alice = Array(bench.keys[0].publicKey.rawRepresentation)
    return bench.access.phones.allSatisfy { count(.phoneEnrolled, $0.key) == 1 }
      && bench.access.owners.allSatisfy { count(.ownerIntroduced, $0.phone) == 1 }
      && bench.access.lists.allSatisfy { count(.listAccepted, alice, $0.version) == 1 }
      && bench.log.map(\.index) == Array(1..<UInt64(bench.log.count + 1))
  }

  /// Cuts the power at each write of a change, and again at each write of the start after it.
  private func cut(_ make: () throws -> Bench, _ change: (inout Bench) throws -> Void) throws -> Int {
    var cuts = 0
    for writes in 0..<100 {
      var bench = try make()
      bench.writesUntilPowerFails = writes
      // What comes after the cut finds no lock.
      try? change(&bench)
      guard bench.isDead else { break }
      cuts += 1
      for writesAtStart in 0..<100 {
        var bench = bench
        bench.restart(writesUntilPowerFails: writesAtStart)
        let isOver = !bench.isDead
        bench.restart()
        let isExplainedAtOnce = isExplained(bench)
        #expect(isExplainedAtOnce, "power fails after \(writes) writes, and \(writesAtStart) at the start")
        bench.restart()
        let isExplainedLater = isExplained(bench)
        #expect(isExplainedLater, "another start after \(writes) and \(writesAtStart) writes")
        #expect(bench.access.encoded.first != 4, "an earlier release reads what is stored")
        if isOver { break }
      }
    }
    return cuts
  }

  @Test("L5, L6: wherever the power fails in an enrolment, who is an owner then has a record in the log")
  func enrolment()
    throws
  {
    let key = Bench.PrivateKey()
    let make = {
      var bench = try Bench(phoneCount: 1) { $0.enrolmentSecret = Self.code.secret(using: SwiftCryptography.self) }
      bench.happens(.enrolmentButton)
      return bench
    }
    #expect(try cut(make) { try enrol(key, on: &$0) } >= 2)
    var bench = try make()
    try enrol(key, on: &bench)
    #expect(bench.access.phones.count == 1 && isExplained(bench) && bench.access.encoded.first == 2)
  }

  @Test("L5, L6: nor does an introduction or a list lack its record, wherever the power fails") func told() throws {
    var party = try GuestParty(introduces: false)
    let introduction = LockRequest.introduce(signingKey: party.owner.publicKey, name: Array("Alice".utf8))
    let list = LockRequest.deliver(try party.list(1, [.grant([UInt8](repeating: 9, count: 16))]).encoded)
    for request in [introduction, list] {
      var bench = party.bench
      bench.milliseconds += 1
      bench.happens(.offerRead(Bench.alice))
      let conversation = try bench.conversation()
      let tell = { (bench: inout Bench) in
        var conversation = conversation
        _ = try bench.ask(request.encoded, in: &conversation)
      }
      #expect(try cut({ bench }, tell) >= 2)
      #expect(try party.tell(request) == .done)
    }
  }

  @Test("L5, L6: a record that is missing and can't be made up for at a start is made up for at the next one")
  func fullDisk() throws {
    var bench = try Bench(phoneCount: 1)
    let phone = [UInt8](repeating: 9, count: 32)
    bench.access.phones = [KeyName(key: phone, name: [65])]
    bench.access.unrecorded = AccessState.Unrecorded(.phoneEnrolled, index: 1)
    bench.storesAtOnce = false
    bench.restart()
    #expect(bench.unstored.map(\.index) == [1])
    bench.unstored = []
    bench.happens(.recordFailed(1))
    bench.storesAtOnce = true
    // Another record gets its number.
    bench.happens(.tamperChanged(isOpen: true))
    #expect(bench.log.map(\.kind) == [.alarm])
    bench.restart()
    #expect(bench.log.map(\.kind) == [.alarm, .access] && bench.log.last?.phone == phone)
    #expect(bench.access.unrecorded == nil)
  }

  @Test("L6: what a lock stores until the record of a change is durable has one form") func oneForm() throws {
    var state = AccessState()
    state.phones = [KeyName(key: [UInt8](repeating: 9, count: 32), name: [65])]
    let plain = state.encoded
    state.unrecorded = AccessState.Unrecorded(.phoneEnrolled, index: 7)
    #expect(state.encoded[0] == 4 && Array(state.encoded.dropFirst(10)) == plain)
    #expect(try AccessState(decoding: state.encoded) == state)
    // Neither within itself, nor of something that is not there or no change.
    #expect(throws: LockMessageError.self) { try AccessState(decoding: state.encoded.prefix(10) + state.encoded) }
    #expect(throws: LockMessageError.self) { try AccessState(decoding: Array(state.encoded.prefix(9))) }
    for change in [0, 1, 2, 3, 5] as [UInt8] {
      var other = state.encoded
      other[1] = change
      #expect(throws: LockMessageError.self, "\(change)") { try AccessState(decoding: other) }
    }
  }

  @Test("L6: a use whose bolt has not begun to move has one form, too") func unmovedUse() throws {
    var state = AccessState()
    state.uses = [AccessState.Use(grant: [UInt8](repeating: 9, count: 16), count: 1, until: 4_000_000_000)]
    let plain = state.encoded
    state.unmovedUse = 7
    #expect(state.encoded[0] == 5 && Array(state.encoded.dropFirst(9)) == plain)
    #expect(try AccessState(decoding: state.encoded) == state)
    #expect(throws: LockMessageError.self) { try AccessState(decoding: state.encoded.prefix(9) + state.encoded) }
    #expect(throws: LockMessageError.self) { try AccessState(decoding: Array(state.encoded.prefix(8))) }
    // Of no use at all.
    #expect(throws: LockMessageError.self) {
      try AccessState(decoding: Array(state.encoded.prefix(9)) + AccessState().encoded)
    }
    state.phones = [KeyName(key: [UInt8](repeating: 9, count: 32), name: [65])]
    state.unrecorded = AccessState.Unrecorded(.phoneEnrolled, index: 8)
    #expect(try AccessState(decoding: state.encoded) == state)
  }

  @Test("L5: a phone of the lock's key file that is enrolled once more leaves a lock that starts") func again() throws {
    var bench = try Bench(phoneCount: 1) { $0.enrolmentSecret = Self.code.secret(using: SwiftCryptography.self) }
    bench.happens(.enrolmentButton)
    try enrol(bench.keys[0], on: &bench)
    #expect(bench.log.last?.change == .phoneEnrolled && bench.access.phones.isEmpty)
    bench.storesAtOnce = false
    bench.happens(.enrolmentButton)
    try enrol(bench.keys[0], on: &bench)
    bench.restart()
    #expect(bench.log.count == 1 && bench.access.unrecorded == nil)
  }

  private func enrol(_ key: Bench.PrivateKey, on bench: inout Bench) throws {
    var cryptography = SwiftCryptography()
    var session = try EnrolmentOfPhone<SwiftCryptography>(
      secret: Self.code.secret(using: SwiftCryptography.self), staticKey: key, using: &cryptography)
    for fragment in Fragments.cut(session.start, tag: session.tag, valueByteCount: 512) {
      bench.happens(.enrolmentWritten(Self.carol, fragment))
    }
    let reply = try #require(bench.enrolmentMessages[Self.carol.low]?.last).message
    let proof = try session.answer(reply, name: Array("Carol".utf8), using: &cryptography)
    for fragment in Fragments.cut(proof, tag: session.tag, valueByteCount: 512) {
      bench.happens(.enrolmentWritten(Self.carol, fragment))
    }
  }
}
