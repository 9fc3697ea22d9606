import AppCodeSwift6
import CoreBluetoothTestKit
import Foundation
import Testing

@Suite("An app that its user leaves", .timeLimit(.minutes(20)))
struct SuspensionTests {
  private static let app = "org.example.collector"
  private static let rate = "2A37"

  private let home = SimulatedHome(seed: 9)
  private let strap: SimulatedPeripheral
  private let diary = HeartRateDiary()

  init() async {
    strap = home.addPeripheral(
      "strap", services: [SimulatedService("180D", [SimulatedCharacteristic(Self.rate, [.read, .notify])])])
    home.addMachine("phone", x: 2)
    home.install(Self.app, on: "phone", backgroundModes: ["bluetooth-central"]) { [diary] _ in
      HeartRateCollector(diary)
    }
    home.open(Self.app)
    await home.advance(by: .seconds(60)) { [strap] in strap.subscriberCount(of: Self.rate) == 1 }
  }

  /// A value every five seconds from now on, by an alarm of the home.
  private func beat(_ number: UInt8 = 1) {
    home.clock.after(.seconds(5)) { [self] in
      strap.setValue(Data([0, number]), of: Self.rate)
      if number < 20 { beat(number + 1) }
    }
  }

  @Test("It is suspended ten seconds after it was told something, and woken for what comes later")
  func suspended() async {
    home.leave(Self.app)
    await home.advance(by: .milliseconds(9900))
    #expect(!home.isSuspended(Self.app))
    await home.advance(by: .milliseconds(200))
    #expect(home.isSuspended(Self.app))
    strap.setValue(Data([0, 72]), of: Self.rate)
    await home.advance(by: .seconds(9))
    #expect(!home.isSuspended(Self.app) && diary.rates == [72])
    await home.advance(by: .seconds(2))
    #expect(home.isSuspended(Self.app))
  }

  @Test("One that is told something more often runs on, until the test ends its time; then it is woken again")
  func busy() async {
    home.leave(Self.app)
    beat()
    await home.advance(by: .seconds(61))
    #expect(!home.isSuspended(Self.app) && diary.rates == Array(1...12))
    await home.suspend(Self.app)
    #expect(home.isSuspended(Self.app))
    await home.advance(by: .seconds(6))
    #expect(!home.isSuspended(Self.app))
    await home.advance(by: .seconds(60))
    #expect(diary.rates == Array(1...20))
    #expect(home.isSuspended(Self.app))
  }

  @Test("F4: one that its user opens again hears at once of what came into reach, also while another app scans")
  func openedAgain() async {
    let (looker, other) = ("org.example.looker", "org.example.other")
    home.install(looker, on: "phone", backgroundModes: []) { _ in Probe("180A") }
    home.install(other, on: "phone", backgroundModes: [], keepAlive: true) { _ in Probe("180B") }
    home.open(looker)
    await home.advance(by: .seconds(10))
    home.leave(looker)
    await home.suspend(looker)
    let tag = home.addPeripheral("tag", x: 4, services: [SimulatedService("180A", [])])
    tag.signal = .fixed(-60)
    await home.advance(by: .seconds(60))
    home.open(looker)
    #expect(await home.nextCall("didDiscover", to: looker, within: .seconds(1)) != nil)
  }
}
