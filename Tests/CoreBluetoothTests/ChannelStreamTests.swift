import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Glibc
import Testing

@testable import CoreBluetooth

/// The streams of an L2CAP channel. The test has the socket's other end.
@Suite("Streams of L2CAP channels", .timeLimit(.minutes(20)))
struct ChannelStreamTests {
  private final class Listener: NSObject, StreamDelegate, @unchecked Sendable {
    let events = Inbox<String>()
    func stream(_ stream: Stream, handle event: Stream.Event) {
      let side = stream is InputStream ? "in" : "out"
      let name =
        switch event {
        case .openCompleted: "open"
        case .hasBytesAvailable: "bytes"
        case .hasSpaceAvailable: "space"
        case .endEncountered: "end"
        default: "error"
        }
      events.put("\(side) \(name)")
    }
  }

  /// Where the app's end's descriptor goes.
  private final class Other: @unchecked Sendable {
    private(set) var descriptor: Int32
    init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit { close() }
    func close() {
      if descriptor >= 0 { Glibc.close(descriptor) }
      descriptor = -1
    }
    func send(_ bytes: [UInt8]) { #expect(Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0) }
    /// Waits for a packet; `nil` at the end.
    func receive() -> [UInt8]? {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      return count > 0 ? Array(buffer.prefix(count)) : nil
    }
  }

  private static func makeChannel(mtu: UInt16 = 100) throws -> (CBL2CAPChannel, Other, released: Inbox<Int32>) {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
    let released = Inbox<Int32>()
    let descriptor = ChannelDescriptor(owning: ends[0]) { number in
      close(number)
      released.put(number)
    }
    let queue = DispatchQueue(label: "test.channel")
    let channel = CBL2CAPChannel(
      peer: CBPeer(Example.phone), psm: 0x80, socket: descriptor, mtu: mtu, queue: queue,
      delivery: SerialDelivery(queue))
    return (channel, Other(ends[1]), released)
  }

  /// Runs a run loop for as long as the test keeps it.
  private final class LoopThread: @unchecked Sendable {
    private let lock = NSLock()
    private var runLoop: RunLoop?
    private var isOver = false
    private let started = DispatchSemaphore(value: 0)
    init() {
      Thread.detachNewThread { [self] in
        lock.withLock { runLoop = .current }
        let port = Timer(timeInterval: 3600, repeats: true) { _ in }
        RunLoop.current.add(port, forMode: .default)
        started.signal()
        while !lock.withLock({ isOver }) { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
      }
      started.wait()
    }
    var loop: RunLoop { lock.withLock { runLoop! } }
    func end() {
      lock.withLock { isOver = true }
      loop.add(Timer(fire: Date(), interval: 0, repeats: false) { _ in }, forMode: .default)
    }
  }

