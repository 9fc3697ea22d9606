import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Glibc
import Testing

@testable import CoreBluetooth

/// Queues of all kinds that apps pass. `DispatchQueue.global()` is the most frequent.
@Suite("Queues of apps", .timeLimit(.minutes(20)))
struct AppQueueTests {
  /// Notes in which order it is called, and whether two calls ever run at once.
  private final class Counter: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
    let done = Inbox<Void>()
    private let last: Int
    private let lock = NSLock()
    private var numbers: [Int] = []
    private var running = 0
    private var overlaps = 0
    init(last: Int) { self.last = last }

    var heard: (numbers: [Int], overlaps: Int) { lock.withLock { (numbers, overlaps) } }
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
      if central.state == .poweredOn {
        central.scanForPeripherals(
          withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: 1)])
      }
    }
    func centralManager(
      _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
      rssi signal: NSNumber
    ) {
      lock.withLock {
        running += 1
        if running > 1 { overlaps += 1 }
      }
      let data = advertisementData[CBAdvertisementDataManufacturerDataKey] as? Data ?? Data()
      let number = data.dropFirst(2).reduce(0) { $0 << 8 | Int($1) }
      // Longer for some, so that others would overtake them.
      for _ in 0..<(number % 7 * 50) { sched_yield() }
      lock.withLock {
        running -= 1
        numbers.append(number)
      }
      if number == last { done.put(()) }
    }
  }

  @Test(
    "C8: on a concurrent queue a delegate is called in order and one call at a time, as on a serial one",
    arguments: ["global", "concurrent", "serial"])
  func inOrder(_ kind: String) async throws {
    let system = ScriptedSystem()
    system.attach()
    let count = 300
    let counter = Counter(last: count - 1)
    let queue =
      switch kind {
      case "global": DispatchQueue.global(qos: .utility)
      case "concurrent": DispatchQueue(label: "app", attributes: .concurrent)
      default: DispatchQueue(label: "app")
      }
    let manager = system.run { CBCentralManager(delegate: counter, queue: queue) }
    system.emit(.stateChanged(.poweredOn))
    while true { if case .central(_, .scan) = try await system.requests.next() { break } }
    for number in 0..<count {
      let data = AdvertisementData(
        manufacturerData: [0xFFFF: [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]], isConnectable: true)
      system.emit(.discovered(PeripheralSnapshot(identifier: Example.lock), data, rssi: -60))
    }
    _ = try await counter.done.next()
    #expect(counter.heard.numbers == Array(0..<count))
    #expect(counter.heard.overlaps == 0)
    withExtendedLifetime(manager) {}
  }

  @Test("C8: a manager on a concurrent queue is released with its last reference")
  func isReleased() async throws {
    let system = ScriptedSystem()
    system.attach()
    let counter = Counter(last: 0)
    var manager: CBCentralManager? = system.run { CBCentralManager(delegate: counter, queue: .global()) }
    system.emit(.stateChanged(.poweredOn))
    while true { if case .central(_, .scan) = try await system.requests.next() { break } }
    #expect(manager != nil)
    manager = nil
    while true { if case .destroyManager = try await system.requests.next() { break } }
  }

  private final class Reader: NSObject, StreamDelegate, @unchecked Sendable {
    let ended = Inbox<Void>()
    private let key: DispatchSpecificKey<Int>
    private let lock = NSLock()
    private var bytes: [UInt8] = []
    private var isAlwaysThere = true
    init(_ key: DispatchSpecificKey<Int>) { self.key = key }
    var heard: (bytes: [UInt8], isAlwaysThere: Bool) { lock.withLock { (bytes, isAlwaysThere) } }
    func stream(_ stream: Stream, handle event: Stream.Event) {
      let isThere = DispatchQueue.getSpecific(key: key) == 1
      lock.withLock { isAlwaysThere = isAlwaysThere && isThere }
      guard let stream = stream as? InputStream else { return }
      switch event {
      case .hasBytesAvailable:
        var buffer = [UInt8](repeating: 0, count: 16)
        let count = stream.read(&buffer, maxLength: buffer.count)
        lock.withLock { bytes += buffer.prefix(count) }
      case .endEncountered: ended.put(())
      default: break
      }
    }
  }

  @Test(
    "C7: a channel's streams call their delegates on the queue that the app chooses for them, in order",
    arguments: [false, true])
  func streamQueue(_ isConcurrent: Bool) async throws {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
    let managers = DispatchQueue(label: "manager")
    let channel = CBL2CAPChannel(
      peer: CBPeer(Example.phone), psm: 0x80, socket: ChannelDescriptor(owning: ends[0]) { close($0) }, mtu: 100,
      queue: managers, delivery: SerialDelivery(managers))
    let key = DispatchSpecificKey<Int>()
    let queue = isConcurrent ? DispatchQueue(label: "app", attributes: .concurrent) : DispatchQueue(label: "app")
    queue.setSpecific(key: key, value: 1)
    let reader = Reader(key)
    channel.inputStream.delegate = reader
    channel.outputStream.delegate = reader
    channel.inputStream.schedule(in: .main, forMode: .default)
    CFReadStreamSetDispatchQueue(channel.inputStream, queue)
    CFWriteStreamSetDispatchQueue(channel.outputStream, queue)
    channel.inputStream.open()
    channel.outputStream.open()
    let text = (0..<200).map { UInt8($0) }
    for start in stride(from: 0, to: text.count, by: 20) {
      #expect(send(ends[1], Array(text[start..<start + 20]), 20, Int32(MSG_NOSIGNAL)) == 20)
    }
    close(ends[1])
    _ = try await reader.ended.next()
    #expect(reader.heard.bytes == text)
    #expect(reader.heard.isAlwaysThere)
  }

  @Test("C7: a stream that is not a channel's is left on its run loop, and the log says so")
  func otherStream() {
    let system = ScriptedSystem()
    system.run {
      CFReadStreamSetDispatchQueue(InputStream(data: Data()), .main)
      CFWriteStreamSetDispatchQueue(OutputStream(toMemory: ()), nil)
    }
    #expect(system.log.misuses.count == 2)
    #expect(system.log.misuses.first?.contains("CFReadStreamSetDispatchQueue") == true)
  }
}
