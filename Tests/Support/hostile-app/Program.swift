// An app that attacks latchkeyd over its bus, and its victims:
//
//   hostile-app hostile ADDRESS BUNDLE SEED COUNT   sends COUNT random messages, and reports the outcome
//   hostile-app good ADDRESS BUNDLE SERVICE         finds a device with the service, and reads from it for ever
//   hostile-app door ADDRESS SERVICE                is that device, as a client of bluetoothd
//
// Each prints a line for everything that it has done.
import BlueZ
import BlueZBus
import BluetoothTypes
import BusValue
import Glibc
import Logging

func say(_ text: String) {
  let line = Array((text + "\n").utf8)
  _ = write(1, line, line.count)
}

func fail(_ text: String) -> Never {
  say("failed: \(text)")
  exit(1)
}

let logger = Logger(label: "hostile-app") { _ in SwiftLogNoOpLogHandler() }
@main
enum Program {
  static func main() async throws {
    let words = Array(CommandLine.arguments.dropFirst())

    switch words.first {
    case "hostile":
      guard words.count == 5, let seed = UInt64(words[3]), let count = Int(words[4]) else { exit(64) }
      let attacker = try Attacker(address: words[1], bundle: words[2], seed: seed)
      await attacker.run(count)
    case "good":
      guard words.count == 4, let service = BluetoothUUID(words[3]) else { exit(64) }
      let reader = Reader(address: words[1], bundle: words[2], service: service)
      try await reader.run()
    case "door":
      guard words.count == 3, let service = BluetoothUUID(words[2]) else { exit(64) }
      let door = Door(service: service)
      try door.start(address: words[1])
      while true { pause() }
    default:
      // Started by latchkeyd, which thinks that the app is needed.
      exit(0)
    }
  }
}
