import Foundation
import HomePolicy
import TimeTypes

/// Version 1 of the agent's state. This file is never edited again.
///
/// There were two forms of it. At first `home.version` was 1, and what was stored about arrivals is not evidence of
/// an approach. From that form, the lock, the link and the time of its loss are read, and nothing that could open a
/// door. Later `home.version` was 2, for a while with approaches that lacked their initial signal strength. Those
/// approaches are left out, so that the next one counts anew.
enum AgentFormatOne {
  private struct OnDisk: Decodable {
    var lock: UUID?
    var home: Home
  }

  private struct Home: Decodable {
    /// Missing: 1.
    var version: Int?
    var isLinked: Bool
    var lastHeard: Time?
    var linkLost: Time?
    var isBeginning: Bool?
    var approach: Approach?
    var opening: Opening?
    var asked: Time?
    var isAsking: Bool?
  }

  private struct Time: Decodable {
    struct SinceBoot: Decodable { var nanoseconds: Int64 }
    var boot: String
    var instant: SinceBoot
    var unixSeconds: Double

    var time: HomeTime {
      get throws {
        try AgentFormat.possible(
          HomeTime(boot: boot, instant: Instant(nanoseconds: instant.nanoseconds), unixSeconds: unixSeconds))
      }
    }
  }

  private struct Approach: Decodable {
    var since: Time
    var signal: Int8?
    var hasRisen: Bool?
  }

  private struct Opening: Decodable {
    var operation: UInt64
    var isWritten: Bool
    var attempts: UInt16
    var because: String
    var since: Time
  }

  static func read(_ bytes: Data) throws -> AgentState {
    let stored = try JSONDecoder().decode(OnDisk.self, from: bytes)
    let home = stored.home
    var state = HomeState()
    state.isLinked = home.isLinked
    state.lastHeard = try home.lastHeard?.time
    state.linkLost = try home.linkLost?.time
    guard (home.version ?? 1) >= 2 else { return AgentState(lock: stored.lock, home: state) }
    state.isBeginning = home.isBeginning
    if let approach = home.approach, let signal = approach.signal, let hasRisen = approach.hasRisen {
      state.approach = HomeState.Approach(since: try approach.since.time, signal: Int(signal), hasRisen: hasRisen)
    }
    if let opening = home.opening {
      let reasons = ["approach": OpeningReason.approach, "word": .word]
      guard let because = reasons[opening.because] else {
        throw AgentFormat.Problem.damaged("\"\(opening.because)\" is not a reason to open")
      }
      state.opening = HomeState.Opening(
        operation: opening.operation, isWritten: opening.isWritten, attempts: Int(opening.attempts), because: because,
        since: try opening.since.time)
    }
    state.asked = try home.asked?.time
    state.isAsking = home.isAsking
    return AgentState(lock: stored.lock, home: state)
  }
}
