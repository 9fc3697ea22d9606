import DurableFiles
import Foundation
import Glibc

/// How a store is created, and how it is set aside. Each is done in steps, so that a power cut between any two leaves
/// a folder from which the next start can continue.
///
/// A new store is completed under another name and then gets its own; then the marker is written. So a store without
/// a marker is complete, and a marker without a store means a loss. If a person wants to start afresh in spite of
/// that, a separate file says so until the new store exists.
struct StoreBeginning {
  /// The step just done, for tests that cut the power.
  enum Step: Sendable, Hashable, CaseIterable {
    case wishWritten, companionMoved, storeMoved
    case storeBuilt, storeNamed, markerWritten, wishRemoved
  }

  let folder: StateFolder
  var after: (Step) throws -> Void = { _ in }

  /// Makes sure that there is a complete store in its place.
  /// - Parameter build: creates a store at this path, complete and durable.
  /// - Throws: `DaemonError` if a store was lost, or what is there is not a store. Nothing is changed then.
  func prepare(build: (String) throws -> Void) throws {
    let wish = try wishedName()
    if let wish { try move(to: wish) }
    if StateFolder.exists(folder.storePath) {
      try refuseWhatIsNoDatabase()
    } else {
      if wish == nil, let trace = folder.tracesOfEarlierLife.first { throw lost(trace) }
      try removeUnfinished()
      try build(folder.newStorePath)
      try DurableFile.sync(folder.newStorePath)
      try after(.storeBuilt)
      try DurableFile.rename(folder.newStorePath, to: folder.storePath)
      try after(.storeNamed)
    }
  }

  /// The store in its place was inspected and is good. From now on its loss would be noticed.
  ///
  /// The marker can wait until the disk has room for it, so that what is stored is served. The wish to start afresh
  /// can't wait: it would set aside what is promised from now on.
  func finish() throws {
    do {
      try mark()
    } catch let error as DurableFileError where [ENOSPC, EDQUOT].contains(error.number) {
      guard !StateFolder.exists(folder.setAsidePath) else { throw error }
    }
    if StateFolder.exists(folder.setAsidePath) {
      try DurableFile.remove(folder.setAsidePath)
      try after(.wishRemoved)
    }
  }

  private func mark() throws {
    if !StateFolder.exists(folder.markerPath) {
      try DurableFile.replace(
        folder.markerPath,
        with: Array("latchkeyd made its store here. Without the store, this file tells of a loss.\n".utf8))
      try after(.markerWritten)
    }
  }

  /// Sets the store aside at a person's request. The next start begins afresh.
  /// - Returns: where the store went, or `nil` if there was none.
  func setAside(at unixSeconds: Double) throws -> String? {
    let name = try wishedName() ?? unusedName(at: unixSeconds)
    let hadStore = StateFolder.exists(folder.storePath)
    try DurableFile.replace(folder.setAsidePath, with: Array((name + "\n").utf8))
    try after(.wishWritten)
    try move(to: name)
    return hadStore ? folder.path + "/" + name : nil
  }

  private static let namePrefix = "state.sqlite.aside-"

  private func unusedName(at unixSeconds: Double) -> String {
    let base = Self.namePrefix + "\(Int64(exactly: unixSeconds.rounded(.down)) ?? 0)"
    var name = base
    var number = 2
    while StateFolder.exists(folder.path + "/" + name) {
      name = base + "-\(number)"
      number += 1
    }
    return name
  }

  /// The name in the person's wish, or `nil` if there is no wish.
  private func wishedName() throws -> String? {
    guard StateFolder.exists(folder.setAsidePath) else { return nil }
    let text = (try? String(contentsOfFile: folder.setAsidePath, encoding: .utf8)) ?? ""
    let name = text.trimmingCharacters(in: .whitespacesAndNewlines)
    guard name.hasPrefix(Self.namePrefix), name.utf8.count < 100, !name.contains("/") else {
      throw DaemonError(
        "\(folder.setAsidePath) is damaged, so the place for the old state is unknown. Nothing was changed. "
          + "Remove that file, and run latchkeyd --state \(folder.path) --set-aside again.", needsPerson: true)
    }
    return name
  }

  /// Files that have already been moved stay. Once the old store has been moved, the one in its place is the new
  /// store.
  private func move(to name: String) throws {
    let target = folder.path + "/" + name
    guard !StateFolder.exists(target) else { return }
    for suffix in StateFolder.companions where StateFolder.exists(folder.storePath + suffix) {
      try DurableFile.rename(folder.storePath + suffix, to: target + suffix)
      try after(.companionMoved)
    }
    if StateFolder.exists(folder.storePath) {
      try DurableFile.rename(folder.storePath, to: target)
      try after(.storeMoved)
    }
  }

  private func removeUnfinished() throws {
    for suffix in StateFolder.companions + [""] where StateFolder.exists(folder.newStorePath + suffix) {
      try DurableFile.remove(folder.newStorePath + suffix)
    }
  }

  /// SQLite would take a file that is empty or has only a few bytes for a new database.
  private func refuseWhatIsNoDatabase() throws {
    let path = folder.storePath
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      let number = errno
      throw DaemonError(
        "\(path) can't be read (\(String(cString: strerror(number)))). Nothing was changed.", needsPerson: true)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw DaemonError("\(path) is not a file. Nothing was changed.", needsPerson: true)
    }
    var header = [UInt8](repeating: 0, count: 100)
    let length = read(descriptor, &header, header.count)
    if status.st_size == 0 {
      throw damaged("\(path) is empty, as a file may be after a power cut or a repair of the disk.")
    }
    guard length == header.count, header.starts(with: Array("SQLite format 3\0".utf8)) else {
      throw damaged("\(path) is damaged: it does not begin as a database does.")
    }
  }

  private func lost(_ trace: String) -> DaemonError {
    damaged("\(folder.storePath) is missing, and \(trace) tells that latchkeyd has lived here before.")
  }

  /// What to do, and that nothing was changed.
  func damaged(_ problem: String) -> DaemonError {
    DaemonError(
      "\(problem) Nothing was changed. Restore the state from a backup, or set it aside and start with an empty state: "
        + "latchkeyd --state \(folder.path) --set-aside; apps then lose what they asked for.", needsPerson: true)
  }
}

extension StateFolder {
  /// Sets the store aside at a person's request: the next start begins afresh.
  /// - Returns: where it went, or `nil` if there was none.
  package func setStoreAside(at unixSeconds: Double) throws(DaemonError) -> String? {
    do { return try StoreBeginning(folder: self).setAside(at: unixSeconds) } catch let error as DaemonError {
      throw error
    } catch { throw DaemonError("The state can't be set aside: \(error).") }
  }
}
