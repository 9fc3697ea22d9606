import CoreBluetoothTestKit
import Foundation
import Testing

@Suite("Straps that are shared", .timeLimit(.minutes(5)))
struct SharedStrapTests {
  @Test("C3: two apps at one strap: the one's cancellation leaves the link to the other, the other's ends it")
  func twoApps() async throws {
    let home = SimulatedHome(seed: 5)
    let strap = home.addPeripheral("strap", services: [.heartRate])
    home.addMachine("phone", x: 2)
    let diary = Diary()
    home.install("org.example.a", on: "phone", backgroundModes: ["bluetooth-central"]) { _ in StrapApp("A", diary) }
    home.install("org.example.b", on: "phone", backgroundModes: ["bluetooth-central"]) { _ in
      StrapApp("B", diary) { app in
        app.whenOn = { app, central in
          app.straps = central.retrieveConnectedPeripherals(withServices: [StrapApp.service])
          for strap in app.straps {
            app.note("retrieved \(strap.name ?? "?") \(strap.state.rawValue)")
            strap.delegate = app
            central.connect(strap)
          }
        }
      }
    }
    func cancel(_ name: String) async throws {
      let app = try #require(home.app(name) as? StrapApp)
      home.run(as: name) { app.central.cancelPeripheralConnection(app.straps[0]) }
      await home.advance(by: .seconds(5))
    }
    home.open("org.example.a")
    await home.advance(by: .seconds(60)) { diary.count("A notify") == 1 }
    home.open("org.example.b")
    await home.advance(by: .seconds(60)) { diary.count("B notify") == 1 }
    strap.setValue(Data([2]), of: "2A37")
    await home.advance(by: .seconds(2))
    try await cancel("org.example.a")
    strap.setValue(Data([3]), of: "2A37")
    await home.advance(by: .seconds(5))
    #expect(!home.journal.contains { $0.contains("linkDown") })
    try await cancel("org.example.b")
    #expect(home.journal.contains { $0.contains("linkDown") })
    let ofBoth = ["connected strap", "notify 2A37 true", "value strap 2A37 [2]"]
    #expect(diary.lines(of: "A") == ["state 5"] + ofBoth + ["disconnected strap"])
    #expect(
      diary.lines(of: "B") == ["state 5", "retrieved strap 0"] + ofBoth
        + ["value strap 2A37 [3]", "disconnected strap"])
  }

  @Test("S9 S12: both managers of an app are restored with the strap as it knew it, and are told a value, or the loss")
  func twoManagers() async {
    let home = SimulatedHome(seed: 5)
    let strap = home.addPeripheral("strap", services: [.heartRate])
    home.addMachine("phone", x: 2)
    let diary = Diary()
    let app = "org.example.app"
    home.install(app, on: "phone", backgroundModes: ["bluetooth-central"]) { launch in
      diary.add("launched for \(launch.centralsToRestore.sorted())")
      return ["A", "B"].map { StrapApp($0, diary, identifier: $0) } as NSArray
    }
    home.open(app)
    await home.advance(by: .seconds(60)) { diary.count("notify") == 2 }
    home.kill(app)
    await home.advance(by: .seconds(5))
    let beforeValue = diary.all.count
    strap.setValue(Data([2]), of: "2A37")
    await home.advance(by: .seconds(10))
    let told = ["restored strap: 2 subscribed", "state 5"]
    #expect(diary.since(beforeValue).first == #"launched for ["A", "B"]"#)
    for name in ["A", "B"] { #expect(diary.lines(of: name).suffix(3) == told + ["value strap 2A37 [2]"]) }
    home.kill(app)
    home.move("phone", x: 300)
    await home.advance(by: .seconds(60))
    for name in ["A", "B"] {
      #expect(diary.lines(of: name).suffix(3) == told + ["disconnected strap error"], "\(diary.all)")
    }
    let beforeReturn = diary.all.count
    home.move("phone", x: 2)
    await home.advance(by: .seconds(60))
    #expect(diary.since(beforeReturn) == [], "nobody has asked for it again")
  }

  @Test("S3 S12: an app with four straps that was killed is told which one left, and which one came back")
  func fourStraps() async {
    let home = SimulatedHome(seed: 6)
    let names = ["s1", "s2", "s3", "s4"]
    let straps = names.map { home.addPeripheral($0, services: [.heartRate]) }
    home.addMachine("phone", x: 2)
    let diary = Diary()
    let app = "org.example.app"
    home.install(app, on: "phone", backgroundModes: ["bluetooth-central"]) { _ in
      StrapApp("A", diary, wanted: Set(names), identifier: "a") { $0.whenDisconnected = { $0.central.connect($1) } }
    }
    home.open(app)
    await home.advance(by: .seconds(120)) { diary.count("notify") == 4 }
    let beforeDeath = diary.all.count
    home.kill(app)
    home.move("s3", x: 2000)
    await home.advance(by: .seconds(60))
    straps[0].setValue(Data([7]), of: "2A37")
    await home.advance(by: .seconds(60))
    let restored = names.map { "\($0): 2 subscribed" }.joined(separator: ", ")
    #expect(
      diary.since(beforeDeath) == [
        "A restored \(restored)", "A state 5", "A disconnected s3 error", "A value s1 2A37 [7]",
      ])
    let beforeReturn = diary.all.count
    home.move("s3", x: 0)
    await home.advance(by: .seconds(60))
    #expect(diary.since(beforeReturn) == ["A connected s3", "A notify 2A37 true"])
  }
}
