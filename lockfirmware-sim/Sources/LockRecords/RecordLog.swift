import DurableFiles
import Foundation
import LockFirmware
import LockProtocol
import Logging

/// The lock's log on disk: records of one length, each with a check sum, each durable before `append` returns, with
/// the number of the last one in a separate file (`RecordCount`).
///
/// A power cut during an append leaves a partial record at the end. Nothing depends on it, because it was never
/// reported as durable: it is moved aside, and the log continues before it. Damage elsewhere is refused, and so is a
/// log that is shorter than it was.
///
/// A log that has grown long is set aside, and a new file begins with the newest records. So a start reads one file,
/// however old the lock is.
package final class RecordLog {
  /// The newest records, oldest first; enough for the firmware to restore its state.
  package private(set) var latest: [LockRecord]
  /// The records that the firmware needs besides these.
  package private(set) var landmarks: LockLandmarks
  /// How many records the lock has ever made.
  package var recordCount: UInt64 { latest.last?.index ?? 0 }
  let path: String
  /// The hash chain over the present file, and where those of all files begin.
  private(set) var chain: RecordChain
  private(set) var beginnings: ChainBeginnings
  /// The chains of files that were set aside, by the index of their last record. They are known from when the file was
  /// written, or are computed when a phone reads that far back.
  var olderChains: [UInt64: RecordChain] = [:]
  private let logger: Logger
  private let lock: LogLock
  private let limit: Int
  private var descriptor: Int32
  private var length: off_t
  private var countInFile: Int
  private var count: RecordCount
  /// There may be a partial record after `length`.
  private var hasTornEnd = false

  /// The most records of one file: some ten years of a busy door, 4.5 MB, read in well under a second.
  package static let recordsPerFile = 65_536
  /// Room for four thousand records: months with a full disk.
  private var reserve: DiskReserve { DiskReserve(path: path + ".reserve", byteCount: 280_000) }
  /// How many files are kept besides the current one. With 16 times `recordsPerFile` a lock keeps a million records,
  /// 71 MB.
  static let olderFileLimit = 15
  /// The most that a start reads. Earlier versions let a log grow this far.
  static let maximumByteCount = 1 << 30

  /// Opens or creates the log.
  /// - Parameter limit: how many records a file has at most.
  /// - Throws: `RecordLogError` if it is damaged, lost or truncated. Nothing is changed then.
  package init(path: String, limit: Int = recordsPerFile, logger: Logger) throws {
    self.path = path
    self.logger = logger
    self.limit = limit
    lock = try LogLock(path)
    let stored = try RecordCount.read(Self.countPath(path))
    if try Self.byteCount(path) < RecordLogFormat.header.count {
      try Self.begin(path, stored)
    }
    let opened = try Self.open(path)
    let bytes: [UInt8]
    let content: RecordLogFormat.Content
    do {
      bytes = try Self.readAll(opened, path)
      content = RecordLogFormat.read(bytes, path: path)
      if let problem = content.problem { throw problem }
      if let stored, content.last < stored.last {
        throw RecordLogError.shortened(path: path, found: content.last, stored: stored.last)
      }
      count = try stored ?? RecordCount.make(Self.countPath(path), last: content.last)
    } catch {
      close(opened)
      throw error
    }
    let read = ChainBeginnings.read(Self.chainPath(path))
    beginnings = read.beginnings
    let before = (RecordLogFormat.record(at: 0, in: bytes)?.index ?? 1) - 1
    let known = before == 0 ? .empty : read.beginnings.beginning(after: before)
    chain = RecordChain(base: known ?? LogHead(index: before, hash: LogHead.empty.hash))
    for number in 0..<content.recordCount { chain.append(RecordLogFormat.encoded(at: number, in: bytes)) }
    // From here on `deinit` closes it, even if this throws.
    descriptor = opened
    latest = content.latest
    landmarks = content.landmarks
    countInFile = content.recordCount
    length = off_t(content.validByteCount)
    if content.validByteCount < bytes.count { try keepAside(Array(bytes[content.validByteCount...])) }
    if count.last < recordCount { try count.write(recordCount) }
    if read.isDamaged {
      logger.error(
        "\(beginnings.path) is damaged: phones will report that the log does not continue what they have seen")
    }
    try beginnings.add(chain.base)
    reserve.take()
    if !landmarks.hasMovement { readLandmarks(of: content.latest) }
  }

  /// The bolt has not moved since the file was begun. Where it went before that is in an older one.
  private func readLandmarks(of newer: [LockRecord]) {
    var found = LockLandmarks()
    for file in olderFiles().reversed() {
      guard let bytes = FileManager.default.contents(atPath: file.path) else { continue }
      found = RecordLogFormat.read(Array(bytes), path: file.path).landmarks
      if found.hasMovement { break }
    }
    // The newest records are in both files.
    for record in newer { found.take(record) }
    landmarks = found
  }

  deinit {
    close(descriptor)
  }

  /// Makes a record durable. On failure the log is as it was before.
  package func append(_ record: LockRecord) throws {
    try removeTornEnd()
    if countInFile >= limit, countInFile.isMultiple(of: limit) { putBeside() }
    if countInFile.isMultiple(of: 64) { reserve.take() }
    let entry = RecordLogFormat.entry(record)
    do {
      // A full disk must not keep the door from opening.
      try reserve.use {
        try removeTornEnd()
        hasTornEnd = true
        try write(entry)
        try count.write(record.index)
        hasTornEnd = false
      } whereFull: { error in
        if case RecordLogError.system(_, _, let number) = error { number == ENOSPC || number == EDQUOT } else { false }
      }
    } catch {
      // If this fails too, the next record tries it again.
      try? removeTornEnd()
      throw error
    }
    length += off_t(entry.count)
    countInFile += 1
    chain.append(record.encoded)
    latest.append(record)
    landmarks.take(record)
    if latest.count > RecordLogFormat.keptCount { latest.removeFirst() }
  }

  private func write(_ bytes: [UInt8]) throws {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw RecordLogError.system(path: path, call: "write", number: errno) }
      written += count
    }
    guard fdatasync(descriptor) == 0 else {
      throw RecordLogError.system(path: path, call: "fdatasync", number: errno)
    }
  }

  private func removeTornEnd() throws {
    guard hasTornEnd else { return }
    guard ftruncate(descriptor, length) == 0, fdatasync(descriptor) == 0 else {
      throw RecordLogError.system(path: path, call: "ftruncate", number: errno)
    }
    hasTornEnd = false
  }

  /// Moves a partial record at the end of the log into a separate file.
  private func keepAside(_ torn: [UInt8]) throws {
    let aside = Self.unusedName(path + ".torn")
    try DurableFile.replace(aside, with: torn)
    hasTornEnd = true
    try removeTornEnd()
    logger.error("the log ended in \(torn.count) bytes that are no record: they were moved to \(aside)")
  }

  // MARK: A long log

  /// Sets the file aside, and continues in a new one. If that fails, the file keeps growing.
  private func putBeside() {
    do {
      // The beginning is stored before the file that it belongs to. If the power fails in between, it is of no use, but
      // does no harm.
      let first = recordCount - UInt64(latest.count) + 1
      let page = try page(from: first, count: 1)
      try beginnings.add(page.before)
      var nextChain = RecordChain(base: page.before)
      for record in latest { nextChain.append(record.encoded) }
      let next = path + ".next"
      try DurableFile.replace(next, with: RecordLogFormat.header + latest.flatMap(RecordLogFormat.entry))
      let older = Self.olderPath(path, recordCount)
      guard link(path, older) == 0 || errno == EEXIST else {
        throw RecordLogError.system(path: older, call: "link", number: errno)
      }
      let opened = try Self.open(next)
      do { try DurableFile.rename(next, to: path) } catch {
        close(opened)
        throw error
      }
      close(descriptor)
      descriptor = opened
      olderChains[recordCount] = chain
      chain = nextChain
      countInFile = latest.count
      length = off_t(RecordLogFormat.header.count + countInFile * RecordLogFormat.entryByteCount)
      logger.notice("the log has grown long: the records up to \(recordCount) are in \(older)")
      removeOldest()
    } catch { logger.error("the log has grown long, and can't be put beside: \(error)") }
  }

  /// The files that were set aside, each with its last record, oldest first.
  func olderFiles() -> [(path: String, last: UInt64)] {
    let folder = (path as NSString).deletingLastPathComponent
    let prefix = (Self.olderPath(path, nil) as NSString).lastPathComponent
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let numbers = names.filter { $0.hasPrefix(prefix) }.compactMap { UInt64($0.dropFirst(prefix.count)) }.sorted()
    return numbers.map { (Self.olderPath(path, $0), $0) }
  }

  private func removeOldest() {
    for oldest in olderFiles().dropLast(Self.olderFileLimit) {
      logger.notice("the oldest records are removed: \(oldest.path)")
      olderChains[oldest.last] = nil
      try? DurableFile.remove(oldest.path)
    }
  }

  private static func olderPath(_ path: String, _ last: UInt64?) -> String {
    path + ".until-" + (last.map(String.init) ?? "")
  }
}

