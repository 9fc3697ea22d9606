import AppLink
import BluetoothSystem
import BluetoothTypes
import Testing
import TimeTypes

@Suite("How often a scan in the background listens")
struct BackgroundScanTests {
  static let finder = "org.example.finder"
  static let second = "org.example.second"
  static let sender = "org.example.sender"

  /// A phone with an app that has scanned in the background since the returned time.
  static func phone(with others: [AppDeclaration] = []) -> (air: Air, began: Instant) {
    var air = Air()
    air.add("phone", apps: [Air.app(finder, modes: ["central"])] + others)
    air.scan([BackgroundAirTests.service], finder, on: "phone")
    air.leave(finder, on: "phone")
    return (air, air.now)
  }

  static func starts(_ air: Air, from: Instant) -> [Instant] {
    (air.machines["phone"]?.discoveries ?? []).filter { $0.isOn && $0.time >= from }.map(\.time)
  }

  @Test("B3: a scan in the background that finds nothing for ten minutes listens once in 30 s, for as long each time")
  func seldomInVain() {
    var (air, began) = Self.phone()
    air.pass(.seconds(1200))
    let starts = Self.starts(air, from: began + .seconds(1)).map { $0 - began }
    let short = (1...60).map { Duration.seconds(10 * $0) }
    let long = (1...20).map { Duration.seconds(600 + 30 * $0) }
    #expect(starts == short + long)
    let later = air.machines["phone"]?.discoveries.filter { $0.time >= began + .seconds(600) } ?? []
    for (on, off) in zip(later.filter(\.isOn), later.filter { !$0.isOn }) {
      #expect(off.time - on.time == .milliseconds(1300))
    }
  }

  @Test("B2, B3: after a find the scan listens each 10 s again")
  func oftenAfterFind() {
    var (air, _) = Self.phone()
    air.pass(.seconds(3600))
    air.add("desk", apps: [Air.app(Self.sender, modes: ["peripheral"])])
    air.advertise(BackgroundAirTests.request, Self.sender, on: "desk")
    air.pass(.seconds(32))
    #expect(air.discovered(Self.finder, on: "phone").count == 1, "within the long interval")
    air.pass(.seconds(300))
    #expect(Self.starts(air, from: air.now - .seconds(100)).count == 10)
    air.pass(.seconds(3600))
    #expect((3...4).contains(Self.starts(air, from: air.now - .seconds(100)).count))
  }

  @Test("B3: a new scan of an app that is awake in the background listens each 10 s at first")
  func oftenAfterNewScan() {
    var (air, _) = Self.phone(with: [Air.app(Self.second, modes: ["central"])])
    air.pass(.seconds(3600))
    air.open(Self.second, on: "phone")
    air.createManager(.central, Self.second, on: "phone")
    air.leave(Self.second, on: "phone")
    #expect((3...4).contains(Self.starts(air, from: air.now - .seconds(100)).count))
    air.say(
      .central(Air.central, .scan(ScanRequest(services: [BackgroundAirTests.other], allowDuplicates: false))),
      Self.second, on: "phone")
    air.pass(.seconds(100))
    #expect((10...11).contains(Self.starts(air, from: air.now - .seconds(100)).count))
  }
}
