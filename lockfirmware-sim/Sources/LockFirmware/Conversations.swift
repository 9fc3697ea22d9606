import LockProtocol

/// A question of a phone for which records must be read from the log.
package struct LogReading: Equatable, Sendable {
  /// Who gets the reply, and in which conversation.
  package var central: CentralIdentifier
  package var tag: UInt8
  package var request: LockRequest
  /// The first record that is wanted.
  package var from: UInt64
  /// The most records that are wanted. With 0, only the log's end is read.
  package var count: Int
}

/// A conversation in which a phone may ask. It has the rights of the phone whose command began it. A command of another
/// phone on the same link does not change them.
struct OpenConversation<Cryptography: NoiseCryptography> {
  var conversation: Conversation<Cryptography>
  let phone: [UInt8]
  /// The grant that the phone brought with its command, if it is a guest's.
  let grant: Grant?
}

extension LockFirmware {
  /// Begins a conversation after the answer to a command.
  mutating func converse(_ conversation: OpenConversation<Cryptography>, on index: Int) {
    // A phone may write its next command while the reply to an earlier question is on its way.
    if links[index].conversations.count > 1 { links[index].conversations.removeFirst() }
    links[index].conversations.append(conversation)
  }

  /// Takes a fragment of a question. Only a phone that has proven a key, and knows that session's secrets, can ask.
  mutating func requestWritten(_ central: CentralIdentifier, _ fragment: [UInt8]) {
    guard fragment.count > Fragments.headerByteCount, let index = links.firstIndex(where: { $0.central == central }),
      let place = links[index].conversations.lastIndex(where: { $0.conversation.tag == fragment.first })
    else {
      effects.append(.respond(central, isAccepted: false))
      return effects.append(.note(.requestRefused(central)))
    }
    effects.append(.respond(central, isAccepted: true))
    links[index].unheardDue = links[index].isSubscribed ? nil : now + configuration.unheardDelayMilliseconds
    guard makeRoom(for: fragment.count, of: place, on: index) else {
      links[index].conversations[place].conversation.dropBegun()
      effects.append(.note(.noRoom(central, nil)))
      return reply(LockReply(nil, .noRoom), to: central, links[index].conversations[place].conversation.tag)
    }
    let text = links[index].conversations[place].conversation.take(fragment)
    if links[index].conversations[place].conversation.wasTooLong {
      effects.append(.note(.noRoom(central, nil)))
      return reply(LockReply(nil, .noRoom), to: central, links[index].conversations[place].conversation.tag)
    }
    guard let text else { return }
    let (phone, grant) = (links[index].conversations[place].phone, links[index].conversations[place].grant)
    let tag = links[index].conversations[place].conversation.tag
    let request: LockRequest
    do { request = try LockRequest(decoding: text) } catch {
      return reply(LockReply(nil, .malformed), to: central, tag)
    }
    guard isEntitled(phone, grant) else {
      return reply(LockReply(request.kind, .notEntitled), to: central, tag)
    }
    effects.append(.note(.requestAccepted(central, request.kind)))
    if request.isChange, isResetting { return reply(LockReply(request.kind, .failed), to: central, tag) }
    let asked = Asked(central: central, tag: tag, phone: phone, grant: grant, kind: request.kind)
    switch request {
    case .state: effects.append(.readLog(LogReading(central: central, tag: tag, request: request, from: 0, count: 0)))
    case .names(let from): replyNames(from: from, asked)
    case .owners(let from): replyOwners(from: from, asked)
    case .room: replyRoom(asked)
    case .mode: reply(asked, .done, [mode.rawValue])
    case .alarms: reply(asked, .done, alarms.map { $0.rawValue })
    case .setClock(let unixSeconds): setClock(unixSeconds, asked)
    case .introduce(let signingKey, let name): introduce(signingKey, name, asked)
    case .deliver(let list): deliver(list, asked)
    case .bringIntroduction(let introduction): takeIntroduction(introduction, asked)
    case .log(let from, let count):
      guard mayReadLog(asked) else { return reply(asked, .notEntitled) }
      let count = min(Int(count), configuration.capacity.replyEntries)
      effects.append(.readLog(LogReading(central: central, tag: tag, request: request, from: from, count: count)))
    }
  }

  /// Makes room for a fragment of an owner's request by dropping what guests have begun.
  /// - Returns: whether there is room for it.
  private mutating func makeRoom(for byteCount: Int, of place: Int, on index: Int) -> Bool {
    var begun = links.reduce(byteCount) { $0 + $1.conversations.reduce(0) { $0 + $1.conversation.begunByteCount } }
    guard begun > configuration.capacity.begunByteCount else { return true }
    guard isOwner(links[index].conversations[place].phone) else { return false }
    for other in links.indices {
      for guest in links[other].conversations.indices where links[other].conversations[guest].grant != nil {
        begun -= links[other].conversations[guest].conversation.begunByteCount
        links[other].conversations[guest].conversation.dropBegun()
      }
    }
    return begun <= configuration.capacity.begunByteCount
  }

  mutating func logRead(_ question: LogReading, _ page: LogPage?) {
    let kind = question.request.kind
    guard let page else { return reply(LockReply(kind, .failed), to: question.central, question.tag) }
    let body: [UInt8]
    switch question.request {
    case .state:
      body =
        LockStateReport(
          lockState: lockState, doorState: door, battery: battery.percent, unixSeconds: trustedTime?.earliest,
          head: page.head,
          lastMovement: latestMovement?.encoded
        ).encoded
    case .log: body = page.encoded
    case .names, .setClock, .introduce, .deliver, .owners, .bringIntroduction, .room, .mode, .alarms: return
    }
    reply(LockReply(kind, .done, body), to: question.central, question.tag)
  }

  /// Sends a reply, if its conversation is still there.
  mutating func reply(_ reply: LockReply, to central: CentralIdentifier, _ tag: UInt8) {
    guard let index = links.firstIndex(where: { $0.central == central }),
      let place = links[index].conversations.lastIndex(where: { $0.conversation.tag == tag })
    else { return }
    do throws(LockSessionError) {
      let message = try links[index].conversations[place].conversation.seal(reply.encoded)
      effects.append(.sendReply(central, tag: tag, message))
    } catch {
      // A conversation whose keys are used up is over. The phone begins another one with its next command.
      links[index].conversations.remove(at: place)
    }
  }
}
