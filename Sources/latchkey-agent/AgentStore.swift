import DurableFiles
import Foundation
import HomePolicy
import Logging

/// What the agent stores. `AgentFormat` defines its form on disk.
struct AgentState: Equatable {
  /// The lock, as the system identifies it, once it has proven to be the one that the keys belong to.
  var lock: UUID?
  var home = HomeState()
  var log = SeenLogState()
}

/// Why the agent's state can't be used.
struct AgentStoreError: Error, CustomStringConvertible {
  let description: String
}

/// The agent's state in one file, which is replaced as a whole, and is durable before `write` returns.
final class AgentStore {
  private(set) var state: AgentState
  /// Something of the state is in memory alone.
  private var isNoted = false
  private let path: String
  private let descriptor: Int32
  private static let maximumByteCount = 64 * 1024
  /// More than a state needs, including its folder entry.
  private var reserve: DiskReserve { DiskReserve(path: path + ".reserve", byteCount: 16 * 1024) }
  /// Records that a state was stored here. If the state is missing, it was lost.
  private var markerPath: String { path + ".made" }

  /// Reads the state, which is empty at first. A damaged file is kept aside, and a missing one is reported. Without a
  /// state, nothing is unlocked until a link has been lost and has come back, so its loss opens nothing.
  init(directory: String, logger: Logger) throws {
    path = directory + "/agent.json"
    descriptor = open(directory + "/agent.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.error(directory + "/agent.lock") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw AgentStoreError(description: "\(directory) is in use by another agent")
    }
    state = AgentState()
    guard FileManager.default.fileExists(atPath: path) else {
      if FileManager.default.fileExists(atPath: path + ".made") {
        logger.error(
          "\(path) is missing, but \(path).made shows that it was stored: the agent starts without it, and opens for nothing that began before"
        )
      }
      return
    }
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    var problem = "it is longer than a state can be"
    if data.count <= Self.maximumByteCount {
      do {
        state = try AgentFormat.read(data)
        mark(logger)
        return
      } catch .newer(let version, let writer) {
        throw AgentStoreError(description: AgentFormat.refusal(path, version, writer))
      } catch .damaged(let reason) { problem = reason }
    }
    let aside = path + ".damaged"
    guard rename(path, aside) == 0 else { throw Self.error(aside) }
    mark(logger)
    logger.error("\(path) is damaged (\(problem)): it was moved to \(aside), and the agent starts with an empty state")
  }

  /// Unlocks explicitly: a child that is just being started also has the descriptor until it runs its program, and
  /// would keep the lock.
  deinit {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Replaces the state. On failure, both the file and `state` stay as they were.
  func write(_ new: AgentState) throws {
    guard new != state || !FileManager.default.fileExists(atPath: path) else { return }
    try replace(new)
  }

  private func replace(_ new: AgentState) throws {
    let data = try AgentFormat.bytes(new)
    do throws(DurableFileError) {
      let path = path
      // A full disk must not keep the door shut.
      try reserve.use { () throws(DurableFileError) in
        try DurableFile.replace(path, with: Array(data))
      } whereFull: {
        $0.isOfFullDisk
      }
    } catch { throw AgentStoreError(description: "\(error)") }
    reserve.take()
    mark(nil)
    state = new
    isNoted = false
  }

  /// Changes the state in memory alone. It is stored with the next change that is written.
  func note(_ change: (inout AgentState) -> Void) {
    let before = state
    change(&state)
    if state != before { isNoted = true }
  }

  /// Stores what was noted, unless a later write has stored it already.
  func writeNoted() throws { if isNoted { try replace(state) } }

  /// Writes the marker: from now on the loss of the state is noticed. The state is valid without the marker, too.
  private func mark(_ logger: Logger?) {
    guard !FileManager.default.fileExists(atPath: markerPath) else { return }
    do {
      try DurableFile.replace(markerPath, with: Array("The agent's state was stored beside this file.\n".utf8))
    } catch { logger?.warning("the loss of \(path) would not be noticed: \(error)") }
  }

  private static func error(_ path: String) -> AgentStoreError {
    AgentStoreError(description: "\(path): \(String(cString: strerror(errno)))")
  }
}
