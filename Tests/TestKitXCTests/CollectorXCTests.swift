import AppCodeSwift6
import CoreBluetoothTestKit
import Foundation
import XCTest

/// The kit in XCTest, as a package of its own would use it.
final class CollectorXCTests: XCTestCase {
  func testTheReaderFetchesALogOverAChannel() async {
    let home = SimulatedHome(seed: 12)
    let logger = home.addPeripheral("logger", services: [SimulatedService("\(LogReader.service)", [])])
    let port = logger.publishChannel(psm: LogReader.psm)
    home.addMachine("phone", x: 2)
    let shelf = LogShelf()
    let app = "org.example.reader"
    home.install(app, on: "phone", backgroundModes: ["bluetooth-central"]) { _ in LogReader(shelf) }
    home.open(app)
    let isOpen = await home.advance(by: .seconds(60)) { port.channels.first?.received == Data("log?".utf8) }
    XCTAssertTrue(isOpen)
    let log = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    port.channels[0].write(log)
    let isRead = await home.advance(by: .seconds(60)) { shelf.bytes.count == log.count }
    XCTAssertTrue(isRead, "\(shelf.bytes.count)")
    XCTAssertEqual(shelf.bytes, log)
    home.kill(app)
    let isClosed = await home.advance(by: .seconds(10)) { port.channels[0].isClosed }
    XCTAssertTrue(isClosed)
    XCTAssertEqual(home.log(of: app).misuses, [])
  }

  func testTheCollectorOutlivesFaults() async {
    let home = SimulatedHome(seed: 11)
    let measurement = SimulatedCharacteristic("2A37", [.read, .notify])
    let strap = home.addPeripheral("strap", services: [SimulatedService("180D", [measurement])])
    home.addMachine("phone", x: 2)
    let diary = HeartRateDiary()
    let app = "org.example.collector"
    home.install(app, on: "phone", backgroundModes: ["bluetooth-central"]) { _ in HeartRateCollector(diary) }
    home.open(app)
    let faults: [(String, @Sendable (SimulatedHome) async -> Void)] = [
      ("nothing", { _ in }),
      ("the app is killed", { $0.kill("org.example.collector") }),
      ("the system is restarted", { $0.restartSystem("phone") }),
      ("bluetoothd is killed", { $0.restartBluetoothd("phone", killed: true) }),
      (
        "the strap is off",
        { home in
          home.turnOff("strap")
          await home.advance(by: .seconds(600))
          home.turnOn("strap")
        }
      ),
      (
        "the phone is shielded",
        { home in
          home.shield("phone", isOn: true)
          await home.advance(by: .seconds(600))
          home.shield("phone", isOn: false)
        }
      ),
      (
        "the adapter is unplugged",
        { home in
          home.plugAdapter("phone", isIn: false)
          await home.advance(by: .seconds(600))
          home.plugAdapter("phone", isIn: true)
        }
      ),
    ]
    var expected: [Int] = []
    for (name, fault) in faults {
      await fault(home)
      let rate = 60 + expected.count
      expected.append(rate)
      // The subscription of the old link may still be counted, so that a value is sent until it arrives.
      await home.advance(by: .seconds(600))
      let isBack = await home.advance(by: .seconds(3600)) { strap.subscriberCount(of: "2A37") == 1 }
      XCTAssertTrue(isBack, "\(name): \(home.calls(to: app).suffix(8))")
      strap.setValue(Data([0, UInt8(rate)]), of: "2A37")
      await home.advance(by: .seconds(5))
      XCTAssertEqual(diary.rates, expected, name)
    }
    XCTAssertEqual(home.log(of: app).misuses, [])
  }
}
