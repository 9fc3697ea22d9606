/// An app's end of an L2CAP channel, which carries packets: a socket, or what takes a socket's place where the app and its peer
/// share a process.
package protocol ChannelEnd: AnyObject, Sendable {
  /// - Parameters:
  ///   - onInput: something can be read, or the channel has ended. Called once for each `watchInput`, and never inside of a
  ///     call of this end.
  ///   - onOutput: the same for writing.
  func begin(onInput: @escaping @Sendable () -> Void, onOutput: @escaping @Sendable () -> Void)
  /// Calls `onInput` once when something can be read.
  func watchInput()
  /// Calls `onOutput` once when something can be written.
  func watchOutput()
  /// Receives one packet.
  func receive(into buffer: inout [UInt8]) -> ChannelOutcome
  /// Sends one packet.
  func send(_ bytes: UnsafeBufferPointer<UInt8>) -> ChannelOutcome
  /// Whether a packet can be written now.
  var hasRoom: Bool { get }
  /// Waits until a packet can be written, or the channel has ended. Virtual time waits until the result is released.
  func waitForRoom() -> (any ChannelHold)?
  /// No more is sent or received. Both streams find the end, after what has arrived.
  func end()
  /// One of the streams is closed. The channel ends with the second.
  func close(_ direction: ChannelDirection)

  // How virtual time learns what the app does with the channel. With a socket, time does not wait for anybody.
  /// The app is to be called: time waits until that is released.
  func holdTime() -> (any ChannelHold)?
  /// This thread of the app begins to wait for input, and time may pass meanwhile.
  func waitBegins() -> (any ChannelWait)?
}

package enum ChannelDirection: Sendable, Hashable { case input, output }

/// What came of reading or writing a packet.
package enum ChannelOutcome: Sendable, Hashable {
  case bytes(Int)
  /// Nothing now.
  case later
  /// The channel has ended, in order or by a lost link.
  case end
  case failure(Int32)
}

/// A thread waits in a stream.
package protocol ChannelWait: Sendable {
  /// It is to go on. Time waits until the result is released.
  func end() -> any ChannelHold
}

/// Keeps virtual time from passing, until it is released or nobody refers to it any more.
package protocol ChannelHold: AnyObject, Sendable {
  /// It is for a thread of the app's own, which will come back for more when it has handled what it got.
  var isOfThread: Bool { get }
  func release()
}