  @Test("C7: streams on a run loop tell their opening, what arrives, room, and the end after all that came before")
  func events() async throws {
    let thread = LoopThread()
    defer { thread.end() }
    let (channel, other, _) = try Self.makeChannel()
    let (input, output) = (Listener(), Listener())
    channel.inputStream.delegate = input
    channel.outputStream.delegate = output
    #expect(channel.inputStream.streamStatus == .notOpen)
    channel.inputStream.schedule(in: thread.loop, forMode: .default)
    channel.outputStream.schedule(in: thread.loop, forMode: .default)
    channel.inputStream.open()
    channel.outputStream.open()
    #expect(try await input.events.next() == "in open")
    #expect(try await output.events.next() == "out open")
    #expect(try await output.events.next() == "out space")
    other.send([1, 2, 3])
    other.send([4])
    #expect(try await input.events.next() == "in bytes")
    var bytes = [UInt8](repeating: 0, count: 2)
    #expect(channel.inputStream.read(&bytes, maxLength: 2) == 2)
    #expect(bytes == [1, 2])
    #expect(try await input.events.next() == "in bytes", "there is more")
    var rest: [UInt8] = []
    while rest.count < 2 {
      let count = channel.inputStream.read(&bytes, maxLength: 2)
      rest += bytes.prefix(count)
    }
    #expect(rest == [3, 4])
    #expect(!channel.inputStream.hasBytesAvailable)
    // A longer text goes out in packets that the peer takes.
    let text = (0..<250).map { UInt8($0) }
    #expect(channel.outputStream.write(text, maxLength: text.count) == 250)
    #expect(try await output.events.next() == "out space")
    #expect([other.receive()?.count, other.receive()?.count, other.receive()?.count] == [100, 100, 50])
    other.send([9])
    shutdown(other.descriptor, Int32(SHUT_RDWR))
    while input.events.pending.isEmpty { await Task.yield() }
    while try await input.events.next() != "in bytes" {}
    #expect(channel.inputStream.streamStatus == .open)
    #expect(channel.inputStream.read(&bytes, maxLength: 2) == 1)
    #expect(try await input.events.next() == "in end")
    #expect(try await output.events.next() == "out end")
    #expect(channel.inputStream.streamStatus == .atEnd)
    #expect(channel.inputStream.read(&bytes, maxLength: 2) == 0)
    #expect(channel.outputStream.write([1], maxLength: 1) == -1)
  }

  @Test("C7: streams on no run loop are read and written by waiting, and an unopened one by no means")
  func waiting() throws {
    let (channel, other, _) = try Self.makeChannel()
    var bytes = [UInt8](repeating: 0, count: 8)
    #expect(channel.inputStream.read(&bytes, maxLength: 8) == -1)
    #expect(channel.outputStream.write([1], maxLength: 1) == -1)
    channel.inputStream.open()
    channel.outputStream.open()
    #expect(channel.outputStream.write([5, 6], maxLength: 2) == 2)
    #expect(other.receive() == [5, 6])
    Thread.detachNewThread { other.send([7]) }
    #expect(channel.inputStream.read(&bytes, maxLength: 8) == 1)
    #expect(bytes[0] == 7)
  }

  @Test("C7: the socket closes when both streams are closed, and when the last reference to the channel goes")
  func closing() async throws {
    var (channel, other, released): (CBL2CAPChannel?, Other, Inbox<Int32>) = try Self.makeChannel()
    channel?.inputStream.open()
    channel?.outputStream.open()
    channel?.inputStream.close()
    #expect(channel?.outputStream.write([1], maxLength: 1) == 1)
    channel?.outputStream.close()
    #expect(other.receive() == [1])
    #expect(other.receive() == nil)
    channel = nil
    _ = try await released.next()
    (channel, other, released) = try Self.makeChannel()
    channel = nil
    _ = try await released.next()
    #expect(other.receive() == nil)
  }

  /// Closes a stream at its end.
  private final class Closer: NSObject, StreamDelegate, @unchecked Sendable {
    let events = Inbox<Stream.Event>()
    func stream(_ stream: Stream, handle event: Stream.Event) {
      events.put(event)
      if event == .endEncountered { stream.close() }
    }
  }

  @Test("C7: a thread whose run loop has only a channel's streams is called while they are there, and then goes on")
  func loopOfItsOwn() async throws {
    let (channel, other, _) = try Self.makeChannel()
    let (delegate, ended) = (Closer(), Inbox<Void>())
    channel.inputStream.delegate = delegate
    Thread.detachNewThread {
      channel.inputStream.schedule(in: .current, forMode: .default)
      channel.inputStream.open()
      while RunLoop.current.run(mode: .default, before: .distantFuture) {}
      ended.put(())
    }
    #expect(try await delegate.events.next() == .openCompleted)
    other.send([1])
    #expect(try await delegate.events.next() == .hasBytesAvailable)
    #expect(ended.pending.isEmpty)
    var byte: UInt8 = 0
    #expect(channel.inputStream.read(&byte, maxLength: 1) == 1)
    shutdown(other.descriptor, Int32(SHUT_RDWR))
    #expect(try await delegate.events.next() == .endEncountered)
    _ = try await ended.next()
  }

