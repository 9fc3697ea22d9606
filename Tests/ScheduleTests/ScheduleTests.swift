import Foundation
import ProcessTesting
import ScheduleTesting
import Testing

@Suite("Schedules", .serialized, .ownThread)
struct ScheduleTests {
  @Test("A schedule's text is read back as the same steps")
  func texts() throws {
    for seed in 1...50 as ClosedRange<UInt64> {
      let schedule = ScheduleGenerator.schedule(seed: seed, steps: 60)
      let steps = try Schedule.steps(schedule.description).get()
      #expect(steps == schedule.steps)
    }
  }

  @Test("S1–S13, C1–C6: whatever happens in whatever order, every app gets what it was promised", .timeLimit(.minutes(20)))
  func random() {
    let began = Date()
    var seed: UInt64 = 0
    var broken: [String] = []
    // As many as two minutes hold, and at least 200.
    while seed < 200 || Date().timeIntervalSince(began) < 120 {
      seed += 1
      let schedule = ScheduleGenerator.schedule(seed: seed, steps: 40)
      let trial = Trial(schedule)
      if !trial.isKept { broken.append("seed \(seed): \(trial.complaints.prefix(2))") }
      if seed.isMultiple(of: 100) { print("schedules: \(seed) seeds, \(broken.count) broken") }
    }
    #expect(broken.isEmpty, "\(broken.count) of \(seed) seeds; `make soak SEEDS=\(seed)` shrinks them: \(broken.prefix(5))")
  }
}
