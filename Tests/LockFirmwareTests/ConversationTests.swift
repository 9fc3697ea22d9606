import LockCryptography
import LockFirmware
import LockProtocol
import Testing

/// What a phone asks after the answer to its command.
@Suite("Conversations with a lock") struct ConversationTests {
  @Test("L8: a phone asks how the lock is, and is told who moved the bolt last") func state() throws {
    var bench = try Bench()
    try bench.comeHome(7)
    bench.happens(.offerRead(Bench.alice))
    var conversation = try bench.conversation()
    let reply = try #require(try bench.ask(LockRequest.state.encoded, in: &conversation))
    #expect(reply.kind == .state && reply.status == .done)
    let report = try LockStateReport(decoding: reply.body)
    #expect(report.lockState == .unlocked && report.doorState == .closed && report.battery == nil)
    #expect(report.head.index == 2)
    let last = try LockRecord(decoding: try #require(report.lastMovement))
    #expect(last.target == .unlocked && last.cause == .phone && last.phone == bench.log[1].phone && last.operation == 7)
  }

  @Test("L6: whoever has a session is told what the lock raises the alarm about now") func alarms() throws {
    var bench = try Bench()
    try bench.comeHome(7)
    bench.happens(.offerRead(Bench.alice))
    var conversation = try bench.conversation()
    func raised() throws -> [LockAlarm?] {
      let reply = try #require(try bench.ask(LockRequest.alarms.encoded, in: &conversation))
      #expect(reply.kind == .alarms && reply.status == .done)
      return reply.body.map(LockAlarm.init(rawValue:))
    }
    #expect(try raised().isEmpty)
    bench.move(door: .open)
    bench.pass(301)
    #expect(try raised() == [.doorAjar])
    bench.happens(.tamperChanged(isOpen: true))
    #expect(try raised() == [.doorAjar, .frontEscutcheonRemoved])
    bench.move(door: .closed)
    #expect(try raised() == [.frontEscutcheonRemoved])
  }

  @Test("L5: the log is read in pages whose chain leads to the end that the lock states") func pages() throws {
    var bench = try Bench()
    bench.finishesTurns = true
    bench.happens(.linkUp(Bench.alice))
    for operation in 1...40 {
      try bench.command(operation.isMultiple(of: 2) ? .lock : .unlock, UInt64(operation))
      bench.pass(2)
    }
    var conversation = try bench.conversation()
    var end = LogHead.empty
    var found: [[UInt8]] = []
    while true {
      let request = LockRequest.log(from: end.index + 1, count: 255)
      let page = try LogPage(decoding: try #require(try bench.ask(request.encoded, in: &conversation)).body)
      #expect(page.first == 1 && page.head.index == 80)
      #expect(page.before == end)
      guard !page.records.isEmpty else { break }
      #expect(page.records.count <= LogPage.maximumCount)
      found += page.records
      end = page.end(using: SwiftCryptography.self)
      if end.index == page.head.index { #expect(end == page.head) }
    }
    #expect(found == bench.log.map(\.encoded))
  }

  @Test("L4: who has proven no key gets no reply, and neither does what another session sealed") func strangers() throws
  {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkUp(Bench.stranger))
    var conversation = try bench.conversation()
    let fragments = Fragments.cut(
      try conversation.seal(LockRequest.state.encoded), tag: conversation.tag, valueByteCount: 20)
    for fragment in fragments { bench.happens(.requestWritten(Bench.stranger, fragment)) }
    #expect(bench.replies.isEmpty && bench.responses.suffix(fragments.count).allSatisfy { !$0 })
    #expect(bench.notes.contains(.requestRefused(Bench.stranger)))
    // On its own link it is answered, once.
    for _ in 1...2 { for fragment in fragments { bench.happens(.requestWritten(Bench.alice, fragment)) } }
    #expect(bench.replies[Bench.alice.low]?.count == 1)
    // After the link is lost, the conversation is over.
    bench.happens(.linkDown(Bench.alice))
    bench.happens(.linkUp(Bench.alice))
    #expect(try bench.ask(LockRequest.state.encoded, in: &conversation) == nil)
  }

  @Test(
    "L4: bits that were flipped, and fragments that are missing or repeated, get no reply, too many get one, and none breaks anything"
  )
  func damaged() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    var conversation = try bench.conversation()
    let good = Fragments.cut(
      try conversation.seal(LockRequest.log(from: 1, count: 2).encoded), tag: conversation.tag, valueByteCount: 20)
    #expect(good.count == 2)
    for number in good.indices {
      for position in good[number].indices {
        var fragments = good
        fragments[number][position] ^= 1
        for fragment in fragments { bench.happens(.requestWritten(Bench.alice, fragment)) }
      }
    }
    for fragments in [[good[1]], [good[0], good[0]], [[]], [[conversation.tag]], [[conversation.tag, 0xC0]]] {
      for fragment in fragments { bench.happens(.requestWritten(Bench.alice, fragment)) }
    }
    #expect(bench.replies.isEmpty)
    for number in 0...300 {
      let header = UInt8(number % 64) | (number == 0 ? 0x40 : 0)
      bench.happens(.requestWritten(Bench.alice, [conversation.tag, header] + [UInt8](repeating: 1, count: 18)))
    }
    // That it is too long is said, once.
    let reply = try #require(bench.replies[Bench.alice.low]?.first)
    #expect(bench.replies[Bench.alice.low]?.count == 1)
    var text: [UInt8]?
    for fragment in Fragments.cut(reply.message, tag: reply.tag, valueByteCount: 20) {
      text = conversation.take(fragment)
    }
    #expect(text == LockReply(nil, .noRoom).encoded)
    for fragment in good { bench.happens(.requestWritten(Bench.alice, fragment)) }
    #expect(bench.replies[Bench.alice.low]?.count == 2)
  }

  @Test("L4: a value too short for a fragment is refused, whosever tag it has, and ends no conversation")
  func tooShort() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    var conversation = try bench.conversation()
    for value in [[], [conversation.tag], [conversation.tag, 0xC0]] {
      bench.happens(.requestWritten(Bench.alice, value))
      #expect(bench.responses.last == false, "\(value.count) bytes")
    }
    #expect(try bench.ask(LockRequest.state.encoded, in: &conversation)?.status == .done)
  }

  @Test("L4: a question that this lock does not know is answered as such") func unknown() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    var conversation = try bench.conversation()
    for bytes: [UInt8] in [[1, 200], [2, 1], [1], [1, 1, 0], [1, 2, 0], [0]] {
      let reply = try #require(try bench.ask(bytes, in: &conversation))
      #expect(reply.status == .malformed && reply.kind == nil && reply.body.isEmpty)
    }
    #expect(try bench.ask(LockRequest.state.encoded, in: &conversation)?.status == .done)
  }

  @Test("L4: messages of every length are cut and put together again, at every MTU") func fragments() throws {
    for count in [1, 17, 18, 19, 36, 512, 1152, 1153, 2304, Fragments.maximumMessageByteCount] {
      let message = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      for valueByteCount in [0, 20, 23, 185, 512, 2000] {
        let fragments = Fragments.cut(message, tag: 9, valueByteCount: valueByteCount)
        #expect(fragments.allSatisfy { $0.count <= max(20, min(valueByteCount, 512)) && $0[0] == 9 })
        #expect(fragments.flatMap { $0.dropFirst(2) } == message)
        #expect(fragments.first.map { $0[1] & 0x40 != 0 } == true && fragments.last.map { $0[1] & 0x80 != 0 } == true)
        #expect(fragments.dropFirst().allSatisfy { $0[1] & 0x40 == 0 })
      }
    }
  }
}
