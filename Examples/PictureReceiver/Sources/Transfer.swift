import CoreBluetooth
import Foundation

/// One picture on its way in: its length in four bytes, its bytes, and one byte back when all of it is there.
final class Transfer: NSObject, StreamDelegate {
  private let channel: CBL2CAPChannel
  private let whenOver: (Transfer) -> Void
  private var received = Data()
  private var hasAnswered = false
  private static let longest = 16 << 20

  init(_ channel: CBL2CAPChannel, whenOver: @escaping (Transfer) -> Void) {
    self.channel = channel
    self.whenOver = whenOver
    super.init()
    for stream in [channel.inputStream, channel.outputStream] as [Stream] {
      stream.delegate = self
      stream.schedule(in: .main, forMode: .default)
      stream.open()
    }
  }

  func stream(_ stream: Stream, handle event: Stream.Event) {
    switch event {
    case .hasBytesAvailable: read()
    // The peer has closed the channel, or is gone.
    case .endEncountered, .errorOccurred: end()
    default: break
    }
  }

  private func read() {
    var bytes = [UInt8](repeating: 0, count: 4096)
    while channel.inputStream.hasBytesAvailable {
      let count = channel.inputStream.read(&bytes, maxLength: bytes.count)
      guard count > 0 else { return }
      received.append(contentsOf: bytes.prefix(count))
    }
    guard let length, length <= Self.longest else { return received.count >= 4 ? end() : () }
    guard received.count >= 4 + length, !hasAnswered else { return }
    hasAnswered = true
    let picture = received.dropFirst(4)
    print("latchkey: received bytes=\(picture.count) sum=\(picture.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF_FFFF })")
    _ = channel.outputStream.write([1], maxLength: 1)
  }

  private var length: Int? { received.count < 4 ? nil : received.prefix(4).reduce(0) { $0 << 8 | Int($1) } }

  private func end() {
    guard channel.inputStream.streamStatus != .closed else { return }
    channel.inputStream.close()
    channel.outputStream.close()
    if !hasAnswered { print("latchkey: incomplete bytes=\(received.count)") }
    whenOver(self)
  }
}
