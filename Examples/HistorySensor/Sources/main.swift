// A sensor that serves its history, as its author would write it for iOS. See Examples/HistorySensor/story.yaml.
import Foundation

let folder =
  ProcessInfo.processInfo.environment["STATE_DIRECTORY"].map { URL(fileURLWithPath: $0) }
  ?? FileManager.default.urls(for: .documentDirectory, in: .userDomainMask)[0]
let history = try History(folder: folder)
let sensor = Sensor(history: history)
// Measures every ten minutes while its user looks at it.
Task { @MainActor in
  while true {
    try await Task.sleep(for: .seconds(600))
    try history.add(2000 + history.count % 500)
    print("latchkey: measured records=\(history.count)")
  }
}
withExtendedLifetime(sensor) { dispatchMain() }
