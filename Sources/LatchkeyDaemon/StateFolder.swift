import DurableFiles
import Foundation
import Glibc

/// latchkeyd's folder. It is private, and only one latchkeyd can use it at a time.
package final class StateFolder: Sendable {
  package let path: String
  /// Identifies the machine and the folder's place. A folder copied from elsewhere is not this machine's state.
  package let home: String
  private let lock: Int32

  /// Takes the folder, creating it if it is missing.
  /// - Parameter machine: the machine's name, or `nil` for /etc/machine-id.
  /// - Throws: `DaemonError` if the folder belongs to another user, or another latchkeyd is using it.
  package init(path: String, machine: String?) throws(DaemonError) {
    let path = URL(fileURLWithPath: path).standardizedFileURL.path
    try Self.makePrivate(path)
    let lockPath = path + "/latchkeyd.lock"
    let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      throw DaemonError(
        "\(lockPath) can't be opened (\(Self.reason())); give latchkeyd a state folder of its own.",
        needsPerson: errno != ENOSPC)
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      var holder = [UInt8](repeating: 0, count: 32)
      let length = read(descriptor, &holder, holder.count)
      close(descriptor)
      let text = String(decoding: holder.prefix(max(length, 0)), as: UTF8.self)
      let number = text.trimmingCharacters(in: .whitespacesAndNewlines)
      throw DaemonError(
        "The state folder \(path) belongs to a latchkeyd that runs\(number.isEmpty ? "" : " as process \(number)"); "
          + "end that one, or start this one with another --state.")
    }
    // For people. If the disk is full it is omitted, and latchkeyd serves what is stored.
    let number = Array("\(getpid())\n".utf8)
    if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, number, number.count, 0) }
    self.path = path
    lock = descriptor
    let name = machine ?? (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)) ?? "unknown"
    home = name.trimmingCharacters(in: .whitespacesAndNewlines) + ":" + (Self.resolved(path) ?? path)
  }

  /// Unlocks explicitly: a child that is just being started also has the descriptor until it runs its program, and
  /// would keep the lock.
  deinit {
    flock(lock, LOCK_UN)
    close(lock)
  }

  package var storePath: String { path + "/state.sqlite" }
  /// A new store, until it is complete.
  var newStorePath: String { storePath + ".new" }
  /// Records that a store was created here. If the store is missing, it was lost.
  var markerPath: String { path + "/state.made" }
  /// Records that a person wants to start afresh, and the name that the old store is to get.
  var setAsidePath: String { path + "/state.set-aside" }
  /// Files that SQLite keeps beside a database.
  static let companions = ["-wal", "-shm", "-journal"]

  /// Signs of an earlier run of latchkeyd in this folder. None of them exists before the first store is complete.
  var tracesOfEarlierLife: [String] {
    var traces = Self.companions.map { storePath + $0 } + [markerPath]
    for folder in ["apps", "logs"] {
      let content = (try? FileManager.default.contentsOfDirectory(atPath: path + "/" + folder)) ?? []
      traces += content.sorted().prefix(1).map { "\(path)/\(folder)/\($0)" }
    }
    return traces.filter { Self.exists($0) }
  }

  /// An app's own folder.
  package func appFolder(_ bundleIdentifier: String) throws(DaemonError) -> String {
    try Self.makePrivate(path + "/apps")
    let folder = path + "/apps/" + bundleIdentifier
    try Self.makePrivate(folder)
    return folder
  }

  package func logPath(_ bundleIdentifier: String) throws(DaemonError) -> String {
    try Self.makePrivate(path + "/logs")
    return path + "/logs/" + bundleIdentifier + ".log"
  }

  static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  private static func makePrivate(_ path: String) throws(DaemonError) {
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      let reason = reason()
      guard
        (try? FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])) != nil
      else { throw DaemonError("The folder \(path) can't be made (\(reason)).") }
    }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw DaemonError("\(path) is not a folder; name another with --state.", needsPerson: true)
    }
    guard status.st_uid == geteuid() else {
      throw DaemonError(
        "The folder \(path) belongs to user \(status.st_uid), and this is user \(geteuid()); name another with "
          + "--state.", needsPerson: true)
    }
    if status.st_mode & 0o077 != 0, chmod(path, 0o700) != 0 {
      throw DaemonError(
        "The folder \(path) is open to others and can't be made private (\(reason())).", needsPerson: true)
    }
  }

  private static func resolved(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  private static func reason() -> String { String(cString: strerror(errno)) }
}
