import BluetoothTypes
import Foundation
import Glibc

/// What both streams of an L2CAP channel have in common: status, schedule, delegate calls.
final class ChannelStreamState: @unchecked Sendable {
  private let lock = NSRecursiveLock()
  private weak var owner: Stream?
  private var currentStatus = Stream.Status.notOpen
  private var currentError: (any Error)?
  private var schedule: StreamSchedule
  /// Events that the delegate has not been told, because the stream is on no run loop.
  private var untold: [Stream.Event] = []
  private weak var end: (any ChannelEnd)?
  private let session: AppSession?

  /// - Parameters:
  ///   - end: this app's end of the channel; `nil` for a stream without a channel.
  ///   - session: the session of the app that owns the delegate.
  ///   - delivery: how the channel's manager calls its delegate.
  init(_ end: (any ChannelEnd)?, _ session: AppSession?, _ delivery: SerialDelivery? = nil) {
    schedule = StreamSchedule(delivery)
    self.end = end
    self.session = session
  }

  func belongs(to stream: Stream) { owner = stream }

  var status: Stream.Status { lock.withLock { currentStatus } }
  var error: (any Error)? { lock.withLock { currentError } }

  /// Opens the stream. Returns `false` if it has been opened before.
  func open() -> Bool {
    let isNew = lock.withLock {
      guard currentStatus == .notOpen else { return false }
      currentStatus = .open
      return true
    }
    if isNew { post(.openCompleted) }
    return isNew
  }

  /// The channel has ended or failed. The delegate is told once.
  /// - Parameter failure: the error number of a failure; `nil` for an end.
  func end(_ failure: Int32? = nil) {
    let isNews = lock.withLock {
      guard currentStatus == .open else { return false }
      currentStatus = failure == nil ? .atEnd : .error
      currentError = failure.map { code in
        NSError(
          domain: NSPOSIXErrorDomain, code: Int(code),
          userInfo: [NSLocalizedDescriptionKey: String(cString: strerror(code))])
      }
      return true
    }
    if isNews { post(failure == nil ? .endEncountered : .errorOccurred) }
  }

  func close() {
    lock.withLock {
      currentStatus = .closed
      untold = []
      schedule.removeAll()
    }
  }

  func add(_ runLoop: RunLoop, _ mode: RunLoop.Mode) {
    let events = lock.withLock {
      schedule.add(runLoop, mode)
      defer { untold = [] }
      return untold
    }
    for event in events { post(event) }
  }

  func remove(_ runLoop: RunLoop, _ mode: RunLoop.Mode) { lock.withLock { schedule.remove(runLoop, mode) } }

  func choose(_ queue: DispatchQueue?) {
    let events = lock.withLock {
      schedule.choose(queue)
      guard queue != nil else { return [Stream.Event]() }
      defer { untold = [] }
      return untold
    }
    for event in events { post(event) }
  }

  /// Tells the delegate, on the run loop, unless the stream has been closed in the meantime.
  func post(_ event: Stream.Event) {
    lock.withLock {
      guard currentStatus != .closed else { return }
      guard !schedule.isEmpty else {
        if !untold.contains(event) { untold.append(event) }
        return
      }
      let tell: @Sendable () -> Void = { [weak self] in
        guard let self, status != .closed, let owner else { return }
        guard let session else { return Self.tell(owner, event) }
        session.asApp { Self.tell(owner, event) }
      }
      schedule.perform(tell, end?.holdTime())
    }
  }

  private static func tell(_ owner: Stream, _ event: Stream.Event) { owner.delegate?.stream(owner, handle: event) }
}

/// The input stream of an L2CAP channel. Foundation on Linux can't make a stream of a descriptor.
final class ChannelInputStream: InputStream {
  /// How much is read ahead of the app, in bytes. The rest stays in the socket, and then the peer gets no more credits.
  private static let bufferLimit = 65_536
  private let state: ChannelStreamState
  /// Signalled when something has arrived, or the channel has ended.
  private let lock = NSCondition()
  private var socket: (any ChannelEnd)?
  private var buffer = Data()
  private var isAtEnd = false
  private var failure: Int32?
  /// The delegate was told of bytes and has not read since.
  private var isTold = false
  private weak var output: ChannelOutputStream?
  /// The threads that wait in `read`.
  private var waits: [any ChannelWait] = []
  /// How many times all threads in `read` were woken.
  private var wakes: UInt64 = 0
  /// Each keeps virtual time from passing until a woken thread has read.
  private var holds: [any ChannelHold] = []
  /// Keeps virtual time from passing until the app's own thread, which has read, comes back for more.
  private var kept: (any ChannelHold)?

