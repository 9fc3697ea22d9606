import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// A write that waits for an application's socket.
struct AwaitingWrite: Sendable {
  var link: LinkIdentifier
  var value: [UInt8]
  var request: RemoteRequest
  /// The opcode of the peer's request that waits for an answer: a Write Request, or an Execute Write Request. `nil` for
  /// a command, which has no answer.
  var opcode: UInt8?
}

/// Writes to one value that wait for its application's answer to AcquireWrite.
struct AwaitingWrites: Sendable {
  /// The peer that the application was asked about.
  var link: LinkIdentifier
  var writes: [AwaitingWrite]
}

/// Sockets that applications supply for their values, one for each peer (src/gatt-database.c, `client_io`).
extension BlueZModel {
  /// An application answered AcquireNotify. Without a socket, it gets StartNotify as other applications do.
  mutating func notifyAcquired(
    _ handle: AttributeHandle, _ link: LinkIdentifier, _ result: Result<CallbackReply, BlueZError>
  ) {
    switch result {
    case .success(.channel(let descriptor, _)):
      let channel = ChannelIdentifier(given: descriptor)
      guard links[link] != nil, server.database.attribute(handle) != nil else {
        return outbox.append(.channel(.close(channel)))
      }
      channels.take(channel, as: .notifiesPeer(handle, link))
      server.notifyCounts[handle, default: 0] += 1
    case .failure(let error) where error.name.hasSuffix(".Failed") || error.name.hasSuffix(".NoReply"): break
    default: if links[link] != nil { askToNotify(handle) }
    }
  }

  /// A value came through a socket that an application gave for one peer. If the value goes as an indication, the peer's
  /// confirmation is one byte in the socket.
  mutating func notify(
    _ handle: AttributeHandle, _ value: [UInt8], through channel: ChannelIdentifier, on link: LinkIdentifier
  ) {
    guard let attribute = server.database.attribute(handle) else { return }
    notify(attribute, value, on: link, .channel(channel))
  }

  // MARK: Writes

  mutating func writeThroughChannel(
    _ attribute: LocalAttribute, _ write: AwaitingWrite
  ) {
    guard case .application(let client, let path) = attribute.source else { return }
    let (handle, link) = (attribute.handle, write.link)
    if let channel = channels.channel(.writesToApplication(handle, link)) {
      outbox.append(.channel(.data(channel, write.value)))
      return finish(write, handle, nil)
    }
    var callback = callbacks.draw().rawValue
    if server.awaitingWrites[handle] == nil {
      server.awaitingWrites[handle] = AwaitingWrites(link: link, writes: [write])
      callback = askForWrites(client, path, handle, write)
    } else {
      // The application is asked once. Further writes wait for the same answer.
      server.awaitingWrites[handle]?.writes.append(write)
    }
    if let opcode = write.opcode {
      links[link]?.server.pending = ATTServing.PendingRequest(callback: callback, opcode: opcode, handle: handle)
    }
  }

  private mutating func askForWrites(
    _ client: ClientIdentifier, _ path: ObjectPath, _ handle: AttributeHandle, _ write: AwaitingWrite
  ) -> UInt64 {
    call(
      client, path, .acquireWrite(write.request), .acquireWrite(handle, write.link),
      within: configuration.timings.application)
  }

  /// An application answered AcquireWrite, or did not in time. What waits goes through its socket or, without one, into
  /// method calls.
  mutating func writeAcquired(
    _ handle: AttributeHandle, _ link: LinkIdentifier, _ result: Result<CallbackReply, BlueZError>, isOverdue: Bool
  ) {
    let waiting = server.awaitingWrites.removeValue(forKey: handle)?.writes ?? []
    switch result {
    case .success(.channel(let descriptor, _)):
      let channel = ChannelIdentifier(given: descriptor)
      guard links[link] != nil, server.database.attribute(handle) != nil else {
        outbox.append(.channel(.close(channel)))
        for write in waiting { finish(write, handle, .unlikelyError) }
        return
      }
      channels.take(channel, as: .writesToApplication(handle, link))
      for write in waiting {
        outbox.append(.channel(.data(channel, write.value)))
        finish(write, handle, nil)
      }
    case .failure(let error) where isOverdue || error.attError(forRead: false) != .unlikelyError:
      for write in waiting { finish(write, handle, error.attError(forRead: false)) }
    default:
      for write in waiting { callInstead(write, handle) }
    }
  }

  private mutating func finish(_ write: AwaitingWrite, _ handle: AttributeHandle, _ error: ATTError?) {
    guard let opcode = write.opcode, links[write.link] != nil else { return }
    links[write.link]?.server.pending = nil
    let done = opcode == 0x12 ? ATTPDU.writeResponse : .executeWriteResponse
    send(error.map { .errorResponse(request: opcode, handle: handle, error: $0) } ?? done, on: write.link)
  }

  private mutating func callInstead(_ write: AwaitingWrite, _ handle: AttributeHandle) {
    guard case .application(let client, let path)? = server.database.attribute(handle)?.source else {
      return finish(write, handle, .unlikelyError)
    }
    if let opcode = write.opcode {
      ask(client, path, .writeValue(write.value, write.request), for: opcode, handle, on: write.link)
    } else {
      callWithoutAnswer(client, path, .writeValue(write.value, write.request))
    }
  }

  // MARK: Ends

  /// A peer's link is gone. Its sockets are closed. If the application was being asked for a socket for this peer, it
  /// is asked again for the next peer whose writes wait.
  mutating func closeChannels(ofPeer link: LinkIdentifier) {
    let ended = channels.all { use in
      switch use {
      case .notifiesPeer(_, link), .writesToApplication(_, link): true
      default: false
      }
    }
    for channel in ended { close(channel) }
    for handle in server.awaitingWrites.keys.sorted() {
      guard var waiting = server.awaitingWrites[handle] else { continue }
      waiting.writes.removeAll { $0.link == link }
      server.awaitingWrites[handle] = waiting
      guard waiting.link == link else { continue }
      server.awaitingWrites[handle] = nil
      guard let next = waiting.writes.first,
        case .application(let client, let path)? = server.database.attribute(handle)?.source
      else { continue }
      server.awaitingWrites[handle] = AwaitingWrites(link: next.link, writes: waiting.writes)
      _ = askForWrites(client, path, handle, next)
    }
  }

  /// The application of a value is gone.
  mutating func closeChannels(ofAttribute handle: AttributeHandle) {
    let ended = channels.all { use in
      switch use {
      case .notifiesPeer(handle, _), .writesToApplication(handle, _): true
      default: false
      }
    }
    for channel in ended { close(channel) }
  }
}
