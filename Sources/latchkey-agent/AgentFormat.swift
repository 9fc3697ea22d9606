import Foundation
import HomePolicy
import LatchkeyVersion
import TimeTypes

/// The agent's state on disk: JSON, whose member names don't depend on names in the program.
///
/// A change that an older agent may ignore is a new optional member, with a comment that says what a missing value
/// means. Any other change is a new version: increase `version`, and move the reader of the present version into a
/// file of its own, like `AgentFormatOne`. In both cases, add a golden file of the new format to the tests, and keep
/// the existing ones.
enum AgentFormat {
  /// Version 1 is that of 0.1.0's first release and of its successors, which differ in a number within `home`.
  static let version = 2

  enum Problem: Error, Equatable {
    case damaged(String)
    /// - Parameter writer: the version of the agent that wrote it, if known.
    case newer(version: Int, writer: String?)
  }

  private struct Head: Decodable {
    var version: Int
    /// Missing: the file has version 1.
    var writer: String?

    enum CodingKeys: String, CodingKey {
      case version = "version"
      case writer = "writer"
    }
  }

  static func read(_ bytes: Data) throws(Problem) -> AgentState {
    do {
      let head = try JSONDecoder().decode(Head.self, from: bytes)
      switch head.version {
      case 1: return try AgentFormatOne.read(bytes)
      case version: return try JSONDecoder().decode(OnDisk.self, from: bytes).state
      case (version + 1)...: throw Problem.newer(version: head.version, writer: head.writer)
      default: throw Problem.damaged("there was never a version \(head.version)")
      }
    } catch let problem as Problem { throw problem } catch { throw .damaged("\(error)") }
  }

  /// The state as it is written. The same state always has the same bytes.
  static func bytes(_ state: AgentState) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return try encoder.encode(OnDisk(state))
  }

  static func refusal(_ path: String, _ version: Int, _ writer: String?) -> String {
    "\(path) was written by a newer latchkey-agent (\(writer ?? "of unknown version"); format \(version)). This one, "
      + "\(LatchkeyVersion.current), knows formats up to \(self.version). The file was left as it is. Install "
      + "\(writer.map { "latchkey-agent \($0)" } ?? "the newer one"), or move the file away: nothing is opened by its loss."
  }
}

extension AgentFormat {
  private struct OnDisk: Codable {
    var version: Int
    var writer: String
    /// Missing: no lock has proven itself yet.
    var lock: UUID?
    var home: Home
    /// Missing: nothing was seen of the lock's log.
    var log: Log?

    enum CodingKeys: String, CodingKey {
      case version = "version"
      case writer = "writer"
      case lock = "lock"
      case home = "home"
      case log = "log"
    }

    init(_ state: AgentState) {
      version = AgentFormat.version
      writer = LatchkeyVersion.current
      lock = state.lock
      home = Home(state.home)
      log = state.log == SeenLogState() ? nil : Log(state.log)
    }

    var state: AgentState {
      get throws { AgentState(lock: lock, home: try home.state, log: try log?.state ?? SeenLogState()) }
    }
  }

  private struct Home: Codable {
    var isLinked: Bool
    /// Missing, each of these: never, or none.
    var lastHeard: Time?
    var linkLost: Time?
    var approach: Approach?
    var opening: Opening?
    var asked: Time?
    /// Missing, each of these: no.
    var isBeginning: Bool?
    var isAsking: Bool?
    var hasLeft: Bool?
    var hasStayed: Bool?
    var unprovenSince: Time?
    var isBonded: Bool?
    /// Missing: not known.
    var doorSignal: Int8?
    /// Missing: no room was measured.
    var roomSignal: Int8?
    /// Missing: the lock has not turned this phone away.
    var refusal: Refusal?

    enum CodingKeys: String, CodingKey {
      case isLinked = "isLinked"
      case lastHeard = "lastHeard"
      case linkLost = "linkLost"
      case approach = "approach"
      case opening = "opening"
      case asked = "asked"
      case isBeginning = "isBeginning"
      case isAsking = "isAsking"
      case hasLeft = "hasLeft"
      case hasStayed = "hasStayed"
      case unprovenSince = "unprovenSince"
      case isBonded = "isBonded"
      case doorSignal = "doorSignal"
      case roomSignal = "roomSignal"
      case refusal = "refusal"
    }

