import ArrivalTimes
import Foundation
import Stories
import Worlds

/// Everything that `make bench` measures, as one list of figures.
struct Report {
  var executables: Executables
  var relaunches: Int
  var requests: Int
  /// Arrivals of each kind.
  var arrivals = 500
  let progress: @Sendable (String) -> Void

  func figures() async throws -> [Figure] {
    var figures = try starts() + nativeReturns() + rest()
    progress("a restart with 10,000 requests")
    let restart = try HeldRequests.measure(10_000)
    figures += [
      Figure(
        "a restart with 10,000 requests: the store and the decisions", restart.reading + restart.seconds, "s",
        .atMost(1)),
      Figure("the processor's part of that", restart.processorSeconds, "s", .atMost(1)),
      Figure("memory of the decisions for each of them", restart.bytesPerRequest / 1024, "KiB", .atMost(4)),
    ]
    progress("days in one process")
    let days = await HomeBenchmark.daysPerSecond(days: 1000)
    figures += [
      Figure("days a second in one process, at rest", days.atRest.ofTime),
      Figure("the same, a second of the processor", days.atRest.ofProcessor),
      Figure("days a second with a departure, a kill and a return each", days.commuting.ofTime, "", .atLeast(1000)),
      Figure("days of that kind a second of the processor", days.commuting.ofProcessor, "", .atLeast(1000)),
    ]
    return try await figures + arrivalTimes() + Ratios.measure(executables: executables, progress: progress)
  }

  /// The figures for starts of the agent, from the radio's link-up on.
  private func starts() throws -> [Figure] {
    let measured = try Benchmark.relaunches(relaunches, executables: executables, progress: progress)
    func figure(_ name: String, _ times: Benchmark.Distribution, _ percent: Double, _ target: Figure.Target?) -> Figure
    {
      Figure("\(name), p\(Int(percent))", times.percentile(percent) ?? .infinity, "ms", target)
    }
    return [
      figure("link-up to `willRestoreState`, agent relaunched", measured.toRestoration, 50, nil),
      figure("link-up to `willRestoreState`, agent relaunched", measured.toRestoration, 95, nil),
      figure("link-up to the first judgement of the approach", measured.toApproach, 50, .atMost(15)),
      figure("link-up to the first judgement of the approach", measured.toApproach, 95, .atMost(30)),
      figure("the same in the world's time", measured.toApproachVirtual, 50, nil),
      figure("the same in the world's time", measured.toApproachVirtual, 95, nil),
      figure("link-up to the unlock write, the owner's walk included", measured.toUnlock, 50, nil),
      figure("that in the world's time", measured.toUnlockVirtual, 50, nil),
    ]
  }

  /// The figures for the same return in real time, without a simulated world: only the programs' own time.
  private func nativeReturns() throws -> [Figure] {
    try [("on the disk", NativeReturns.disk), ("in memory", NativeReturns.memory)].flatMap { name, place in
      let measured = try NativeReturns.measure(relaunches, in: place, progress: progress)
      func figure(
        _ what: String, _ value: (NativeReturns.Return) -> Double, _ percent: Double, _ target: Figure.Target?
      ) -> Figure {
        let times = Benchmark.Distribution(measured.map(value))
        return Figure("natively, \(what), p\(Int(percent))", times.percentile(percent) ?? .infinity, "ms", target)
      }
      let files = "files \(name)"
      return [
        figure("link-up to the record of the agent's start, \(files)", \.launched, 50, nil),
        figure("link-up to `willRestoreState`, \(files)", \.restored, 50, nil),
        figure("link-up to the first judgement of the approach, \(files)", \.judged, 50, .atMost(15)),
        figure("link-up to the first judgement of the approach, \(files)", \.judged, 95, .atMost(30)),
      ]
    }
  }

  private func rest() throws -> [Figure] {
    let one = try Benchmark.rest(executables: executables, progress: progress)
    let many = try Benchmark.rest(
      holding: ManyRequests.make(requests), executables: executables, progress: progress)
    let more = Double(many.residentKiB - one.residentKiB) / Double(max(requests - 1, 1))
    return [
      Figure("latchkeyd at rest, PSS", Double(one.proportionalKiB) / 1024, "MiB", .atMost(8)),
      Figure("latchkeyd at rest, RSS", Double(one.residentKiB) / 1024, "MiB"),
      Figure("its wake-ups in a virtual minute", one.wakeUpsPerVirtualMinute, "", .atMost(0)),
      Figure("its wake-ups in a minute of real time", one.wakeUpsPerWallMinute, "", .atMost(0)),
      Figure("latchkeyd at rest with \(requests) requests, PSS", Double(many.proportionalKiB) / 1024, "MiB"),
      Figure("its memory for each request", more, "KiB", .atMost(4)),
      Figure("its start with them, of the processor", many.startSeconds ?? .infinity, "s", .atMost(1)),
      Figure(
        "its wake-ups in a virtual minute, with \(requests) requests", many.wakeUpsPerVirtualMinute, "", .atMost(0)),
      Figure(
        "its wake-ups in a minute of real time, with \(requests) requests", many.wakeUpsPerWallMinute, "", .atMost(0)),
    ]
  }

  /// Simulated time, with advertisements every 152.5 ms and scan windows of half the time.
  private func arrivalTimes() async throws -> [Figure] {
    var figures: [Figure] = []
    for interval in [Duration.microseconds(7500), .milliseconds(50)] {
      for isDead in [false, true] {
        progress("\(arrivals) arrivals at \(interval / .milliseconds(1)) ms")
        guard let row = await ArrivalTable.row(arrivals, seed: 1, connectionInterval: interval, isDead: isDead) else {
          throw WorldError("the simulated phone and lock do not meet")
        }
        let place = "\(interval / .milliseconds(1)) ms, agent \(isDead ? "dead" : "alive")"
        let total = "in range to accepted at \(place)"
        figures += [
          Figure("\(total), p50", ArrivalTable.percentile(50, row.total), "s", .atMost(0.6)),
          Figure("\(total), p95", ArrivalTable.percentile(95, row.total), "s", .atMost(1)),
          Figure(
            "link-up to accepted at \(place), p95", ArrivalTable.percentile(95, row.toAcceptance), "s",
            .atMost(interval < .milliseconds(10) ? 0.15 : 0.35)),
        ]
      }
    }
    return figures
  }
}
