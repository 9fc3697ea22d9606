import BlueZ
import BusValue
import Foundation
import Synchronization
import Testing

@testable import LatchkeyDaemon

@Suite("What bluetoothd may say ahead of the loop", .timeLimit(.minutes(20)))
struct TurnstileTests {
  /// How many are inside, as counted from outside. It is never more than the true number.
  private final class Count: Sendable {
    private let state = Mutex((now: 0, most: 0))
    var most: Int { state.withLock { $0.most } }
    func add(_ number: Int) {
      state.withLock { state in
        state.now += number
        state.most = max(state.most, state.now)
      }
    }
  }

  /// Enters this many times, on a separate thread, and reports each entry.
  private func enter(_ turnstile: Turnstile, times: Int, bytes: Int = 0, _ count: Count) -> AsyncStream<Int> {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    Thread {
      for number in 1...times {
        turnstile.enter(bytes: bytes)
        count.add(1)
        continuation.yield(number)
      }
      continuation.finish()
    }.start()
    return stream
  }

  @Test(
    "a client that sends more than there is room for, by number or by bytes, waits in order, and nothing is lost",
    arguments: [(0, 100), (1, 100), (10, 50), (199, 3), (1000, 1)])
  func waits(bytes: Int, room: Int) async {
    let turnstile = Turnstile(limit: 100, byteLimit: 500)
    let count = Count()
    var numbers: [Int] = []
    for await number in enter(turnstile, times: 5000, bytes: bytes, count) {
      numbers.append(number)
      // None leaves before it is full.
      guard number >= room else { continue }
      count.add(-1)
      turnstile.leave(bytes: bytes)
    }
    #expect(numbers == Array(1...5000))
    #expect(count.most == room)
  }

  @Test("nothing waits after the end of the loop", arguments: [0, 1000])
  func opened(bytes: Int) async {
    let turnstile = Turnstile(limit: 3, byteLimit: 2500)
    var count = 0
    for await number in enter(turnstile, times: 50, bytes: bytes, Count()) {
      count += 1
      if number == 3 { turnstile.open() }
    }
    #expect(count == 50)
  }

  @Test("the size of a message from bluetoothd is the size of its content")
  func sizes() {
    let path = ObjectPath(unchecked: "/org/bluez")
    let text = String(repeating: "x", count: 1000)
    let properties: Properties = ["Value": .bytes(Array(repeating: 1, count: 1000))]
    let messages: [DaemonMessage] = [
      .appeared([path: ["org.bluez.Device1": properties]]),
      .reply(CallIdentifier(1), .success(.bytes(Array(repeating: 1, count: 1000)))),
      .reply(CallIdentifier(1), .success(.properties(properties))),
      .reply(CallIdentifier(1), .success(.value(.structure([.variant(.string(text))])))),
      .reply(CallIdentifier(1), .failure(BlueZError(name: "x", message: text))),
      .signal(.interfacesAdded(path: path, ["org.bluez.Device1": properties])),
      .signal(.interfacesRemoved(path: path, [text])),
      .signal(.propertiesChanged(path: path, interface: "x", changed: properties, invalidated: [])),
      .signal(.disconnected(path: path, reason: "x", message: text)),
      .callback(
        CallbackIdentifier(1), path: path,
        .writeValue(Array(repeating: 1, count: 1000), RemoteRequest(device: path, mtu: 517))),
    ]
    for message in messages { #expect((1000..<1400).contains(message.byteCount), "\(message)") }
    #expect(DaemonMessage.vanished.byteCount == 0)
  }
}