// MARK: - Beginning

extension RecordLog {
  static func chainPath(_ path: String) -> String { (path as NSString).deletingPathExtension + ".chain" }
  static func countPath(_ path: String) -> String { (path as NSString).deletingPathExtension + ".count" }

  /// A file which shows that this folder had a lock's log before, or `nil`. The bolt of a new lock has never moved.
  private static func traceOfEarlierLife(_ path: String, _ count: RecordCount?) -> String? {
    if let count { return count.last > 0 ? count.path : nil }
    let folder = (path as NSString).deletingLastPathComponent
    return ["bolt", "door"].map { folder + "/" + $0 }.first { access($0, F_OK) == 0 }
  }

  /// Creates an empty log if there was none.
  private static func begin(_ path: String, _ count: RecordCount?) throws {
    if let trace = traceOfEarlierLife(path, count) { throw RecordLogError.missing(path: path, trace: trace) }
    if try byteCount(path) > 0 {
      let descriptor = try open(path)
      defer { close(descriptor) }
      if let problem = RecordLogFormat.read(try readAll(descriptor, path), path: path).problem { throw problem }
    }
    try DurableFile.replace(path, with: RecordLogFormat.header)
  }

  /// Begins again after a person has accepted that records are lost. Records that can be read stay in use, and the old
  /// log is kept in a separate file.
  /// - Returns: a description of what was done, for that person.
  package static func acceptLoss(path: String) throws -> String {
    guard LogFolder(ofLog: path).isOwn else { throw RecordLogError.otherUser(path: path) }
    let lock = try LogLock(path)
    defer { withExtendedLifetime(lock) {} }
    let stored = (try? RecordCount.read(countPath(path)))?.last
    var bytes: [UInt8] = []
    if try byteCount(path) > 0 {
      let descriptor = try open(path)
      defer { close(descriptor) }
      bytes = try readAll(descriptor, path)
    }
    let content = RecordLogFormat.read(bytes, path: path)
    switch content.problem {
    case .unknownVersion, .unknownRecord: if let problem = content.problem { throw problem }
    default: break
    }
    var said = "The log goes on after record \(content.last)"
    if let stored, stored > content.last { said += "; \(stored - content.last) records are lost" }
    if !bytes.isEmpty {
      let aside = unusedName(path + ".lost")
      guard link(path, aside) == 0 else { throw RecordLogError.system(path: aside, call: "link", number: errno) }
      said += "; what there was is in \(aside)"
    }
    try DurableFile.replace(
      path, with: content.validByteCount == 0 ? RecordLogFormat.header : Array(bytes[..<content.validByteCount]))
    _ = try RecordCount.make(countPath(path), last: content.last)
    return said + "."
  }

