import BluetoothTypes
import Foundation

/// An L2CAP channel between an app and its machine, which takes the place of the socket between two processes and has a
/// socket's limits. The machine puts packets in and takes packets out only while no app does anything. The app may do
/// so at any time, on any thread.
final class ChannelPipe: @unchecked Sendable {
  /// What waits in one direction.
  private struct Packets {
    /// How many bytes may wait, and the least that one packet counts for. The kernel limits a socket in the same way:
    /// it counts its own data for each packet, too.
    private static let limit = 16_384
    private static let leastCost = 384
    private var packets: ArraySlice<[UInt8]> = []
    private var cost = 0

    var isEmpty: Bool { packets.isEmpty }
    var hasRoom: Bool { cost < Self.limit }

    mutating func append(_ packet: [UInt8]) {
      packets.append(packet)
      cost += max(packet.count, Self.leastCost)
    }

    mutating func popFirst() -> [UInt8]? {
      guard let packet = packets.popFirst() else { return nil }
      cost -= max(packet.count, Self.leastCost)
      return packet
    }
  }

  /// A call that tells the app's end something, or `nil` if there is nothing to tell.
  private typealias Notice = (@Sendable () -> Void)?

  private let lock = NSCondition()
  private var toApp = Packets()
  private var fromApp = Packets()
  /// The machine's side has ended. The app can still read what is left, and then finds the end.
  private var hasMachineEnded = false
  private var hasAppEnded = false
  /// The app's connection has ended. The machine still takes what is left.
  private var isShut = false
  private var openStreams: Set<ChannelDirection> = [.input, .output]
  private var isWatchingInput = false
  private var isWatchingOutput = false
  private var onInput: (@Sendable () -> Void)?
  private var onOutput: (@Sendable () -> Void)?
  /// The threads that wait for room, how often all of them were woken, and the holds that keep time from passing until
  /// they go on.
  private var waits: [any ChannelWait] = []
  private var wakes: UInt64 = 0
  private var holds: [any ChannelHold] = []

  /// The run of the app that has the channel, or `nil` before an app got it.
  private weak var process: SimulatedApp?
  private weak var engine: HomeEngine?

  // Used only on the engine's thread.
  /// Packets for which there was no room.
  var unput: ArraySlice<[UInt8]> = []
  /// The machine waits for one packet, or for the end.
  var isReading = false
  /// The channel has ended, and `unput` must still be put in before the app sees the end.
  var isEnding = false

  init(_ engine: HomeEngine) { self.engine = engine }

  // MARK: The machine's side, on the engine's thread

  func belongs(to process: SimulatedApp) { lock.withLock { self.process = process } }
  func isOf(_ process: SimulatedApp) -> Bool { lock.withLock { self.process === process } }

  /// Returns `false` if there is no room. If the app's end has gone, the packet counts as taken.
  func put(_ packet: [UInt8]) -> Bool {
    let (isTaken, notice): (Bool, Notice) = lock.withLock {
      guard !hasAppEnded else { return (true, nil) }
      guard toApp.hasRoom else { return (false, nil) }
      toApp.append(packet)
      return (true, dueInput())
    }
    tell(notice)
    return isTaken
  }

  /// The oldest packet from the app, or the end; `nil` if there is nothing yet.
  func take() -> ChannelInputOfApp? {
    let (input, notice): (ChannelInputOfApp?, Notice) = lock.withLock {
      guard let packet = fromApp.popFirst() else { return (hasAppEnded || isShut ? .end : nil, nil) }
      wakeWriters()
      return (.packet(packet), dueOutput())
    }
    tell(notice)
    return input
  }

  enum ChannelInputOfApp {
    case packet([UInt8])
    case end
  }

  /// The channel has ended, in order or with its link.
  func end() {
    let notices: [Notice] = lock.withLock {
      hasMachineEnded = true
      wakeWriters()
      return [dueInput(), dueOutput()]
    }
    notices.forEach(tell)
  }

  /// The app's process has ended. What it has sent still reaches the machine. In this simulation its threads outlive
  /// it, and find the end.
  func processEnded() {
    let handlers = lock.withLock {
      endApp()
      hasMachineEnded = true
      wakeWriters()
      return [onInput, onOutput]
    }
    for handler in handlers { if let handler { DispatchQueue.global().async(execute: handler) } }
  }

  /// The call for the input that the app waits for, or `nil` if there is none yet. Called under the lock.
  private func dueInput() -> Notice {
    guard isWatchingInput, !hasAppEnded, !toApp.isEmpty || hasMachineEnded else { return nil }
    isWatchingInput = false
    return onInput
  }

  private func dueOutput() -> Notice {
    guard isWatchingOutput, !hasAppEnded, canWrite else { return nil }
    isWatchingOutput = false
    return onOutput
  }

