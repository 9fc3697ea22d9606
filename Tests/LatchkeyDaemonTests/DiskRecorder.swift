import Foundation
import GRDBSQLite
import Synchronization

/// What SQLite does to the files of one folder, in order. SQLite works as usual, and each step is recorded.
///
/// From that, a test can construct what a disk contains after a power cut between any two steps: what was synced is
/// there; of what was written since, any part may be.
final class DiskRecorder: Sendable {
  enum Step {
    case write(String, offset: Int, bytes: [UInt8])
    case truncate(String, size: Int)
    case sync(String)
    case delete(String)
    /// Added by the test: this many changes were answered.
    case answered(Int)
  }

  private struct State {
    var folder: String?
    var steps: [Step] = []
  }

  private let state = Mutex(State())
  static let shared = DiskRecorder()

  private init() { RecordingFileSystem.register() }

  /// Starts recording, with the files in this folder.
  func begin(_ folder: String) { state.withLock { $0 = State(folder: folder) } }

  /// - Returns: what was recorded since `begin`.
  func end() -> [Step] {
    state.withLock { state in
      defer { state = State() }
      return state.steps
    }
  }

  func note(_ step: Step) { state.withLock { if $0.folder != nil { $0.steps.append(step) } } }

  fileprivate func note(_ path: String, _ step: (String) -> Step) {
    state.withLock { state in
      guard let folder = state.folder, path.hasPrefix(folder + "/") else { return }
      state.steps.append(step(String(path.dropFirst(folder.count + 1))))
    }
  }
}

/// The files of a folder on a disk that loses whatever was not synced.
struct DiskImage {
  private struct File {
    var synced: [UInt8]
    var unsynced: [DiskRecorder.Step] = []
  }
  private var files: [String: File] = [:]

  /// Everything in a folder at this moment, as synced.
  init(_ folder: String) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      files[name] = File(synced: [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))))
    }
  }

  mutating func apply(_ step: DiskRecorder.Step) {
    switch step {
    case .write(let name, _, _), .truncate(let name, _): files[name, default: File(synced: [])].unsynced.append(step)
    case .sync(let name):
      guard var file = files[name] else { return }
      file.synced = Self.content(file.synced, file.unsynced)
      file.unsynced = []
      files[name] = file
    case .delete(let name): files[name] = nil
    case .answered: break
    }
  }

  /// Replaces a folder's files with these.
  /// - Parameter survives: whether a step that was not synced has reached the disk.
  func write(to folder: String, survives: () -> Bool) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      try FileManager.default.removeItem(atPath: folder + "/" + name)
    }
    for (name, file) in files where !name.hasSuffix("-shm") {
      let bytes = Self.content(file.synced, file.unsynced.filter { _ in survives() })
      try Data(bytes).write(to: URL(fileURLWithPath: folder + "/" + name))
    }
  }

  private static func content(_ start: [UInt8], _ steps: [DiskRecorder.Step]) -> [UInt8] {
    var content = start
    for step in steps {
      switch step {
      case .write(_, let offset, let bytes):
        let end = offset + bytes.count
        if content.count < end { content += [UInt8](repeating: 0, count: end - content.count) }
        content.replaceSubrange(offset..<end, with: bytes)
      case .truncate(_, let size): content = Array(content.prefix(size))
      default: break
      }
    }
    return content
  }
}

/// An SQLite virtual file system that passes everything on to the default one.
private enum RecordingFileSystem {
  /// What SQLite has allocated for a file: our part, followed by the real one.
  private struct File {
    var base: sqlite3_file
    var path: Unmanaged<NSString>?
  }

