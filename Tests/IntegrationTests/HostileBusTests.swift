import Foundation
import Glibc
import ProcessTesting
import Testing

/// latchkeyd in a process of its own, attacked over its bus by a hostile app, next to a well-behaved one.
@Suite("A hostile app on the bus", .timeLimit(.minutes(60))) struct HostileBusTests {
  /// The number of requests, which LATCHKEY_HOSTILE_BUS_REQUESTS can change.
  private static let requests =
    ProcessInfo.processInfo.environment["LATCHKEY_HOSTILE_BUS_REQUESTS"].flatMap { Int($0) } ?? 6000
  private static let seed =
    ProcessInfo.processInfo.environment["LATCHKEY_HOSTILE_SEED"].flatMap { UInt64($0) } ?? 1

  /// A process's resources, according to the kernel.
  private struct Size: CustomStringConvertible {
    let descriptors: Int
    let threads: Int
    let residentKilobytes: Int
    let peakKilobytes: Int

    init(_ process: pid_t) throws {
      descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
      let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8).split(separator: "\n")
      func number(_ name: String) -> Int {
        status.first { $0.hasPrefix(name + ":") }.flatMap { Int($0.filter(\.isNumber)) } ?? 0
      }
      threads = number("Threads")
      residentKilobytes = number("VmRSS")
      peakKilobytes = number("VmHWM")
    }

    var description: String {
      "\(descriptors) descriptors, \(threads) threads, \(residentKilobytes) kB (at most \(peakKilobytes))"
    }
  }

  @Test("H2, M6, M7: whatever an app sends over the bus, it harms only itself, and leaves nothing behind")
  func siege() async throws {
    let siege = try await MachineNearDoor()
    defer { siege.removeFolder() }
    let before = try Size(siege.daemon.processIdentifier)
    let begun = ContinuousClock.now
    var said = 0
    var lives = 0
    var ends: [String] = []
    while said < Self.requests {
      lives += 1
      let attacker = try await siege.attacker(seed: Self.seed &+ UInt64(lives - 1), count: Self.requests - said)
      let outcome = try await attacker.finish()
      #expect(!outcome.output.contains("failed"), "\(outcome.output.suffix(300))")
      let told = outcome.output.split(separator: "\n").filter { $0.hasPrefix("said ") }.last
      let isWhole = outcome.output.contains("end: ")
      // An app that the system ended for its requests had got at least this far.
      said = isWhole ? Self.requests : said + max(500, told.flatMap { Int($0.dropFirst(5)) } ?? 0)
      ends.append("\(outcome.output.split(separator: "\n").last ?? "") (\(outcome.status))")
      // The well-behaved app still has what it wants, and gets answers.
      let heard = try await siege.reader.hear("read ") + siege.reader.hear("\n")
      #expect(!heard.contains("lost") && !heard.contains("off"), "\(heard.suffix(300))")
    }
    let took = ContinuousClock.now - begun
    let after = try Size(siege.daemon.processIdentifier)
    #expect(after.descriptors <= before.descriptors + 8)
    #expect(after.threads <= before.threads + 4)
    #expect(after.peakKilobytes < 400_000)
    let rate = Double(Self.requests) / (Double(took.components.seconds) + 0.001)
    print(
      "hostile app on the bus: \(Self.requests) requests in \(took), \(Int(rate)) a second, \(lives) lives; "
        + "latchkeyd before: \(before); after: \(after); \(ends.suffix(4))")
  }
}
