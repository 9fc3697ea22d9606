import AppLink
import BlueZ
import BluetoothTypes
import Synchronization
import Testing

@testable import BluetoothSystem

/// L2CAP channels of apps.
@Suite("L2CAP channels") struct ChannelTests {
  static let manager = ManagerIdentifier(1)

  /// Counts descriptors that were released.
  private final class Releases: Sendable {
    private let numbers = Mutex<[Int32]>([])
    var all: [Int32] { numbers.withLock { $0 } }
    func channel(_ number: Int32) -> ChannelDescriptor {
      ChannelDescriptor(owning: number) { number in self.numbers.withLock { $0.append(number) } }
    }
  }

  private func receiver(_ modes: [String] = ["bluetooth-peripheral"]) -> Desk {
    var desk = Desk(modes: modes)
    desk.appear(connected: true)
    desk.open()
    desk.say(.createManager(Self.manager, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Self.manager, .publishChannel(psm: 0, requiresEncryption: true)))
    return desk
  }

  /// The answer to the accept that waits.
  private func arrive(_ desk: inout Desk, _ channel: ChannelDescriptor) throws {
    let accept = try #require(desk.lastCall(.acceptChannel(psm: 0x80)))
    desk.handle(
      .daemon(.reply(accept, .success(.creditChannel(channel, mtu: 512, device: Desk.devicePath)))))
  }

  private func sleep(_ desk: inout Desk) {
    desk.fallAsleep()
    #expect(desk.state == .suspended)
  }

  @Test(
    "C7: a published channel gets its PSM, and each channel that a central opens is told once, and the next awaited")
  func published() throws {
    let releases = Releases()
    var desk = receiver()
    #expect(desk.asked { $0 == .listenForChannels(psm: 0, requiresEncryption: true) } == 1)
    #expect(desk.events.contains { $0.body == .channelPublished(psm: 0x80, error: nil) })
    try arrive(&desk, releases.channel(5))
    #expect(desk.bodies.filter { $0 == "channelOpened" }.count == 1)
    #expect(desk.asked { $0 == .acceptChannel(psm: 0x80) } == 2)
    desk.forget()
    #expect(releases.all == [5], "nobody but the app's message refers to it")
  }

  @Test("F1, C7: no channel can be opened to a suspended app without the background mode; its PSM stays its own")
  func suspendedWithoutMode() {
    var plain = receiver([])
    plain.leave()
    plain.pass(.seconds(6))
    #expect(plain.state == .suspended)
    #expect(plain.asked { $0 == .stopListening(psm: 0x80) } == 1)
    plain.forget()
    plain.handle(.control(.openApp(bundleIdentifier: Desk.bundle), AnswerToken(0)))
    #expect(plain.asked { $0 == .listenForChannels(psm: 0x80, requiresEncryption: true) } == 1)
    #expect(!plain.bodies.contains("channelPublished"), "the app knows its PSM")
  }

  @Test("B1, C7: an incoming channel wakes the app, once")
  func wakesOnce() throws {
    let releases = Releases()
    var desk = receiver()
    sleep(&desk)
    try arrive(&desk, releases.channel(5))
    #expect(desk.state == .background)
    #expect(desk.bodies.filter { $0 == "channelOpened" }.count == 1)
  }

  @Test("S12, C7: a published channel ends with its app's process, and so does a channel that the app was not told of")
  func processEnds() throws {
    let releases = Releases()
    var desk = receiver()
    sleep(&desk)
    // Frozen by the system, it can't be told.
    desk.handle(.detached(desk.link))
    #expect(desk.asked { $0 == .stopListening(psm: 0x80) } == 1)
    let accept = try #require(desk.lastCall(.acceptChannel(psm: 0x80)))
    desk.handle(
      .daemon(.reply(accept, .success(.creditChannel(releases.channel(6), mtu: 512, device: Desk.devicePath)))))
    #expect(releases.all == [6], "it came too late")
    desk.forget()
    desk.die()
    #expect(desk.launches.isEmpty, "channels are not restored")
  }

  @Test("S1, C7: bluetoothd comes back, and the channel has its old PSM; if another has it, the app is told")
  func bluetoothdRestarts() {
    var desk = receiver()
    desk.forget()
    desk.handle(.daemon(.vanished))
    desk.appear()
    #expect(desk.asked { $0 == .listenForChannels(psm: 0x80, requiresEncryption: true) } == 1)
    #expect(!desk.bodies.contains("channelPublished"))
    desk.refuses = { if case .listenForChannels = $0 { true } else { false } }
    desk.handle(.daemon(.vanished))
    desk.appear()
    #expect(desk.bodies.contains("channelUnpublished"))
  }

  @Test("C7: an opened channel goes to its app; one that opens after its link was lost ends")
  func opening() throws {
    let releases = Releases()
    var desk = Desk()
    desk.connectAndSubscribe()
    func open(_ number: UInt64) -> CallIdentifier? {
      desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(number), .openChannel(psm: 0x90))))
      return desk.lastCall(.openChannel(psm: 0x90))
    }
    let first = try #require(open(10))
    desk.handle(
      .daemon(.reply(first, .success(.creditChannel(releases.channel(7), mtu: 512, device: Desk.devicePath)))))
    #expect(
      desk.events.contains {
        if case .operationCompleted(_, OperationIdentifier(10), .channel(_, mtu: 512)) = $0.body { true } else { false }
      })
    let second = try #require(open(11))
    desk.linkDown()
    #expect(
      desk.events.contains {
        if case .operationCompleted(_, OperationIdentifier(11), .failed) = $0.body { true } else { false }
      })
    desk.handle(
      .daemon(.reply(second, .success(.creditChannel(releases.channel(8), mtu: 512, device: Desk.devicePath)))))
    #expect(releases.all == [8])
  }

  @Test("C7: an app opens 16 channels at a time and publishes 16; what is more is refused with an error")
  func limits() {
    var desk = Desk()
    desk.connectAndSubscribe()
    for number in 20..<37 {
      desk.say(
        .central(Desk.central, .perform(desk.peer, OperationIdentifier(UInt64(number)), .openChannel(psm: 0x90))))
    }
    #expect(desk.asked { $0 == .openChannel(psm: 0x90) } == 16)
    #expect(
      desk.events.contains {
        if case .operationCompleted(_, OperationIdentifier(36), .failed(.coreBluetooth(.outOfSpace, _))) = $0.body {
          true
        } else {
          false
        }
      })
    var other = receiver()
    for psm in 0x81..<0x91 {
      other.say(.peripheral(Self.manager, .publishChannel(psm: UInt16(psm), requiresEncryption: false)))
    }
    let refused = other.events.count { if case .channelPublished(_, .some) = $0.body { true } else { false } }
    #expect(refused == 1)
    other.say(.peripheral(Self.manager, .publishChannel(psm: 0x1000, requiresEncryption: false)))
    other.say(.peripheral(Self.manager, .unpublishChannel(psm: 0x99)))
    #expect(other.events.contains { if case .channelUnpublished(0x99, .some) = $0.body { true } else { false } })
  }
}
