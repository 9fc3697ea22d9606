import Foundation
import Glibc

/// The files of one run. Only their owner can read them, and they are removed after the run unless they are to be
/// kept.
package struct RunFolder: Sendable {
  /// Identifies this world's processes and folders.
  package let world: String
  /// A path short enough for a socket's address. Always removed at the end.
  package let sockets: String
  /// State, journal and logs.
  package let files: String
  package let isKept: Bool

  static let ownerFile = "world"
  /// The room in sockaddr_un, minus the longest name that is appended.
  static let maximumSocketFolderLength = 60

  /// - Parameter keep: where the files stay after the run. It must not exist, or must be empty.
  package init(keep: String?) throws {
    let given = ProcessInfo.processInfo.environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
    // Made absolute, because processes of the world have other working directories.
    let base = URL(fileURLWithPath: given).standardizedFileURL.path
    var template = Array("\(base)/latchkey-XXXXXX".utf8CString)
    guard template.count <= Self.maximumSocketFolderLength else {
      throw WorldError("TMPDIR is too long for the addresses of sockets: \(base). Set it to a shorter folder")
    }
    // mkdtemp makes it 0700.
    guard mkdtemp(&template) != nil else { throw WorldError.system("a folder in \(base) can't be made", errno) }
    sockets = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    world = "\(getpid())-\(sockets.suffix(6))-\(UInt32.random(in: .min ... .max))"
    try Self.claim(sockets, for: world)
    isKept = keep != nil
    guard let keep else {
      files = sockets
      return
    }
    let path = URL(fileURLWithPath: keep).standardizedFileURL.path
    do {
      try Self.makeOne(path)
      let inside = try FileManager.default.contentsOfDirectory(atPath: path)
      guard !inside.contains(Self.ownerFile) else {
        throw WorldError("\(path) belongs to another run: name a folder that is new or empty")
      }
      guard inside.isEmpty else {
        throw WorldError("\(path) is not empty: a run keeps its files in a folder of its own")
      }
      try Self.claim(path, for: world)
    } catch {
      try? Self.remove(sockets, world: world)
      throw error
    }
    files = path
  }

  /// Creates a folder that only its owner can enter, and its parent folders as needed.
  static func make(_ path: String) throws {
    let folders = FileManager.default
    var isFolder: ObjCBool = false
    if folders.fileExists(atPath: path, isDirectory: &isFolder) {
      guard isFolder.boolValue else { throw WorldError("\(path) is not a folder") }
      return
    }
    do {
      try folders.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw WorldError("\(path) can't be made: \(error.localizedDescription)")
    }
  }

  /// Creates a folder in an existing one, or uses the one that is there.
  private static func makeOne(_ path: String) throws {
    guard mkdir(path, 0o700) != 0 else { return }
    guard errno == EEXIST else { throw WorldError.system("\(path) can't be made", errno) }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw WorldError("\(path) is not a folder")
    }
  }

  /// The least that a run of two machines writes.
  static let leastSpace: UInt64 = 256 * 1024

  /// - Throws: `WorldError` if there is no room for the run's files.
  func requireSpace() throws {
    if let shortage = shortage(below: Self.leastSpace) { throw WorldError(shortage) }
  }

  /// Says that a disk with this run's files is full. Other failures then have no visible cause.
  package func shortage(below limit: UInt64 = 16 * 1024) -> String? {
    for folder in Set([sockets, files]).sorted() {
      var status = statvfs()
      guard statvfs(folder, &status) == 0 else { continue }
      let free = UInt64(status.f_bavail) * UInt64(status.f_frsize)
      if free < limit {
        let way = folder == sockets ? "set TMPDIR to a folder on another" : "keep them elsewhere"
        return "no space left on the disk of \(folder) (\(free / 1024) KiB free): make room, or \(way)"
      }
    }
    return nil
  }

  /// Two runs can't have the same folder, because only one of them can create this file.
  private static func claim(_ folder: String, for world: String) throws {
    let file = open("\(folder)/\(ownerFile)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw errno == EEXIST
        ? WorldError("\(folder) belongs to another run") : WorldError.system("\(folder)/\(ownerFile)", errno)
    }
    defer { close(file) }
    guard write(file, world, world.utf8.count) == world.utf8.count else {
      throw WorldError.system("\(folder)/\(ownerFile)", errno)
    }
  }

  /// Removes a folder if it belongs to this world.
  package static func remove(_ folder: String, world: String) throws {
    guard FileManager.default.fileExists(atPath: folder) else { return }
    guard let owner = try? String(contentsOfFile: "\(folder)/\(ownerFile)", encoding: .utf8), owner == world else {
      throw WorldError("\(folder) is not this world's folder and stays")
    }
    try FileManager.default.removeItem(atPath: folder)
  }

  var journal: String { "\(files)/journal.jsonl" }
  var clock: String { "\(sockets)/clock" }
  package func folder(of machine: String) -> String { "\(files)/\(machine)" }
  package func busSocket(of machine: String) -> String { "\(sockets)/bus-\(machine)" }
}
