import CoreBluetooth
import Foundation

/// One end of an L2CAP channel, which the test reads and writes: the end of a `SimulatedPeripheral` or of a
/// `SimulatedCentral`.
///
/// It takes everything that arrives at once, unless the test has paused it. While it is paused, what the app sends
/// waits: first in this object, and then in the app's own stream, which has no space left.
public final class SimulatedChannel: @unchecked Sendable {
  private enum State {
    case opening
    case open(CBL2CAPChannel)
    case closed((any Error)?)
  }

  private let lock = NSRecursiveLock()
  private var number: CBL2CAPPSM
  private var state = State.opening
  private var unread = Data()
  private var unsent: ArraySlice<UInt8> = []
  private var isPaused = false
  private var isClosing = false
  private var handler: (@Sendable (SimulatedChannel) -> Void)?
  private var listener: Listener?

  init(psm: CBL2CAPPSM) { number = psm }

  /// The PSM, or 0 until it was read from the peripheral.
  public var psm: CBL2CAPPSM { lock.withLock { number } }

  /// Whether bytes can be sent and received.
  public var isOpen: Bool { lock.withLock { if case .open = state { true } else { false } } }

  /// Whether it has ended, or could not be opened.
  public var isClosed: Bool { lock.withLock { if case .closed = state { true } else { false } } }

  /// Why it could not be opened, or what a stream of it failed with. `nil` after an end in order or by a lost link.
  public var error: (any Error)? { lock.withLock { if case .closed(let error) = state { error } else { nil } } }

  // MARK: Bytes

  /// What has arrived and was not read yet.
  public var received: Data { lock.withLock { unread } }

  /// Takes what has arrived.
  public func read() -> Data {
    lock.withLock {
      defer { unread = Data() }
      return unread
    }
  }

  /// Sends bytes. Bytes for which the channel has no room wait, without a limit.
  public func write(_ bytes: Data) {
    lock.withLock {
      guard !isClosing, !isClosed else { return }
      unsent.append(contentsOf: bytes)
      send()
    }
  }

  /// How many bytes wait for room.
  public var unsentCount: Int { lock.withLock { unsent.count } }

  /// Calls `body` whenever bytes have arrived, on the home's time, and also now if some are there. A new handler
  /// replaces the one before.
  public func whenReceiving(_ body: @escaping @Sendable (SimulatedChannel) -> Void) {
    let hasBytes = lock.withLock {
      handler = body
      return !unread.isEmpty
    }
    if hasBytes { body(self) }
  }

  /// Reads nothing more, until `resumeReading()`.
  public func pauseReading() { lock.withLock { isPaused = true } }

  /// Reads again, beginning with what has waited.
  public func resumeReading() {
    lock.withLock { isPaused = false }
    receive()
  }

  /// Closes the channel, as soon as what was written has gone into it.
  public func close() {
    lock.withLock {
      isClosing = true
      if unsent.isEmpty { end(nil) }
    }
  }

  // MARK: The channel's life

  /// - Parameter queue: of the machine's app, on which the streams tell what happens.
  func begin(_ channel: CBL2CAPChannel, on queue: DispatchQueue) {
    let isWanted = lock.withLock {
      guard case .opening = state, !isClosing || !unsent.isEmpty else { return false }
      (state, number) = (.open(channel), channel.psm)
      return true
    }
    let streams: [Stream] = [channel.inputStream, channel.outputStream]
    guard isWanted else {
      for stream in streams { stream.close() }
      return
    }
    let listener = Listener(self)
    lock.withLock { self.listener = listener }
    CFReadStreamSetDispatchQueue(channel.inputStream, queue)
    CFWriteStreamSetDispatchQueue(channel.outputStream, queue)
    for stream in streams {
      stream.delegate = listener
      stream.open()
    }
    lock.withLock { send() }
  }

  /// It is over. What has arrived can still be read.
  func end(_ error: (any Error)?) {
    let channel: CBL2CAPChannel? = lock.withLock {
      guard !isClosed else { return nil }
      defer { (state, unsent, listener) = (.closed(error), [], nil) }
      if case .open(let channel) = state { return channel }
      return nil
    }
    channel?.inputStream.close()
    channel?.outputStream.close()
  }

  private var channel: CBL2CAPChannel? {
    lock.withLock { if case .open(let channel) = state { channel } else { nil } }
  }

  fileprivate func receive() {
    let (isNews, tells): (Bool, (@Sendable (SimulatedChannel) -> Void)?) = lock.withLock {
      guard !isPaused, let input = channel?.inputStream else { return (false, nil) }
      var bytes = [UInt8](repeating: 0, count: 16_384)
      var isNews = false
      while input.hasBytesAvailable {
        let count = input.read(&bytes, maxLength: bytes.count)
        guard count > 0 else { break }
        unread.append(contentsOf: bytes.prefix(count))
        isNews = true
      }
      return (isNews, handler)
    }
    if isNews { tells?(self) }
  }

  /// Called under the lock.
  private func send() {
    guard let output = channel?.outputStream else { return }
    while !unsent.isEmpty, output.hasSpaceAvailable {
      let piece = Array(unsent.prefix(65_536))
      let count = output.write(piece, maxLength: piece.count)
      guard count > 0 else { break }
      unsent.removeFirst(count)
    }
    if isClosing, unsent.isEmpty { end(nil) }
  }

  fileprivate func handle(_ event: Stream.Event, of stream: Stream) {
    switch event {
    case .hasBytesAvailable: receive()
    case .hasSpaceAvailable: lock.withLock { send() }
    case .endEncountered, .errorOccurred:
      // The input's end comes after all that arrived. A writer may learn it earlier.
      guard stream is InputStream else { return }
      end(stream.streamError)
    default: break
    }
  }

  private final class Listener: NSObject, StreamDelegate {
    private weak var channel: SimulatedChannel?
    init(_ channel: SimulatedChannel) { self.channel = channel }
    func stream(_ stream: Stream, handle event: Stream.Event) { channel?.handle(event, of: stream) }
  }
}

/// A PSM that a `SimulatedPeripheral` has published, and the channels that centrals opened to it.
public final class SimulatedChannelListener: @unchecked Sendable {
  public let psm: CBL2CAPPSM
  let requiresEncryption: Bool
  private let lock = NSLock()
  private var opened: [SimulatedChannel] = []
  private let whenOpened: @Sendable (SimulatedChannel) -> Void

  init(_ psm: CBL2CAPPSM, requiresEncryption: Bool, _ whenOpened: @escaping @Sendable (SimulatedChannel) -> Void) {
    (self.psm, self.requiresEncryption, self.whenOpened) = (psm, requiresEncryption, whenOpened)
  }

  /// All channels that were opened so far, the latest last.
  public var channels: [SimulatedChannel] { lock.withLock { opened } }

  func take(_ channel: CBL2CAPChannel, on queue: DispatchQueue) {
    let simulated = SimulatedChannel(psm: channel.psm)
    simulated.begin(channel, on: queue)
    lock.withLock { opened.append(simulated) }
    whenOpened(simulated)
  }
}
