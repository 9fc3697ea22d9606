import CoreBluetoothTestKit
import Foundation
import Testing

@Suite("Many commands at once", .timeLimit(.minutes(5)))
struct ManyCommandsTests {
  private func opened(_ prepare: @escaping @Sendable (StrapApp) -> Void) -> (SimulatedHome, Diary) {
    let home = SimulatedHome(seed: 7)
    home.addPeripheral("strap", services: [.heartRate])
    home.addMachine("phone", x: 2)
    let diary = Diary()
    home.install("org.example.app", on: "phone", backgroundModes: []) { _ in StrapApp("A", diary, prepare) }
    home.open("org.example.app")
    return (home, diary)
  }

  @Test("C5: many operations at once are answered, in order for each characteristic, also those that can't succeed")
  func operations() async {
    let (home, diary) = opened { app in
      app.whenExplored = { _, strap, service in
        guard let rate = service.characteristics?.first, let control = service.characteristics?.last else { return }
        strap.readValue(for: control)
        strap.writeValue(Data([1]), for: control, type: .withResponse)
        strap.writeValue(Data(count: 600), for: control, type: .withResponse)
        strap.setNotifyValue(true, for: rate)
        strap.readRSSI()
        strap.readValue(for: control)
        strap.writeValue(Data([2]), for: rate, type: .withResponse)
        strap.setNotifyValue(true, for: control)
        strap.setNotifyValue(false, for: rate)
        strap.writeValue(Data([3]), for: control, type: .withoutResponse)
        strap.readValue(for: control)
      }
    }
    await home.advance(by: .seconds(60))
    let lines = diary.lines(of: "A")
    #expect(
      lines.filter { $0.contains("2A39") } == [
        "value strap 2A39 [9]", "wrote 2A39 0", "wrote 2A39 13", "value strap 2A39 [1]", "notify 2A39 false error",
        "value strap 2A39 [3]",
      ])
    #expect(lines.filter { $0.contains("2A37") } == ["notify 2A37 true", "wrote 2A37 3", "notify 2A37 false"])
    #expect(lines.count { $0 == "rssi" } == 1)
  }

  @Test("C3: an app may cancel in didConnect, and ask, cancel and ask again in didDisconnectPeripheral")
  func cancellations() async {
    let (home, diary) = opened { app in
      app.whenConnected = { app, strap in
        strap.discoverServices(nil)
        app.central.cancelPeripheralConnection(strap)
        app.note("cancelled: \(strap.state.rawValue)")
      }
      app.whenDisconnected = { app, strap in
        app.note("there: \(strap.state.rawValue) \(strap.services == nil)")
        guard app.diary.count("there: 0") == 1, strap.state == .disconnected else { return }
        app.central.connect(strap)
        app.note("again: \(strap.state.rawValue)")
        app.central.cancelPeripheralConnection(strap)
        app.central.connect(strap)
      }
    }
    await home.advance(by: .seconds(120))
    let connection = ["connected strap", "cancelled: 3", "disconnected strap", "there: 0 true"]
    #expect(
      diary.lines(of: "A") == ["state 5"] + connection + ["again: 1", "disconnected strap", "there: 1 true"]
        + connection)
  }
}
