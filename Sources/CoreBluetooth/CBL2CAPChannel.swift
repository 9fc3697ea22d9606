import BluetoothTypes
import Dispatch
import Foundation

/// The number that names an L2CAP channel's service at a peripheral.
public typealias CBL2CAPPSM = UInt16

/// A connection-oriented L2CAP channel: two streams of bytes to and from a connected peer.
///
/// Open both streams, schedule them on a run loop, and keep the channel for as long as you use it. The channel ends when both
/// streams are closed, when the last reference to the channel goes, when the peer closes it, and with the app's connection. A stream's
/// delegate is told the end by `endEncountered`, after all that came before it. While the app is suspended, what arrives waits,
/// as much as the peer has credits for; it does not wake the app.
///
/// Three things differ from iOS. A stream that is scheduled on the main run loop calls its delegate on the main queue,
/// so it also works in a program that calls `dispatchMain()`. A stream that is scheduled on `RunLoop.current` by code
/// on a manager's own queue calls its delegate on that queue; iOS would never call it. And the streams have no
/// properties (`property(forKey:)`) and no buffer (`getBuffer`).
open class CBL2CAPChannel: CoreBluetoothObject, @unchecked Sendable {
  private let remote: CBPeer
  private let number: CBL2CAPPSM
  private let input: InputStream
  private let output: OutputStream
  private weak var end: (any ChannelEnd)?

  init(peer: CBPeer, psm: CBL2CAPPSM, inputStream: InputStream, outputStream: OutputStream) {
    remote = peer
    number = psm
    input = inputStream
    output = outputStream
  }

  /// - Parameters:
  ///   - mtu: the longest packet that may be sent, in bytes.
  ///   - queue: the manager's.
  ///   - delivery: how the manager calls its delegate on the queue.
  ///   - session: the session of the app that owns the streams' delegates.
  convenience init(
    peer: CBPeer, psm: CBL2CAPPSM, socket: ChannelDescriptor, mtu: UInt16, queue: DispatchQueue,
    delivery: SerialDelivery, session: AppSession? = nil
  ) {
    StreamSchedule.mark(queue, delivery)
    let streams = WeakStreams()
    let end = socket.end ?? ChannelSocket(socket)
    end.begin(onInput: { streams.inputArrived() }, onOutput: { streams.roomAppeared() })
    let input = ChannelInputStream(end, session, delivery)
    let output = ChannelOutputStream(end, session, delivery, mtu: max(1, Int(mtu)))
    input.ends(with: output)
    streams.refer(to: input, output)
    self.init(peer: peer, psm: psm, inputStream: input, outputStream: output)
    self.end = end
  }

  /// The app's connection has ended, and the channel with it, even if the link stays up for other apps. What has
  /// arrived can still be read.
  func connectionEnded() { end?.end() }

  /// The device at the other end.
  open var peer: CBPeer! { remote }
  open var inputStream: InputStream! { input }
  open var outputStream: OutputStream! { output }
  open var psm: CBL2CAPPSM { number }

  override func property(_ name: String) -> Property? {
    switch name {
    case "peer": Property(peer)
    case "inputStream": Property(inputStream)
    case "outputStream": Property(outputStream)
    case "PSM", "psm": Property(Int(psm))
    default: super.property(name)
    }
  }
}

/// The streams of a socket, which the socket does not keep alive.
private final class WeakStreams: @unchecked Sendable {
  private let lock = NSLock()
  private weak var input: ChannelInputStream?
  private weak var output: ChannelOutputStream?

  func refer(to input: ChannelInputStream, _ output: ChannelOutputStream) {
    lock.withLock { (self.input, self.output) = (input, output) }
  }

  func inputArrived() {
    lock.withLock { input }?.inputArrived()
  }

  func roomAppeared() { lock.withLock { output }?.roomAppeared() }
}
