import Glibc
import Synchronization
import TimeTypes
import Timekeeping

/// By how much the calendar of a simulated machine is ahead of the world's: a page of memory that all of the machine's
/// processes read (`SharedClock`). It outlives the machine's reboots, as a clock with a battery does.
final class MachineCalendar {
  let path: String
  private let memory: UnsafeMutablePointer<Atomic<Int64>>
  private(set) var ahead = Duration.zero

  /// How far a clock can be set, so that no time is more than nanoseconds in 64 bits can count.
  static let limit = Duration.seconds(DurationText.maximumDays * 86400)

  /// Makes the file, which must not exist.
  init(path: String) throws {
    let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw WorldError.system(path, errno) }
    defer { close(file) }
    let length = SharedClock.Layout.calendarLength
    guard ftruncate(file, off_t(length)) == 0,
      let memory = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), memory != MAP_FAILED
    else { throw WorldError.system(path, errno) }
    self.path = path
    self.memory = memory.assumingMemoryBound(to: Atomic<Int64>.self)
  }

  deinit { munmap(memory, SharedClock.Layout.calendarLength) }

  /// Sets the clock ahead by this, or back.
  func set(by change: Duration) throws {
    let ahead = ahead + change
    guard ahead <= Self.limit, ahead >= .zero - Self.limit else {
      throw WorldError("a machine's clock can be wrong by \(DurationText.maximumDays) days, and not by more")
    }
    self.ahead = ahead
    memory.pointee.store(ahead.wholeNanoseconds.littleEndian, ordering: .releasing)
  }
}
