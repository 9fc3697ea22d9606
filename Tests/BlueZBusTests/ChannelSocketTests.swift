import BlueZ
import BluetoothTypes
import BusValue
import Glibc
import Synchronization
import Testing

@testable import BlueZBus

/// L2CAP sockets of a real controller, against a table of system calls instead of a kernel with Bluetooth.
@Suite("L2CAP sockets") struct ChannelSocketTests {
  private static let adapter = DeviceAddress("C0:FF:EE:00:00:09", kind: .public)!
  private static let device = DeviceAddress("D1:02:03:04:05:06", kind: .random)!
  private static let path = WellKnown.firstAdapter.appending("dev_D1_02_03_04_05_06")

  /// Notes every call, and answers with what the test says.
  private final class Kernel: Sendable {
    let log = Mutex<[String]>([])
    let results: [String: Int32]
    init(_ results: [String: Int32] = [:]) { self.results = results }

    func note(_ name: String, _ text: String = "", else result: Int32 = 0) -> Int32 {
      log.withLock { $0.append(text.isEmpty ? name : "\(name) \(text)") }
      return results[name] ?? result
    }

    var lines: [String] { log.withLock { $0 } }

    var calls: SocketCalls {
      SocketCalls(
        socket: { self.note("socket", else: 7) },
        bind: { self.note("bind", "\($0) \($1)") },
        listen: { self.note("listen", "\($0)") },
        connect: { self.note("connect", "\($0) \($1)", else: -EINPROGRESS) },
        accept: { (self.note("accept", "\($0)", else: 8), ChannelAddress(address: device, psm: 0).bytes) },
        localAddress: { _ in ChannelAddress(address: adapter, psm: 0x83).bytes },
        setOption: { self.note("option \($1) \($2)", "\($0) \($3)") },
        option: { self.note("get \($1) \($2)", "\($0)", else: $2 == SO_ERROR ? 0 : 185) },
        wait: { descriptor, _, _, _ in self.note("wait", "\(descriptor)", else: 1) },
        close: { _ = self.note("close", "\($0)") })
    }
  }

  @Test("C7: an address is the kernel's sockaddr_l2, and back")
  func address() {
    let address = ChannelAddress(address: Self.device, psm: 0x1234)
    #expect(address.bytes == [31, 0, 0x34, 0x12, 6, 5, 4, 3, 2, 0xD1, 0, 0, 2, 0])
    #expect(ChannelAddress(address.bytes) == address)
    #expect(ChannelAddress([31, 0, 0, 0, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0]) == nil, "an address of BR/EDR")
    #expect(ChannelAddress([1, 2]) == nil)
  }

  @Test("C7: a channel is opened with bind, security, mode and limit, then connect, and its limit is the peer's")
  func open() {
    let kernel = Kernel()
    let result = ChannelSockets.open(
      kernel.calls, from: Self.adapter, to: ChannelAddress(address: Self.device, psm: 0x80), device: Self.path)
    guard case .success(.creditChannel(let channel, mtu: 185, device: Self.path)) = result, channel.number == 7 else {
      Issue.record("\(result)")
      return
    }
    #expect(
      kernel.lines == [
        "socket", "bind 7 [31, 0, 0, 0, 9, 0, 0, 238, 255, 192, 0, 0, 1, 0]", "option 274 4 7 [1, 0]",
        "option 274 15 7 [3]", "option 274 13 7 [0, 8]",
        "connect 7 [31, 0, 128, 0, 6, 5, 4, 3, 2, 209, 0, 0, 2, 0]", "wait 7", "get 1 4 7", "get 274 12 7",
      ])
  }

  @Test("C7: a kernel that can't be told the mode is fine; whatever else fails says what, and closes the socket")
  func failures() {
    func open(_ results: [String: Int32]) -> (Result<Reply, BlueZError>, [String]) {
      let kernel = Kernel(results)
      let result = ChannelSockets.open(
        kernel.calls, from: Self.adapter, to: ChannelAddress(address: Self.device, psm: 0x80), device: Self.path)
      return (result, kernel.lines)
    }
    if case .failure(let error) = open(["option 274 15": -ENOPROTOOPT]).0 { Issue.record("\(error)") }
    let absent = open(["socket": -EAFNOSUPPORT])
    #expect(absent.1 == ["socket"])
    if case .failure(let error) = absent.0 { #expect(error.message.hasPrefix("no Bluetooth sockets here")) }
    for (call, error, wanted) in [
      ("connect", -ECONNREFUSED, BlueZError.rejected), ("connect", -EHOSTDOWN, .notConnected),
      ("get 1 4", ECONNREFUSED, .rejected), ("connect", -EACCES, .notPermitted("Not paired")),
    ] {
      let (result, lines) = open([call: error])
      #expect(result == .failure(wanted))
      #expect(lines.last == "close 7")
    }
    let late = open(["wait": 0])
    if case .failure(let error) = late.0 { #expect(error.message.contains("timed out")) }
    #expect(late.1.last == "close 7")
  }

  @Test("C7: a listener learns its PSM, and gives each channel with the path of its device until it is stopped")
  func listen() async {
    let kernel = Kernel()
    let sockets = ChannelSockets(calls: kernel.calls)
    func ask(_ request: Request) async -> Result<Reply, BlueZError> {
      await withCheckedContinuation { continuation in
        sockets.handle(request, WellKnown.firstAdapter, address: nil, adapterAddress: Self.adapter) {
          continuation.resume(returning: $0)
        }
      }
    }
    #expect(await ask(.listenForChannels(psm: 0, requiresEncryption: true)) == .success(.psm(0x83)))
    #expect(kernel.lines.contains("option 274 4 7 [2, 0]"))
    guard case .success(.creditChannel(let channel, mtu: 185, device: Self.path)) = await ask(.acceptChannel(psm: 0x83))
    else {
      Issue.record("\(kernel.lines)")
      return
    }
    #expect(channel.number == 8)
    #expect(await ask(.acceptChannel(psm: 0x84)) == .failure(.doesNotExist))
    #expect(await ask(.stopListening(psm: 0x83)) == .success(.none))
    #expect(await ask(.stopListening(psm: 0x83)) == .failure(.doesNotExist))
  }
}
