import AppCodeSwift6
import CoreBluetoothTestKit
import Foundation
import Testing

@Test("A reader fetches a log over a channel, and again when its logger is back")
func logIsRead() async {
  let home = SimulatedHome(seed: 7)
  let logger = home.addPeripheral("logger", services: [SimulatedService("\(LogReader.service)", [])])
  let port = logger.publishChannel(psm: LogReader.psm) { channel in
    channel.whenReceiving { channel in
      if channel.read() == Data("log?".utf8) { channel.write(Data("cold ".utf8)) }
    }
  }
  home.addMachine("phone", x: 2)
  let shelf = LogShelf()
  let app = "org.example.reader"
  home.install(app, on: "phone", backgroundModes: ["bluetooth-central"]) { _ in LogReader(shelf) }
  home.open(app)
  await home.advance(by: .seconds(60)) { shelf.text == "cold " }
  port.channels[0].write(Data("warm ".utf8))
  await home.advance(by: .seconds(1))
  #expect(shelf.text == "cold warm ")

  home.move("logger", x: 5000)
  await home.advance(by: .seconds(60)) { port.channels[0].isClosed }
  home.move("logger", x: 0)
  await home.advance(by: .seconds(120)) { shelf.text == "cold warm cold " }
  #expect(port.channels.count == 2)
}