  private static let headByteCount = (MemoryLayout<File>.stride + 15) / 16 * 16
  // Written once, in `register`, before any file is opened.
  private nonisolated(unsafe) static var real: UnsafeMutablePointer<sqlite3_vfs>!
  private nonisolated(unsafe) static let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)

  private static func inner(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<sqlite3_file> {
    // SQLite always passes the file that it opened, never null.
    (UnsafeMutableRawPointer(file!) + headByteCount).assumingMemoryBound(to: sqlite3_file.self)
  }

  private static func path(_ file: UnsafeMutablePointer<sqlite3_file>?) -> String {
    let head = UnsafeMutableRawPointer(file!).assumingMemoryBound(to: File.self)
    return head.pointee.path.map { $0.takeUnretainedValue() as String } ?? ""
  }

  private static func methods(of file: UnsafeMutablePointer<sqlite3_file>?) -> sqlite3_io_methods {
    inner(file).pointee.pMethods!.pointee
  }

  static func register() {
    real = sqlite3_vfs_find(nil)
    makeMethods()
    let ours = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    ours.initialize(to: real.pointee)
    ours.pointee.pNext = nil
    ours.pointee.zName = UnsafePointer(strdup("recorder"))
    ours.pointee.szOsFile += Int32(headByteCount)
    ours.pointee.xOpen = { _, name, file, flags, outFlags in
      let head = UnsafeMutableRawPointer(file!).assumingMemoryBound(to: File.self)
      head.initialize(to: File(base: sqlite3_file(pMethods: nil), path: nil))
      let result = RecordingFileSystem.real.pointee.xOpen(
        RecordingFileSystem.real, name, RecordingFileSystem.inner(file), flags, outFlags)
      guard result == SQLITE_OK else { return result }
      head.pointee.base.pMethods = UnsafePointer(RecordingFileSystem.methods)
      head.pointee.path = name.map { Unmanaged.passRetained(String(cString: $0) as NSString) }
      return result
    }
    ours.pointee.xDelete = { _, name, syncFolder in
      let result = RecordingFileSystem.real.pointee.xDelete(RecordingFileSystem.real, name, syncFolder)
      if result == SQLITE_OK, let name { DiskRecorder.shared.note(String(cString: name)) { .delete($0) } }
      return result
    }
    sqlite3_vfs_register(ours, 1)
  }

  private static func makeMethods() {
    methods.initialize(to: sqlite3_io_methods())
    methods.pointee.iVersion = 2
    methods.pointee.xClose = { file in
      let result = RecordingFileSystem.methods(of: file).xClose(RecordingFileSystem.inner(file))
      UnsafeMutableRawPointer(file!).assumingMemoryBound(to: File.self).pointee.path?.release()
      return result
    }
    methods.pointee.xRead = { RecordingFileSystem.methods(of: $0).xRead(RecordingFileSystem.inner($0), $1, $2, $3) }
    methods.pointee.xWrite = { file, bytes, count, offset in
      let result = RecordingFileSystem.methods(of: file).xWrite(RecordingFileSystem.inner(file), bytes, count, offset)
      if result == SQLITE_OK {
        let copy = [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        DiskRecorder.shared.note(RecordingFileSystem.path(file)) { .write($0, offset: Int(offset), bytes: copy) }
      }
      return result
    }
    methods.pointee.xTruncate = { file, size in
      DiskRecorder.shared.note(RecordingFileSystem.path(file)) { .truncate($0, size: Int(size)) }
      return RecordingFileSystem.methods(of: file).xTruncate(RecordingFileSystem.inner(file), size)
    }
    methods.pointee.xSync = { file, flags in
      let result = RecordingFileSystem.methods(of: file).xSync(RecordingFileSystem.inner(file), flags)
      if result == SQLITE_OK { DiskRecorder.shared.note(RecordingFileSystem.path(file)) { .sync($0) } }
      return result
    }
    methods.pointee.xFileSize = { RecordingFileSystem.methods(of: $0).xFileSize(RecordingFileSystem.inner($0), $1) }
    methods.pointee.xLock = { RecordingFileSystem.methods(of: $0).xLock(RecordingFileSystem.inner($0), $1) }
    methods.pointee.xUnlock = { RecordingFileSystem.methods(of: $0).xUnlock(RecordingFileSystem.inner($0), $1) }
    methods.pointee.xCheckReservedLock = {
      RecordingFileSystem.methods(of: $0).xCheckReservedLock(RecordingFileSystem.inner($0), $1)
    }
    methods.pointee.xFileControl = {
      RecordingFileSystem.methods(of: $0).xFileControl(RecordingFileSystem.inner($0), $1, $2)
    }
    methods.pointee.xSectorSize = { RecordingFileSystem.methods(of: $0).xSectorSize(RecordingFileSystem.inner($0)) }
    methods.pointee.xDeviceCharacteristics = {
      RecordingFileSystem.methods(of: $0).xDeviceCharacteristics(RecordingFileSystem.inner($0))
    }
    methods.pointee.xShmMap = {
      RecordingFileSystem.methods(of: $0).xShmMap(RecordingFileSystem.inner($0), $1, $2, $3, $4)
    }
    methods.pointee.xShmLock = {
      RecordingFileSystem.methods(of: $0).xShmLock(RecordingFileSystem.inner($0), $1, $2, $3)
    }
    methods.pointee.xShmBarrier = { RecordingFileSystem.methods(of: $0).xShmBarrier(RecordingFileSystem.inner($0)) }
    methods.pointee.xShmUnmap = { RecordingFileSystem.methods(of: $0).xShmUnmap(RecordingFileSystem.inner($0), $1) }
  }
}
