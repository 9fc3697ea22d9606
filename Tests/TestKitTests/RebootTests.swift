import AppCodeSwift6
import CoreBluetoothTestKit
import Foundation
import Testing

@Test("S10: an app whose machine starts anew while it is connected hears its state before the loss, and connects again")
func rebootWhileConnected() async {
  let home = SimulatedHome(seed: 7)
  let measurement = SimulatedCharacteristic("2A37", [.read, .notify])
  let strap = home.addPeripheral("strap", services: [SimulatedService("180D", [measurement])])
  home.addMachine("phone", x: 2)
  let diary = HeartRateDiary()
  let app = "org.example.collector"
  home.install(app, on: "phone", backgroundModes: ["bluetooth-central"]) { _ in HeartRateCollector(diary) }
  home.open(app)
  await home.advance(by: .seconds(60)) { strap.subscriberCount(of: "2A37") == 1 }
  home.reboot("phone")
  await home.advance(by: .seconds(60)) { strap.subscriberCount(of: "2A37") == 0 }
  await home.advance(by: .seconds(120)) { strap.subscriberCount(of: "2A37") == 1 }
  strap.setValue(Data([0, 64]), of: "2A37")
  await home.advance(by: .seconds(1))

  let calls = home.calls(to: app).filter { $0.launch == 2 }
  #expect(
    calls.map(\.method).prefix(4) == ["willRestoreState", "didUpdateState", "didDisconnectPeripheral", "didConnect"])
  #expect(diary.rates == [64])
  #expect(home.log(of: app).misuses.isEmpty)
}