    init(_ state: HomeState) {
      isLinked = state.isLinked
      lastHeard = state.lastHeard.map { Time($0) }
      linkLost = state.linkLost.map { Time($0) }
      approach = state.approach.map { Approach($0) }
      opening = state.opening.map { Opening($0) }
      asked = state.asked.map { Time($0) }
      isBeginning = state.isBeginning
      isAsking = state.isAsking
      hasLeft = state.hasLeft
      hasStayed = state.hasStayed
      unprovenSince = state.unprovenSince.map { Time($0) }
      isBonded = state.isBonded
      doorSignal = state.doorSignal.map { Int8(clamping: $0) }
      roomSignal = state.roomSignal.map { Int8(clamping: $0) }
      refusal = state.refusal.map { Refusal($0) }
    }

    var state: HomeState {
      get throws {
        var state = HomeState()
        state.isLinked = isLinked
        state.lastHeard = try lastHeard?.time
        state.linkLost = try linkLost?.time
        state.approach = try approach?.approach
        state.opening = try opening?.opening
        state.asked = try asked?.time
        state.isBeginning = isBeginning
        state.isAsking = isAsking
        state.hasLeft = hasLeft
        state.hasStayed = hasStayed
        state.unprovenSince = try unprovenSince?.time
        state.isBonded = isBonded
        state.doorSignal = doorSignal.map(Int.init)
        state.roomSignal = roomSignal.map(Int.init)
        state.refusal = try refusal?.refusal
        return state
      }
    }
  }

  private struct Time: Codable {
    var boot: String
    /// Since that boot.
    var nanoseconds: Int64
    var unixSeconds: Double

    enum CodingKeys: String, CodingKey {
      case boot = "boot"
      case nanoseconds = "nanoseconds"
      case unixSeconds = "unixSeconds"
    }

    init(_ time: HomeTime) {
      boot = time.boot
      nanoseconds = time.instant.nanoseconds
      unixSeconds = time.unixSeconds
    }

    var time: HomeTime {
      get throws {
        try possible(HomeTime(boot: boot, instant: Instant(nanoseconds: nanoseconds), unixSeconds: unixSeconds))
      }
    }
  }

  private struct Approach: Codable {
    var since: Time
    /// In dBm.
    var signal: Int8
    var hasRisen: Bool
    /// Missing: no, or an earlier version wrote this.
    var isProven: Bool?
    /// Missing: it is the first.
    var firstSince: Time?

    enum CodingKeys: String, CodingKey {
      case since = "since"
      case signal = "signal"
      case hasRisen = "hasRisen"
      case isProven = "isProven"
      case firstSince = "firstSince"
    }

    init(_ approach: HomeState.Approach) {
      since = Time(approach.since)
      signal = Int8(clamping: approach.signal)
      hasRisen = approach.hasRisen
      isProven = approach.isProven ? true : nil
      firstSince = approach.firstSince.map { Time($0) }
    }

    var approach: HomeState.Approach {
      get throws {
        HomeState.Approach(
          since: try since.time, signal: Int(signal), hasRisen: hasRisen, isProven: isProven ?? false,
          firstSince: try firstSince?.time)
      }
    }
  }

  private struct Refusal: Codable {
    /// How many links in a row.
    var count: UInt16
    /// When the next link is asked for.
    var retry: Time

    enum CodingKeys: String, CodingKey {
      case count = "count"
      case retry = "retry"
    }

    init(_ refusal: HomeState.Refusal) {
      count = UInt16(clamping: refusal.count)
      retry = Time(refusal.retry)
    }

    var refusal: HomeState.Refusal {
      get throws { HomeState.Refusal(count: Int(count), retry: try retry.time) }
    }
  }

  private struct Opening: Codable {
    var operation: UInt64
    var isWritten: Bool
    var attempts: UInt16
    var because: Reason
    var since: Time

    enum CodingKeys: String, CodingKey {
      case operation = "operation"
      case isWritten = "isWritten"
      case attempts = "attempts"
      case because = "because"
      case since = "since"
    }

    init(_ opening: HomeState.Opening) {
      operation = opening.operation
      isWritten = opening.isWritten
      attempts = UInt16(clamping: opening.attempts)
      because = Reason(opening.because)
      since = Time(opening.since)
    }

    var opening: HomeState.Opening {
      get throws {
        HomeState.Opening(
          operation: operation, isWritten: isWritten, attempts: Int(attempts), because: because.reason,
          since: try since.time)
      }
    }
  }

  private enum Reason: String, Codable {
    case approach = "approach"
    case word = "word"

    init(_ reason: OpeningReason) {
      switch reason {
      case .approach: self = .approach
      case .word: self = .word
      }
    }

    var reason: OpeningReason {
      switch self {
      case .approach: .approach
      case .word: .word
      }
    }
  }

  /// - Throws: `Problem` if no clock can show this time.
  static func possible(_ time: HomeTime) throws -> HomeTime {
    guard time.isPossible else { throw Problem.damaged("no clock shows the time \(time)") }
    return time
  }
}
