import Glibc

/// Space reserved on a disk for what must be written even when the disk is full. It is a file that is then removed.
package struct DiskReserve: Sendable {
  package let path: String
  package let byteCount: Int

  /// - Parameter path: a file used only for this, on the same disk.
  package init(path: String, byteCount: Int) {
    self.path = path
    self.byteCount = byteCount
  }

  /// Reserves the space, unless it is already reserved or the disk has none. In that case, writes have no reserve.
  package func take() {
    guard access(path, F_OK) != 0 else { return }
    // Not zeros: some file systems store those without using space.
    try? DurableFile.replace(path, with: [UInt8](repeating: 0xFF, count: byteCount))
  }

  /// Runs `body`. If the disk is full, releases the space and runs it again.
  /// - Parameter isFull: whether an error of `body` means that the disk is full.
  package func use<Failure: Error>(
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
  package var isOfFullDisk: Bool { number == ENOSPC || number == EDQUOT }
}
