import Foundation
import ProcessTesting
import Testing

@Suite("A hostile app", .serialized, .ownThread)
struct HostileAppTests {
  /// The number of requests over all seeds, which LATCHKEY_HOSTILE_REQUESTS can change.
  static let requests = ProcessInfo.processInfo.environment["LATCHKEY_HOSTILE_REQUESTS"].flatMap { Int($0) } ?? 100_000
  static let seeds = 8
  static let firstSeed = ProcessInfo.processInfo.environment["LATCHKEY_HOSTILE_SEED"].flatMap { UInt64($0) } ?? 1

  @Test("H2, M6, M7, L12: whatever it sends, in any order, it harms only itself", arguments: 0..<seeds)
  func siege(number: Int) {
    let seed = Self.firstSeed &+ UInt64(number)
    var siege = Siege(seed: seed)
    let start = ContinuousClock.now
    while siege.requests < Self.requests / Self.seeds, siege.complaints.isEmpty { siege.step() }
    let complaints = siege.complaints
    #expect(complaints.isEmpty, "seed \(seed): \(complaints)")
    let maxima = siege.maxima
    #expect(maxima.queue <= 8001, "seed \(seed)")
    #expect(maxima.calls <= 2048, "seed \(seed)")
    #expect(maxima.operations <= 2048, "seed \(seed)")
    #expect(maxima.remoteRequests <= 256, "seed \(seed)")
    #expect(maxima.managers <= 66, "seed \(seed)")
    #expect(maxima.peripherals <= 2048, "seed \(seed)")
    print("hostile app, seed \(seed): \(siege.requests) requests in \(ContinuousClock.now - start); \(maxima)")
  }
}
