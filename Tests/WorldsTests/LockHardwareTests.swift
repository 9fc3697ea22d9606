import CSystemd
import Foundation
import Glibc
import Synchronization
import Testing
import Timekeeping

@testable import Worlds

@Suite("A hand on a lock") struct LockHardwareTests {
  /// A lock's state folder, and a lock in it that hangs up so many times before it answers.
  private final class Lock: Sendable {
    let folder: String
    private let listener: Int32
    private let calls = Mutex(0)

    init(hangsUp: Int) throws {
      folder = NSTemporaryDirectory() + "/latchkey-hand-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      try #require(withUnixAddress(folder + "/hardware.sock") { bind(listener, $0, $1) } == 0)
      try #require(listen(listener, 8) == 0)
      self.listener = listener
      Thread.detachNewThread { [self] in
        while case let caller = accept(listener, nil, nil), caller >= 0 {
          let count = calls.withLock { count in
            count += 1
            return count
          }
          if count > hangsUp {
            var line = [UInt8](repeating: 0, count: 1024)
            _ = read(caller, &line, line.count)
            _ = write(caller, "{}\n", 3)
          }
          close(caller)
        }
      }
    }

    var callCount: Int { calls.withLock { $0 } }

    func end() {
      shutdown(listener, Int32(SHUT_RDWR))
      try? FileManager.default.removeItem(atPath: folder)
    }
  }

  @Test("H1: on another machine, a lock that is being started is waited for") func waits() throws {
    let lock = try Lock(hangsUp: 3)
    defer { lock.end() }
    try LockHardware(stateFolder: lock.folder, patience: .seconds(60), pauseSeconds: 0.001).turnBolt(isLocked: true)
    #expect(lock.callCount == 4)
  }

  @Test("H1: for so long and no longer, and here not at all") func givesUp() throws {
    let lock = try Lock(hangsUp: .max)
    defer { lock.end() }
    #expect(throws: WorldError.self) {
      try LockHardware(stateFolder: lock.folder, patience: .milliseconds(20), pauseSeconds: 0.001).moveDoor(
        isOpen: true)
    }
    let before = lock.callCount
    #expect(throws: WorldError.self) { try LockHardware(stateFolder: lock.folder).moveDoor(isOpen: true) }
    #expect(lock.callCount == before + 1)
  }
}
