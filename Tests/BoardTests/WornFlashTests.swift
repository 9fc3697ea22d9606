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

  @Test("L5: a value of more than half a page can be replaced wherever the log's pages turn") func longValue() throws {
    for before in 0..<24 as Range<UInt64> {
      var store = try FlashStore(MemoryFlash(pageCount: 4, pageByteCount: 512))
      try store.set(.access, [UInt8](repeating: 1, count: 300))
      try store.set(.mode, [7])
      // The page with the value becomes the oldest one.
      for index in 0..<before { try store.append(record(index)) }
      for turn in 2...9 as ClosedRange<UInt8> {
        let value = [UInt8](repeating: turn, count: 300)
        try store.set(.access, value)
        #expect(store.value(of: .access) == value && store.value(of: .mode) == [7])
        for index in 0..<UInt64(turn) * 2 { try store.append(record(index)) }
      }
      store = try FlashStore(store.memory)
      #expect(store.value(of: .access) == [UInt8](repeating: 9, count: 300) && store.value(of: .mode) == [7])
    }
  }

  @Test("L5: a power cut anywhere while a long value is replaced leaves the old one or the new one") func longValueCut()
    throws
  {
    for cut in stride(from: 0, to: 1200, by: 7) {
      var store = try FlashStore(MemoryFlash(pageCount: 4, pageByteCount: 512))
      try store.set(.access, [UInt8](repeating: 1, count: 300))
      try store.set(.mode, [7])
      for index in 0..<19 as Range<UInt64> { try store.append(record(index)) }
      store.withMemory { $0.budget = cut }
      let isStored = (try? store.set(.access, [UInt8](repeating: 2, count: 300))) != nil
      var memory = store.memory
      memory.revive()
      store = try FlashStore(memory)
      let value = store.value(of: .access)
      #expect(
        value == [UInt8](repeating: 2, count: 300) || !isStored && value == [UInt8](repeating: 1, count: 300), "\(cut)")
      #expect(store.value(of: .mode) == [7] && !store.memory.isMisused)
    }
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