  private var canWrite: Bool { fromApp.hasRoom || hasMachineEnded || hasAppEnded }

  private func tell(_ notice: Notice) {
    guard let notice else { return }
    engine?.onThread { [self] _ in lock.withLock { process }?.tellOfChannel(notice) }
  }

  // MARK: The app's side

  func begin(onInput: @escaping @Sendable () -> Void, onOutput: @escaping @Sendable () -> Void) {
    lock.withLock { (self.onInput, self.onOutput) = (onInput, onOutput) }
  }

  func watch(_ direction: ChannelDirection) {
    let notice: Notice = lock.withLock {
      switch direction {
      case .input:
        isWatchingInput = true
        return dueInput()
      case .output:
        isWatchingOutput = true
        return dueOutput()
      }
    }
    tell(notice)
  }

  func receive(into buffer: inout [UInt8]) -> ChannelOutcome {
    lock.withLock {
      guard let packet = toApp.popFirst() else { return hasMachineEnded || hasAppEnded ? .end : .later }
      // As with a socket, bytes for which the buffer is too short are lost.
      let count = min(packet.count, buffer.count)
      buffer.replaceSubrange(0..<count, with: packet.prefix(count))
      return .bytes(count)
    }
  }

  func send(_ bytes: UnsafeBufferPointer<UInt8>) -> ChannelOutcome {
    lock.withLock {
      guard !hasMachineEnded, !hasAppEnded else { return .end }
      guard fromApp.hasRoom else { return .later }
      fromApp.append(Array(bytes))
      return .bytes(bytes.count)
    }
  }

  var hasRoom: Bool { lock.withLock { canWrite } }

  /// Waits until a packet can be written, or the channel has ended. Time passes meanwhile.
  func waitForRoom() -> (any ChannelHold)? {
    lock.withLock {
      guard !canWrite else { return nil }
      checkThread()
      let current = wakes
      if let wait = process?.watch.waitBegins() { waits.append(wait) }
      while wakes == current { lock.wait() }
      return holds.popLast()
    }
  }

  /// Ends the test if an alarm waits in a stream. Alarms ring on the home's own thread, which would wait for itself for
  /// ever.
  private func checkThread() {
    precondition(
      engine?.isOnThread != true,
      "an alarm waits in a channel's stream: write as much as there is space for, or do it on a queue of the app's own")
  }

  /// A thread of the app begins to wait for input.
  func waitBegins() -> (any ChannelWait)? {
    checkThread()
    return watch?.waitBegins()
  }

  /// Called under the lock.
  private func wakeWriters() {
    holds += waits.map { $0.end() }
    waits = []
    wakes &+= 1
    lock.broadcast()
  }

  func close(_ direction: ChannelDirection) {
    lock.withLock {
      openStreams.remove(direction)
      if openStreams.isEmpty { endApp() }
    }
  }

  /// No more is sent or received.
  func shut() {
    lock.withLock { isShut = true }
    end()
    engine?.enqueue { _ in }
  }

  /// Nobody refers to the app's end any more.
  func closeAll() { lock.withLock { endApp() } }

  /// Called under the lock.
  private func endApp() {
    guard !hasAppEnded else { return }
    hasAppEnded = true
    toApp = Packets()
    wakeWriters()
    // Whichever thread calls this, the home must look at its channels again.
    engine?.enqueue { _ in }
  }

  var watch: AppWatch? { lock.withLock { process }?.watch }
}

/// The app's end of a pipe. The channel ends with the last reference to it.
final class PipeEnd: ChannelEnd, Sendable {
  private let pipe: ChannelPipe
  init(_ pipe: ChannelPipe) { self.pipe = pipe }
  deinit { pipe.closeAll() }

  func isOf(_ pipe: ChannelPipe) -> Bool { self.pipe === pipe }
  func belongs(to process: SimulatedApp) { pipe.belongs(to: process) }

  func begin(onInput: @escaping @Sendable () -> Void, onOutput: @escaping @Sendable () -> Void) {
    pipe.begin(onInput: onInput, onOutput: onOutput)
  }
  func watchInput() { pipe.watch(.input) }
  func watchOutput() { pipe.watch(.output) }
  func receive(into buffer: inout [UInt8]) -> ChannelOutcome { pipe.receive(into: &buffer) }
  func send(_ bytes: UnsafeBufferPointer<UInt8>) -> ChannelOutcome { pipe.send(bytes) }
  var hasRoom: Bool { pipe.hasRoom }
  func waitForRoom() -> (any ChannelHold)? { pipe.waitForRoom() }
  func end() { pipe.shut() }
  func close(_ direction: ChannelDirection) { pipe.close(direction) }
  func holdTime() -> (any ChannelHold)? { pipe.watch?.callIsDue() }
  func waitBegins() -> (any ChannelWait)? { pipe.waitBegins() }
}
