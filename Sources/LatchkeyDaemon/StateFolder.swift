import DurableFiles
import Foundation
import Glibc

/// latchkeyd's folder: private, and one latchkeyd's at a time.
public final class StateFolder: Sendable {
  public let path: String
  /// Which machine this is, and where: a folder copied from elsewhere is no state of this machine.
  public let home: String
  private let lock: Int32

  /// Takes the folder, made where it is missing.
  /// - Parameter machine: the machine's name; `nil` for /etc/machine-id.
  /// - Throws: `DaemonError` where it is not this user's, or another latchkeyd has it.
  public init(path: String, machine: String?) throws(DaemonError) {
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
    // For people. Where the disk is full it stays out, and latchkeyd serves what is there.
    let number = Array("\(getpid())\n".utf8)
    if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, number, number.count, 0) }
    self.path = path
    lock = descriptor
    let name = machine ?? (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)) ?? "unknown"
    home = name.trimmingCharacters(in: .whitespacesAndNewlines) + ":" + (Self.resolved(path) ?? path)
  }

  /// A child that is being started at this moment has the descriptor too until it runs its program, and would keep the lock.
  deinit {
    flock(lock, LOCK_UN)
    close(lock)
  }

  public var storePath: String { path + "/state.sqlite" }
  /// A new store, until it is whole.
  var newStorePath: String { storePath + ".new" }
  /// Says that a store was made here: if it is missing, it was lost.
  var markerPath: String { path + "/state.made" }
  /// Says, with the name that the old store is to have, that a person wants to begin anew.
  var setAsidePath: String { path + "/state.set-aside" }
  /// What SQLite keeps beside a database.
  static let companions = ["-wal", "-shm", "-journal"]

  /// What tells of an earlier life of latchkeyd in this folder; none of it is there before the first store was whole.
  var tracesOfEarlierLife: [String] {
    var traces = Self.companions.map { storePath + $0 } + [markerPath]
    for folder in ["apps", "logs"] {
      let content = (try? FileManager.default.contentsOfDirectory(atPath: path + "/" + folder)) ?? []
      traces += content.sorted().prefix(1).map { "\(path)/\(folder)/\($0)" }
    }
    return traces.filter { Self.exists($0) }
  }

  /// An app's own folder.
  public func appFolder(_ bundleIdentifier: String) throws(DaemonError) -> String {
    try Self.makePrivate(path + "/apps")
    let folder = path + "/apps/" + bundleIdentifier
    try Self.makePrivate(folder)
    return folder
  }

  public func logPath(_ bundleIdentifier: String) throws(DaemonError) -> String {
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
