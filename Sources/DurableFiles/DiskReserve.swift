import Glibc

/// Room on a disk that is kept for what must be written even when the disk is full: a file, whose room is given up then.
public struct DiskReserve: Sendable {
  public let path: String
  public let byteCount: Int

  /// - Parameter path: of a file of its own, on the same disk.
  public init(path: String, byteCount: Int) {
    self.path = path
    self.byteCount = byteCount
  }

  /// Takes the room, unless it is taken, or there is none: then each write is on its own.
  public func take() {
    guard access(path, F_OK) != 0 else { return }
    // Not zeros: some file systems keep those without room for them.
    try? DurableFile.replace(path, with: [UInt8](repeating: 0xFF, count: byteCount))
  }

  /// Runs `body`, and where the disk is full, gives up the room and runs it again.
  /// - Parameter isFull: whether an error of `body` says that the disk is full.
  public func use<Failure: Error>(
    _ body: () throws(Failure) -> Void, whereFull isFull: (Failure) -> Bool
  ) throws(Failure) {
    do { try body() } catch {
      guard isFull(error), unlink(path) == 0 else { throw error }
      try body()
    }
  }
}

extension DurableFileError {
  /// The disk is full, or the user's share of it.
  public var isOfFullDisk: Bool { number == ENOSPC || number == EDQUOT }
}
