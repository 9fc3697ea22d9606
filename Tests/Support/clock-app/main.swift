// An app that lives by every clock of the system, and knows nothing of stories. Its arguments are what it does:
//
//   waits=COUNT     waits in each of the ways that there are, so many times, one after the other in each way
//   collects=yes    subscribes to the values of a heart-rate band
//   looks=S,S,…     at each of them looks at the clock so much later
//   rests=SECONDS   sets a timer for so much later whenever the last one has fired
//   busy=yes        asks for the time until one second has passed, in ways that need time to move
//
// It records what the clocks show then: `at` is in milliseconds since the beginning of 2026.
import CoreBluetooth
import Foundation

func now() -> Int { Int(((Date().timeIntervalSince1970 - 1_767_225_600) * 1000).rounded()) }

func record(_ event: String, _ fields: KeyValuePairs<String, Any> = [:]) {
  print("latchkey: \(event) at=\(now())" + fields.map { " \($0.key)=\"\($0.value)\"" }.joined())
}

let options = Dictionary(
  CommandLine.arguments.dropFirst().map { word in
    let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
    return (parts[0], parts.count > 1 ? parts[1] : "")
  }, uniquingKeysWith: { $1 })
record("began")
let collector = Collector(
  collects: options["collects"] != nil,
  looks: (options["looks"] ?? "").split(separator: ",").compactMap { Double($0) })
let waits = options["waits"].flatMap { Int($0) }.map { Waits(count: $0) }
waits?.begin()
if options["busy"] != nil { Impatience.begin() }
nonisolated(unsafe) var rest: (@Sendable () -> Void)?
if let seconds = options["rests"].flatMap({ Double($0) }) {
  rest = {
    DispatchQueue.main.asyncAfter(deadline: .now() + seconds) {
      record("rested")
      rest?()
    }
  }
  rest?()
}
withExtendedLifetime(collector) {
  waits?.runMainLoop()
  RunLoop.main.run()
}