  /// 0 if there is no such file.
  private static func byteCount(_ path: String) throws -> Int {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return 0 }
      throw RecordLogError.system(path: path, call: "lstat", number: errno)
    }
    guard status.st_mode & S_IFMT == S_IFREG else { throw RecordLogError.notALog(path: path) }
    guard status.st_size <= maximumByteCount else { throw RecordLogError.tooLong(path: path) }
    return status.st_size
  }

  private static func open(_ path: String) throws -> Int32 {
    let descriptor = Foundation.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_APPEND)
    guard descriptor >= 0 else { throw RecordLogError.system(path: path, call: "open", number: errno) }
    return descriptor
  }

  private static func readAll(_ descriptor: Int32, _ path: String) throws -> [UInt8] {
    [UInt8](try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).readToEnd() ?? Data())
  }

  private static func unusedName(_ base: String) -> String {
    var name = base
    var number = 1
    while access(name, F_OK) == 0, number < 1000 {
      name = base + ".\(number)"
      number += 1
    }
    return name
  }
}

/// One lock per log. It has its own file, because the log's file is replaced when it has grown long.
private final class LogLock {
  private let descriptor: Int32

  init(_ path: String) throws {
    let name = path + ".lock"
    let opened = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard opened >= 0 else { throw RecordLogError.system(path: name, call: "open", number: errno) }
    guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
      let number = errno
      // Not through the property: once it is set, `deinit` closes it as well, and by then the number may belong to
      // another file.
      close(opened)
      throw number == EWOULDBLOCK
        ? RecordLogError.inUse(path: path) : .system(path: name, call: "flock", number: number)
    }
    descriptor = opened
  }

  /// Unlocks explicitly: a child that is just being started also has the descriptor until it runs its program, and
  /// would keep the lock.
  deinit {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