  @Test("C7: a channel ends as soon as the app's connection has, after what had arrived")
  func endOfTheConnection() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    peripheral.openL2CAPChannel(0x80)
    let (operation, _) = try #require(try await setup.nextOperation())
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
    let other = Other(ends[1])
    setup.complete(operation, .channel(ChannelDescriptor(owning: ends[0]) { _ = close($0) }, mtu: 100))
    let channel = try await setup.recorder.opened.next()
    other.send([1])
    setup.manager.cancelPeripheralConnection(peripheral)
    setup.system.emit(.disconnected(Example.lock, error: nil, unixSeconds: 0, isReconnecting: false))
    #expect(try await setup.recorder.calls.next() == "didOpen")
    #expect(try await setup.recorder.calls.next() == "didDisconnect")
    #expect(other.receive() == nil)
    channel.inputStream.open()
    var byte: UInt8 = 0
    #expect(channel.inputStream.read(&byte, maxLength: 1) == 1)
    #expect(channel.inputStream.read(&byte, maxLength: 1) == 0)
  }

  @Test("C7: a peer that closes before it has read everything takes nothing back of what it has sent")
  func unreadAtTheEnd() throws {
    let (channel, other, _) = try Self.makeChannel()
    channel.inputStream.open()
    channel.outputStream.open()
    #expect(channel.outputStream.write([1, 2], maxLength: 2) == 2)
    other.send([3])
    other.send([4])
    other.close()
    var bytes = [UInt8](repeating: 0, count: 8)
    #expect(channel.inputStream.read(&bytes, maxLength: 8) == 2)
    #expect(bytes.prefix(2) == [3, 4])
    #expect(channel.inputStream.read(&bytes, maxLength: 8) == 0)
  }

  @Test("C7: a writer that gets ahead of its peer is told when there is room again, and loses nothing")
  func fullSocket() async throws {
    let thread = LoopThread()
    defer { thread.end() }
    let (channel, other, _) = try Self.makeChannel(mtu: 2048)
    let output = Listener()
    channel.outputStream.delegate = output
    channel.outputStream.schedule(in: thread.loop, forMode: .default)
    channel.outputStream.open()
    #expect(try await output.events.next() == "out open")
    let chunk = [UInt8](repeating: 3, count: 4_000_000)
    let written = channel.outputStream.write(chunk, maxLength: chunk.count)
    #expect(written > 0 && written < chunk.count)
    #expect(!channel.outputStream.hasSpaceAvailable)
    var count = 0
    while count < written { count += other.receive()?.count ?? written }
    #expect(count == written)
    #expect(try await output.events.next() == "out space")
    #expect(channel.outputStream.hasSpaceAvailable)
  }

  @Test("C7: a manager's queue goes with its last channel")
  func queueGoes() async throws {
    let gone = Inbox<String>()
    final class Witness: Sendable {
      let gone: Inbox<String>
      init(_ gone: Inbox<String>) { self.gone = gone }
      deinit { gone.put("gone") }
    }
    let key = DispatchSpecificKey<Witness>()
    do {
      let queue = DispatchQueue(label: "test.session")
      queue.setSpecific(key: key, value: Witness(gone))
      var ends: [Int32] = [-1, -1]
      try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
      let other = Other(ends[1])
      let channel = CBL2CAPChannel(
        peer: CBPeer(Example.phone), psm: 0x80, socket: ChannelDescriptor(owning: ends[0]) { _ = close($0) }, mtu: 100,
        queue: queue, delivery: SerialDelivery(queue))
      channel.inputStream.open()
      channel.inputStream.close()
      channel.outputStream.close()
      other.close()
    }
    #expect(try await gone.next() == "gone")
  }
}
