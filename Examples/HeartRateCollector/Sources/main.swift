// A heart-rate collector, as its author would write it for iOS. See Examples/HeartRateCollector/story.yaml for what it promises.
import Dispatch
import Foundation

let folder =
  ProcessInfo.processInfo.environment["STATE_DIRECTORY"].map { URL(fileURLWithPath: $0) }
  ?? FileManager.default.urls(for: .documentDirectory, in: .userDomainMask)[0]
let collector = Collector(diary: try Diary(folder: folder))
withExtendedLifetime(collector) { dispatchMain() }
