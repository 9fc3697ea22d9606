import ArgumentParser
import ArrivalTimes
import BlueZModel
import Foundation
import Stories
import Worlds

/// Runs the measurements for `make bench`. The report, in Markdown, goes to standard output; the progress goes to
/// standard error.
@main struct LatchkeyBench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "latchkey-bench",
    abstract: "Measures relaunches, arrivals, latchkeyd at rest, what grows, and how fast days pass inside one process."
  )

  @Option(help: "How many relaunches to measure.")
  var relaunches = 50

  @Option(help: "The number of connection requests in the measurement with many.")
  var requests = 1000

  @Flag(help: "Only measure latchkeyd with many requests, and print its row.")
  var onlyRequests = false

  @Option(help: "Only measure the decisions about this many connection requests of one app, in this process.")
  var held: Int?

  @Option(
    help: ArgumentHelp(
      "With --held: carry out 100 rounds of events, those of this kind by a function 'carryOutCounted'. Prints nothing; it is "
        + "for Benchmarks/count-instructions."))
  var counting: HeldRequests.Kind?

  @Option(help: "Only measure this many days with a departure, a kill and a return each, in this process.")
  var days: Int?

  @Flag(help: "Only measure the lock's protocol and its log, in this process, and count what an arrival sends.")
  var lock = false

  @Option(help: "Only measure this many arrivals in each of six cases, in this process and in simulated time.")
  var arrivals: Int?

  @Option(help: "Only measure this many starts of the agent to its first event, beside dbus-send's.")
  var starts: Int?

  @Option(
    help: ArgumentHelp(
      "Only measure this many returns of an owner whose agent is dead, in real time and without a conductor: with the files on "
        + "the disk, and in memory."))
  var native: Int?

  @Option(
    help: "Only measure ratios, and compare them with this file; the status is 1 if one got worse by a tenth.")
  var baseline: String?

  @Option(help: "Show each figure beside its value in this file, and then write the file anew.")
  var last: String?

  @Flag(help: "With --baseline: write the file anew.")
  var record = false

  @Flag(help: "Only measure notifications and writes a second, beside bleak's and a C program's.")
  var throughput = false

  @Option(help: .hidden)
  var throughputApp: String?

  func validate() throws {
    guard (1...100_000).contains(days ?? 1) else { throw ValidationError("--days must be from 1 to 100000") }
    guard (1...100_000).contains(arrivals ?? 1) else { throw ValidationError("--arrivals must be from 1 to 100000") }
    guard (1...100_000).contains(held ?? 1) else { throw ValidationError("--held must be from 1 to 100000") }
    guard counting == nil || held != nil else { throw ValidationError("--counting needs --held") }
    guard (1...1000).contains(native ?? 1) else { throw ValidationError("--native must be from 1 to 1000") }
    guard (1...10_000).contains(starts ?? 1) else { throw ValidationError("--starts must be from 1 to 10000") }
    guard (1...1000).contains(relaunches) else { throw ValidationError("--relaunches must be from 1 to 1000") }
    // A simulated machine remembers no more devices.
    let most = BlueZStorage.rememberedLimit
    guard (1...most).contains(requests) else { throw ValidationError("--requests must be from 1 to \(most)") }
  }

  func run() async throws {
    if let throughputApp { return try ThroughputApp.run(throughputApp) }
    if throughput { return print(Throughput.report(try Throughput.measure(Throughput.Options(), progress: Self.say))) }
    if let baseline { return try compare(with: baseline) }
    if lock { return print(try await ProtocolCosts.report(progress: Self.say)) }
    if let arrivals { return try await Self.measure(arrivals) }
    if let days {
      let rate = await HomeBenchmark.commutingDaysPerSecond(days: days)
      return print(
        "\(Self.number(rate.ofTime)) days a second, \(Self.number(rate.ofProcessor)) a second of the processor")
    }
    if let held, let counting {
      var holder = HeldRequests(holding: held)
      return holder.carryOut(rounds: 100, counting: counting)
    }
    if let held {
      let figures = try HeldRequests.measure(held)
      return print(
        "| \(held) | \(figures.restored) | \(Self.number(figures.reading * 1000)) ms "
          + "| \(Self.number(figures.seconds * 1000)) ms "
          + "| \(Self.number(figures.processorSeconds * 1000)) ms "
          + "| \(Self.number(figures.bytesPerRequest / 1024)) KiB |")
    }
    if let native {
      for place in [NativeReturns.disk, NativeReturns.memory] {
        print(
          "files in \(place):\n\(NativeReturns.table(try NativeReturns.measure(native, in: place, progress: Self.say)))"
        )
      }
      return
    }
    let executables = try Executables(folder: try Executables.ownFolder())
    if let starts {
      let costs = try AppStart.measure(starts, executables: executables, progress: Self.say)
      func words(_ cost: AppStart.Cost) -> String {
        "\(Self.number(cost.seconds * 1000)) ms of the processor, \(cost.pageFaults) page faults"
      }
      return print("agent: \(words(costs.agent)); dbus-send: \(words(costs.least))")
    }
    guard !onlyRequests else {
      let many = try Benchmark.rest(
        holding: ManyRequests.make(requests), executables: executables, progress: Self.say)
      return print(Self.row(requests, many))
    }
    try await report(executables)
  }

  /// Prints all figures, each beside its target and its earlier value, and stores them for the next run.
  private func report(_ executables: Executables) async throws {
    let report = Report(executables: executables, relaunches: relaunches, requests: requests, progress: Self.say)
    var figures = try await report.figures()
    let rates = try Throughput.measure(Throughput.Options(), progress: Self.say)
    let costs = try await ProtocolCosts.report(progress: Self.say)
    figures += Throughput.ratios(rates).map { Figure($0.name, $0.value, "", .atLeast($0.target)) }
    let earlier = last.flatMap { try? Baseline.read($0) }
    let now = Baseline(machine: Self.machine(), date: Self.date(), figures: figures)
    print(
      """
      # Benchmarks

      \(now.machine), \(now.date)

      \(Baseline.table(figures, last: earlier))

      ## Notifications and writes

      \(Throughput.report(rates))

      ## The lock's protocol and its log

      \(costs)
      """)
    if let last { try now.write(last) }
  }

  private static func say(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }

  private static func measure(_ arrivals: Int) async throws {
    print(ArrivalTable.header)
    for interval in [Duration.microseconds(7500), .milliseconds(15), .milliseconds(50)] {
      for isDead in [false, true] {
        guard
          let row = await ArrivalTable.row(arrivals, seed: 1, connectionInterval: interval, isDead: isDead)
        else { throw ValidationError("The simulated phone and lock do not meet.") }
        print(ArrivalTable.line(row))
      }
    }
  }

  private func compare(with path: String) throws {
    let figures = try Ratios.measure(executables: try Executables(folder: try Executables.ownFolder())) {
      FileHandle.standardError.write(Data(($0 + "\n").utf8))
    }
    if record {
      return try Baseline(machine: Self.machine(), date: Self.date(), figures: figures).write(path)
    }
    let baseline = try Baseline.read(path)
    print(baseline.table(figures))
    let worse = baseline.worse(figures)
    guard !worse.isEmpty else { return }
    print("worse by more than a tenth: " + worse.map(\.name).joined(separator: "; "))
    throw ExitCode(1)
  }

  private static func row(_ requests: Int, _ rest: Benchmark.Rest) -> String {
    "| \(requests) | \(rest.residentKiB) KiB | \(rest.proportionalKiB) KiB "
      + "| \(rest.startSeconds.map { String($0) } ?? "") s "
      + "| \(number(rest.wakeUpsPerVirtualMinute)) | \(number(rest.wakeUpsPerWallMinute)) |"
  }

  private static func number(_ value: Double) -> String { String((value * 10).rounded() / 10) }

  private static func machine() -> String {
    let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let model =
      text.split(separator: "\n").first { $0.hasPrefix("model name") }?.split(separator: ":").last ?? "unknown"
    return "\(ProcessInfo.processInfo.activeProcessorCount) x\(model)"
  }

  private static func date() -> String { ISO8601DateFormatter().string(from: Date()) }
}

extension HeldRequests.Kind: ExpressibleByArgument {}
