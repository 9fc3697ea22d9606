import Crypto
import Foundation

/// Why a file of keys can't be read or written. The messages name the file, never its contents.
package enum KeyFileError: Error, Equatable, CustomStringConvertible {
  case missing(path: String)
  case notReadable(path: String, reason: String)
  case notWritable(path: String, reason: String)
  /// Users other than the owner may read or write it.
  case tooOpen(path: String, mode: UInt32)
  case wrongOwner(path: String, owner: UInt32, expected: UInt32)
  case notAFile(path: String)
  case damaged(path: String, problem: String)
  case unknownVersion(path: String, version: Int)
  /// There are already keys. Overwriting them would lock their owner out.
  case alreadyThere(path: String)
  /// The lock already has as many phones as it can have.
  case tooManyPhones(path: String)

  /// The reason in the system's own words, if Foundation's error has one.
  static func words(_ error: any Error) -> String {
    let error = error as NSError
    let cause = (error.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError } ?? error
    return cause.domain == NSPOSIXErrorDomain
      ? String(cString: strerror(Int32(cause.code))) : error.localizedDescription
  }

  package var description: String {
    switch self {
    case .missing(let path):
      "there are no keys at \(path): `latchkey setup lock` makes them on the lock's machine, and `latchkey setup phone` on "
        + "the phone's"
    case .notReadable(let path, let reason): "the keys at \(path) can't be read: \(reason)"
    case .notWritable(let path, let reason): "keys can't be written to \(path): \(reason)"
    case .tooOpen(let path, let mode):
      "the keys at \(path) have mode 0\(String(mode, radix: 8)): others can reach them; it must be 0600"
    case .wrongOwner(let path, let owner, let expected):
      "the keys at \(path) belong to user \(owner), not to user \(expected)"
    case .notAFile(let path): "\(path) is not a regular file"
    case .damaged(let path, let problem): "the keys at \(path) are damaged: \(problem)"
    case .unknownVersion(let path, let version):
      "the keys at \(path) are of version \(version), which this program does not know"
    case .alreadyThere(let path): "there are keys at \(path) already: nothing was changed"
    case .tooManyPhones(let path):
      "the lock of \(path) has \(LockKeys.maximumPhoneCount) phones, and room for no more: nothing was changed"
    }
  }
}

/// One small JSON file that holds keys.
struct KeyFile {
  let path: String
  /// Larger than any file of keys that we write.
  private static let maximumByteCount = 64 * 1024

  func read<Value: Decodable>(_ type: Value.Type) throws(KeyFileError) -> Value {
    // O_NONBLOCK: a FIFO in place of the file must not block us before we notice that it is not a file.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw errno == ENOENT ? .missing(path: path) : .notReadable(path: path, reason: lastError())
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    try check(descriptor)
    var data: Data
    do { data = try handle.read(upToCount: Self.maximumByteCount + 1) ?? Data() } catch {
      throw .notReadable(path: path, reason: KeyFileError.words(error))
    }
    defer { ProcessMemory.wipe(&data) }
    // The content of a unit's credential that does not exist: LoadCredential= needs a default, or the unit would not
    // start.
    guard data != Data("none".utf8) else { throw .missing(path: path) }
    guard data.count <= Self.maximumByteCount else { throw .damaged(path: path, problem: "too long") }
    do { return try JSONDecoder().decode(type, from: data) } catch {
      throw .damaged(path: path, problem: "not the JSON that was written")
    }
  }

  /// Writes a temporary file, makes it durable and links it into place, so there is never half a file. Refuses to
  /// replace keys.
  func write(_ value: some Encodable) throws(KeyFileError) {
    guard access(path, F_OK) != 0 else { throw .alreadyThere(path: path) }
    let temporary = try writeBeside(value)
    defer { unlink(temporary) }
    // Unlike rename, link fails if another process has put keys there in the meantime.
    guard link(temporary, path) == 0 else {
      throw errno == EEXIST ? .alreadyThere(path: path) : .notWritable(path: path, reason: lastError())
    }
    synchronizeDirectory()
  }

  /// Replaces keys that were read before with new contents that include the old keys.
  func replace(with value: some Encodable) throws(KeyFileError) {
    let temporary = try writeBeside(value)
    guard rename(temporary, path) == 0 else {
      let reason = lastError()
      unlink(temporary)
      throw .notWritable(path: path, reason: reason)
    }
    synchronizeDirectory()
  }

  /// Runs `body` so that no other process does the same with the keys in this folder at the same time. Waits for
  /// another process's turn, which takes milliseconds.
  func exclusively<Result>(_ body: () throws(KeyFileError) -> Result) throws(KeyFileError) -> Result {
    let folder = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else {
      throw errno == ENOENT ? .missing(path: path) : .notReadable(path: path, reason: lastError())
    }
    // Closing the descriptor releases the lock.
    defer { close(folder) }
    while flock(folder, LOCK_EX) != 0 {
      guard errno == EINTR else { throw .notWritable(path: path, reason: lastError()) }
    }
    return try body()
  }

  private func writeBeside(_ value: some Encodable) throws(KeyFileError) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let temporary = path + ".new"
    unlink(temporary)
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .notWritable(path: path, reason: lastError()) }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try handle.write(contentsOf: try encoder.encode(value) + Data("\n".utf8))
      try handle.synchronize()
    } catch {
      unlink(temporary)
      throw .notWritable(path: path, reason: KeyFileError.words(error))
    }
    return temporary
  }

  func bytes(_ text: String, _ name: String, count: Int) throws(KeyFileError) -> [UInt8] {
    guard let bytes = Hex.bytes(text), bytes.count == count else {
      throw .damaged(path: path, problem: "\(name) is not \(count) bytes in hexadecimal")
    }
    return bytes
  }

  func privateKey(_ text: String) throws(KeyFileError) -> Curve25519.KeyAgreement.PrivateKey {
    var raw = try bytes(text, "privateKey", count: 32)
    defer { ProcessMemory.wipe(&raw) }
    do { return try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: raw) } catch {
      throw .damaged(path: path, problem: "privateKey")
    }
  }

  private func check(_ descriptor: Int32) throws(KeyFileError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .notReadable(path: path, reason: lastError()) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
    let user = geteuid()
    // A service manager may pass on credentials that root owns.
    guard status.st_uid == user || status.st_uid == 0 else {
      throw .wrongOwner(path: path, owner: status.st_uid, expected: user)
    }
    let mode = status.st_mode & 0o7777
    // For root's file, the group bits are the mask of the access list through which systemd lets one service read it.
    let forbidden: mode_t = status.st_uid == 0 && user != 0 && status.st_gid == 0 ? 0o037 : 0o077
    guard mode & forbidden == 0 else { throw .tooOpen(path: path, mode: mode) }
  }

  private func synchronizeDirectory() {
    let directory = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY)
    guard directory >= 0 else { return }
    fsync(directory)
    close(directory)
  }

  private func lastError() -> String { String(cString: strerror(errno)) }
}

/// Bytes as hexadecimal text.
package enum Hex {
  package static func text(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// `nil` unless the text is an even number of hexadecimal digits.
  package static func bytes(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
