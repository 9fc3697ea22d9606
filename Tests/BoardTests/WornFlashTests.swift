import LockFirmware
import LockProtocol
import LockScript
import Testing

/// A cell of flash that can't be programmed, with the power on: the lock is told, and goes on.
@Suite("A board's store on flash that wears out") struct WornFlashTests {
  private func record(_ index: UInt64) -> LockRecord {
    LockRecord(
      .command, index: index, unixSeconds: 0, target: .locked, cause: .phone, result: .done,
      phone: LockRecord.nobody, operation: index)
  }

  @Test("L5: what was stored is kept whichever programming of the flash fails, also after a restart")
  func kept() throws {
    for failing in 0..<220 {
      var store = try FlashStore(MemoryFlash(pageCount: 4, pageByteCount: 256))
      // Until the ring is full, a page is emptied for each new one.
      var stored: [FlashKey: [UInt8]] = [:]
      var records: [LockRecord] = []
      store.withMemory { $0.programsUntilFailure = failing }
      for turn in 0..<60 as Range<UInt64> {
        let key: FlashKey = turn % 3 == 0 ? .access : turn % 7 == 0 ? .phones : .trusted
        let value = [UInt8](repeating: UInt8(turn), count: key == .access ? 40 : 20)
        if (try? store.set(key, value)) != nil { stored[key] = value }
        if (try? store.append(record(turn))) != nil { records.append(record(turn)) }
        for (key, value) in stored { #expect(store.value(of: key) == value, "failing \(failing), turn \(turn)") }
      }
      #expect(!store.memory.isMisused)
      store = try FlashStore(store.memory)
      for (key, value) in stored { #expect(store.value(of: key) == value, "failing \(failing), restarted") }
      let found = store.records(60)
      #expect(found.count >= 2 && found == records.suffix(found.count), "failing \(failing)")
    }
  }
}