  init(_ socket: any ChannelEnd, _ session: AppSession?, _ delivery: SerialDelivery) {
    self.socket = socket
    state = ChannelStreamState(socket, session, delivery)
    super.init(data: Data())
    state.belongs(to: self)
  }

  override func open() {
    guard state.open() else { return }
    lock.withLock { socket }?.watchInput()
  }

  override func close() {
    let (socket, hold) = lock.withLock {
      defer { (self.socket, kept) = (nil, nil) }
      buffer = Data()
      return (self.socket, kept)
    }
    hold?.release()
    state.close()
    lock.withLock { wake() }
    socket?.close(.input)
  }

  override var streamStatus: Stream.Status { state.status }
  override var streamError: (any Error)? { state.error }
  override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
  override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) { state.add(runLoop, mode) }
  override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) { state.remove(runLoop, mode) }
  func choose(_ queue: DispatchQueue?) { state.choose(queue) }
  override func getBuffer(
    _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
  ) -> Bool { false }

  override var hasBytesAvailable: Bool {
    let (isThere, isNews) = lock.withLock {
      fill()
      defer { isTold = isTold || !buffer.isEmpty }
      return (!buffer.isEmpty, !buffer.isEmpty && !isTold)
    }
    // The bytes are in the buffer now, so the socket will report nothing: the delegate is told here.
    if isNews { state.post(.hasBytesAvailable) }
    return isThere
  }

  /// Reads what has arrived; waits if nothing has. Returns 0 at the end, and -1 after an error or before `open()`.
  override func read(_ target: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
    guard maxLength > 0 else { return 0 }
    var hold: (any ChannelHold)?
    defer { hold?.release() }
    let count = lock.withLock {
      hold = kept
      kept = nil
      while state.status != .notOpen, state.status != .closed {
        fill()
        isTold = false
        guard buffer.isEmpty else {
          let count = min(maxLength, buffer.count)
          buffer.copyBytes(to: target, count: count)
          buffer = Data(buffer.dropFirst(count))
          return count
        }
        if isAtEnd { return failure == nil ? 0 : -1 }
        // The thread does not wait at the socket itself, because the socket's queue may take what arrives first.
        socket?.watchInput()
        hold = wait(hold)
      }
      return -1
    }
    if count >= 0 { inputArrived() }
    if count > 0, hold?.isOfThread == true {
      lock.withLock { kept = hold }
      hold = nil
    }
    return count
  }

  /// Waits until something has arrived, or the stream is closed. Called under the lock.
  /// - Parameter hold: what keeps virtual time from passing. It is released when the wait begins.
  /// - Returns: a new hold for the woken thread, if there is one.
  private func wait(_ hold: (any ChannelHold)?) -> (any ChannelHold)? {
    let current = wakes
    if let wait = socket?.waitBegins() { waits.append(wait) }
    hold?.release()
    while wakes == current { lock.wait() }
    return holds.popLast()
  }

  /// Wakes the threads that wait in `read`. Called under the lock.
  private func wake() {
    holds += waits.map { $0.end() }
    waits = []
    wakes &+= 1
    lock.broadcast()
  }

  /// Takes packets from the socket, as long as there is room. Called under the lock.
  private func fill() {
    guard let socket, state.status == .open else { return }
    var packet = [UInt8](repeating: 0, count: Self.bufferLimit)
    while !isAtEnd, buffer.count < Self.bufferLimit {
      switch socket.receive(into: &packet) {
      case .bytes(let count): buffer.append(contentsOf: packet.prefix(count))
      case .later: return
      case .end: isAtEnd = true
      case .failure(let error):
        isAtEnd = true
        failure = error
      }
    }
  }

  /// The socket can be read, or some of what was read has been taken. Tells the delegate what there is.
  func inputArrived() {
    let (tells, ends, error): (Bool, Bool, Int32?) = lock.withLock {
      fill()
      wake()
      if !buffer.isEmpty {
        defer { isTold = true }
        return (!isTold, false, nil)
      }
      if !isAtEnd { socket?.watchInput() }
      return (false, isAtEnd, failure)
    }
    if tells { state.post(.hasBytesAvailable) }
    guard ends else { return }
    state.end(error)
    lock.withLock { output }?.channelEnded()
  }

  /// The channel's other stream ends with this one.
  func ends(with other: ChannelOutputStream) { lock.withLock { output = other } }
}

