import DurableFiles
import Foundation
import HomePolicy
import Logging

/// What the agent keeps. `AgentFormat` says how it is on disk.
struct AgentState: Equatable {
  /// The lock, as the system names it, once it has proven to be the one that the keys are for.
  var lock: UUID?
  var home = HomeState()
}

/// Why the agent's state can't be used.
struct AgentStoreError: Error, CustomStringConvertible {
  let description: String
}

/// The agent's state in one file, replaced whole, durable before `write` returns.
final class AgentStore {
  private(set) var state: AgentState
  private let path: String
  private let descriptor: Int32
  private static let maximumByteCount = 64 * 1024
  /// More than a state takes, with its folder's entry.
  private var reserve: DiskReserve { DiskReserve(path: path + ".reserve", byteCount: 16 * 1024) }
  /// Says that a state was stored here: if it is missing, it was lost.
  private var markerPath: String { path + ".made" }

  /// Reads the state; there is none at first. A damaged file is kept aside, and one that is missing is told of: without
  /// it nothing is unlocked until a link has been lost and has come back, so nothing is opened by its loss.
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
          "\(path) is missing, and \(path).made tells that it was stored: the agent starts anew, and opens nothing for what was before"
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
    logger.error("\(path) is damaged (\(problem)): it was moved to \(aside), and the agent starts anew")
  }

  /// A child that is being started at this moment has the descriptor too until it runs its program, and would keep the lock.
  deinit {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Replaces the state. On failure the file is as it was, and so is `state`.
  func write(_ new: AgentState) throws {
    guard new != state || !FileManager.default.fileExists(atPath: path) else { return }
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
  }

  /// From now on a loss is noticed. What was stored counts without it, too.
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
