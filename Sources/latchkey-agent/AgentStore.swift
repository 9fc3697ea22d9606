import Foundation
import HomePolicy
import Logging

/// What the agent keeps.
struct AgentState: Codable, Equatable {
  /// The format's version.
  var version = 1
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

  /// Reads the state; there is none at first. A damaged file is kept aside: without it nothing is unlocked until a link
  /// has been lost and has come back, so nothing is opened by its loss.
  init(directory: String, logger: Logger) throws {
    path = directory + "/agent.json"
    descriptor = open(directory + "/agent.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.error(directory + "/agent.lock") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw AgentStoreError(description: "\(directory) is in use by another agent")
    }
    state = AgentState()
    guard FileManager.default.fileExists(atPath: path) else { return }
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    struct Versioned: Decodable { var version: Int }
    if let version = try? JSONDecoder().decode(Versioned.self, from: data).version, version > 1 {
      throw AgentStoreError(
        description: "\(path) is of version \(version), which this program does not know; it was left as it is")
    }
    if data.count <= Self.maximumByteCount, let read = try? JSONDecoder().decode(AgentState.self, from: data) {
      state = read
      return
    }
    let aside = path + ".damaged"
    guard rename(path, aside) == 0 else { throw Self.error(aside) }
    logger.error("\(path) is damaged: it was moved to \(aside), and the agent starts anew")
  }

  deinit { close(descriptor) }

  /// Replaces the state. On failure the file is as it was, and so is `state`.
  func write(_ new: AgentState) throws {
    guard new != state || !FileManager.default.fileExists(atPath: path) else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let data = try encoder.encode(new)
    let temporary = path + ".new"
    let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw Self.error(temporary) }
    let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
    try handle.write(contentsOf: data)
    try handle.synchronize()
    guard rename(temporary, path) == 0 else { throw Self.error(path) }
    let folder = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if folder >= 0 {
      fsync(folder)
      close(folder)
    }
    state = new
  }

  private static func error(_ path: String) -> AgentStoreError {
    AgentStoreError(description: "\(path): \(String(cString: strerror(errno)))")
  }
}