/// The output stream of an L2CAP channel.
final class ChannelOutputStream: OutputStream {
  private let state: ChannelStreamState
  private let lock = NSLock()
  private var socket: (any ChannelEnd)?
  /// The longest packet that may be sent, in bytes.
  private let mtu: Int
  /// Keeps virtual time from passing until the app's own thread comes back to write the rest.
  private var kept: (any ChannelHold)?

  init(_ socket: any ChannelEnd, _ session: AppSession?, _ delivery: SerialDelivery, mtu: Int) {
    self.socket = socket
    self.mtu = mtu
    state = ChannelStreamState(socket, session, delivery)
    super.init(toMemory: ())
    state.belongs(to: self)
  }

  /// A stream without a channel, which Foundation requires. It can't be written to.
  required init(toMemory: ()) {
    mtu = 1
    state = ChannelStreamState(nil, nil)
    super.init(toMemory: ())
    state.belongs(to: self)
    state.close()
  }

  override func open() {
    guard state.open() else { return }
    lock.withLock { socket }?.watchOutput()
  }

  override func close() {
    let socket = lock.withLock {
      defer { self.socket = nil }
      return self.socket
    }
    state.close()
    takeKept()?.release()
    socket?.close(.output)
  }

  override var streamStatus: Stream.Status { state.status }
  override var streamError: (any Error)? { state.error }
  override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
  override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) { state.add(runLoop, mode) }
  override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) { state.remove(runLoop, mode) }
  func choose(_ queue: DispatchQueue?) { state.choose(queue) }

  override var hasSpaceAvailable: Bool {
    state.status == .open && lock.withLock({ socket })?.hasRoom == true
  }

  /// Writes as much as there is room for; waits if there is none. Returns -1 after the end of the channel, and before
  /// `open()`.
  override func write(_ source: UnsafePointer<UInt8>, maxLength: Int) -> Int {
    guard maxLength > 0 else { return state.status == .open ? 0 : -1 }
    var written = 0
    var hold = takeKept()
    defer { if let hold { keep(hold, if: (1..<maxLength).contains(written)) } }
    while state.status == .open, let socket = lock.withLock({ socket }) {
      let length = min(mtu, maxLength - written)
      switch socket.send(UnsafeBufferPointer(start: source + written, count: length)) {
      case .bytes:
        written += length
        guard written == maxLength else { continue }
      case .later:
        guard written > 0 else {
          hold?.release()
          hold = socket.waitForRoom()
          continue
        }
      case .end:
        state.end()
        return written > 0 ? written : -1
      case .failure(let error):
        state.end(error)
        return written > 0 ? written : -1
      }
      socket.watchOutput()
      return written
    }
    return -1
  }

  private func takeKept() -> (any ChannelHold)? {
    lock.withLock {
      defer { kept = nil }
      return kept
    }
  }

  /// Keeps the hold if the app's own thread will come back to write the rest; otherwise releases it.
  private func keep(_ hold: any ChannelHold, if hasMore: Bool) {
    guard hasMore, hold.isOfThread else { return hold.release() }
    lock.withLock { kept = hold }
  }

  func roomAppeared() {
    if lock.withLock({ socket })?.hasRoom == true { state.post(.hasSpaceAvailable) }
  }

  /// The input stream has found the end of the channel.
  func channelEnded() { state.end() }
}
