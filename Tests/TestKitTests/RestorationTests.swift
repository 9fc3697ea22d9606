import AppCodeSwift6
import CoreBluetoothTestKit
import Foundation
import Testing

@Test("A collector that was killed is launched when its strap is back, and goes on")
func collectorIsRestored() async {
  let home = SimulatedHome(seed: 7)
  let measurement = SimulatedCharacteristic("2A37", [.read, .notify])
  let strap = home.addPeripheral("strap", services: [SimulatedService("180D", [measurement])])
  home.addMachine("phone", x: 2)
  let diary = HeartRateDiary()
  let app = "org.example.collector"
  home.install(app, on: "phone", backgroundModes: ["bluetooth-central"]) { _ in HeartRateCollector(diary) }
  home.open(app)
  await home.advance(by: .seconds(60)) { strap.subscriberCount(of: "2A37") == 1 }
  strap.setValue(Data([0, 72]), of: "2A37")
  await home.suspend(app)

  home.move("strap", x: 5000)
  await home.advance(by: .seconds(60))
  home.kill(app)
  await home.advance(by: .seconds(3 * 86_400))
  #expect(!home.isRunning(app))
  home.move("strap", x: 0)
  await home.advance(by: .seconds(120)) { strap.subscriberCount(of: "2A37") == 1 }
  strap.setValue(Data([0, 64]), of: "2A37")
  await home.advance(by: .seconds(1))

  let calls = home.calls(to: app).filter { $0.launch == 2 }
  #expect(calls.map(\.method).prefix(3) == ["willRestoreState", "didUpdateState", "didConnect"])
  #expect(diary.rates == [72, 64])
  #expect(home.log(of: app).misuses.isEmpty)
}
