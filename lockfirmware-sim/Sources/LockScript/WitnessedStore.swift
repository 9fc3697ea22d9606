import LockFirmware
import LockProtocol

/// A store in a flash memory whose power fails, and a witness that remembers what was stored and what was being stored.
/// After a restart, the store must have one of the two.
struct WitnessedStore {
  /// How many of the newest records the log keeps for a restart; a board has no room for more in memory.
  private static var keptRecordCount: Int { 24 }
  /// How many of the newest records must outlive any power cut. Values and entries that were cut off take room as well.
  private static var leastRecordCount: Int { 8 }

  private var store: FlashStore<MemoryFlash>
  /// What the store must have: the newest records, and the values.
  private var stored: [LockRecord] = []
  private var values: [(key: FlashKey, bytes: [UInt8])] = []
  /// What was being stored when the power failed. The store may have it or not.
  private var unfinishedRecord: LockRecord?
  private var unfinishedValue: (key: FlashKey, bytes: [UInt8])?
  /// How many times the store had neither the old nor the new state, or the log did not explain an unlocked bolt.
  private(set) var violationCount: UInt64 = 0

  init() {
    do throws(FlashStoreError) { store = try FlashStore(MemoryFlash(pageCount: 8, pageByteCount: 512)) } catch {
      preconditionFailure("an empty flash of this size is a store")
    }
  }

  /// The power has failed: nothing is stored any more until the restart.
  var isDead: Bool { store.memory.isDead }

  /// Lets the power fail after this many more bytes have been programmed.
  mutating func cutPower(after byteCount: Int) { store.cutPower(after: byteCount) }

  var landmarks: LockLandmarks { store.landmarks }

  func value(of key: FlashKey) -> [UInt8]? { store.value(of: key) }

  mutating func keep(_ key: FlashKey, _ bytes: [UInt8]) {
    do throws(FlashStoreError) {
      try store.set(key, bytes)
      values.removeAll { $0.key == key }
      values.append((key, bytes))
    } catch { unfinishedValue = (key, bytes) }
  }

  /// - Returns: whether the record is durable.
  mutating func append(_ record: LockRecord) -> Bool {
    do throws(FlashStoreError) { try store.append(record) } catch {
      unfinishedRecord = record
      return false
    }
    if stored.count == Self.keptRecordCount { stored.removeFirst() }
    stored.append(record)
    return true
  }

  /// The power comes back.
  /// - Returns: the newest records, or `nil` if the store can't be read.
  mutating func restart() -> [LockRecord]? {
    // The old store gives its memory away. While two stores share it, the first programmed byte would copy all of it.
    var memory = MemoryFlash(pageCount: 0, pageByteCount: 0)
    store.withMemory { swap(&$0, &memory) }
    memory.revive()
    do throws(FlashStoreError) { store = try FlashStore(consume memory) } catch {
      violationCount += 1
      return nil
    }
    let records = store.records(Self.keptRecordCount)
    check(records)
    stored = records
    return records
  }

  /// Checks that the store has what was there before, or what was being stored.
  private mutating func check(_ found: [LockRecord]) {
    let before = stored.suffix(found.count)
    var after = stored
    if let unfinishedRecord { after.append(unfinishedRecord) }
    let isOld = found.count == before.count && found == Array(before)
    let isNew = unfinishedRecord != nil && found.count <= after.count && found == Array(after.suffix(found.count))
    if !(isOld || isNew) || found.count < min(stored.count, Self.leastRecordCount) { violationCount += 1 }
    for (index, value) in values.enumerated() {
      let found = store.value(of: value.key)
      if found == value.bytes { continue }
      if let new = unfinishedValue, new.key == value.key, found == new.bytes {
        values[index].bytes = new.bytes
      } else {
        violationCount += 1
      }
    }
    if let new = unfinishedValue, !values.contains(where: { $0.key == new.key }), let found = store.value(of: new.key) {
      if found == new.bytes { values.append(new) } else { violationCount += 1 }
    }
    if store.memory.isMisused { violationCount += 1 }
    unfinishedRecord = nil
    unfinishedValue = nil
  }

  /// Checks that the log explains an unlocked bolt: the latest movement unlocked it, or was to lock it and has not
  /// ended yet.
  mutating func checkBolt(_ position: BoltPosition) {
    guard position == .unlocked, let latest = stored.lastIndex(where: { $0.kind == .movement }),
      stored[latest].target == .locked
    else { return }
    let isDone = stored[latest].cause == .hand || stored[latest].cause == .unexplained
    if isDone || stored[latest...].contains(where: { $0.kind == .outcome && $0.result == .done }) {
      violationCount += 1
    }
  }
}
