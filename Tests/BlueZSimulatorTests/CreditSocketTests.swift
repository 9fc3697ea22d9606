import BlueZ
import Glibc
import Synchronization
import Testing

@testable import BlueZSimulator

@Suite("Sockets of L2CAP channels", .timeLimit(.minutes(20)))
struct CreditSocketTests {
  @Test("C7: what an app has sent arrives, even if the app closes before it has read everything")
  func unreadAtTheEnd() async throws {
    let (inputs, continuation) = AsyncStream.makeStream(of: ChannelInput.self)
    let (socket, other) = try #require(CreditSocket.pair { continuation.yield($0) })
    socket.send([9])
    let packet: [UInt8] = [1, 2]
    let sent = send(other, packet, packet.count, 0)
    #expect(sent == 2)
    close(other)
    var all: [ChannelInput] = []
    socket.readOne()
    for await input in inputs {
      guard input != .taken else { continue }
      all.append(input)
      if input == .closed { break }
      socket.readOne()
    }
    #expect(all == [.data([1, 2]), .closed])
    socket.close()
  }
}
