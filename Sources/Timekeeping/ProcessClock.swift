import Glibc
import Synchronization

/// The time source of this process.
package enum ProcessClock {
  /// The name of the variable that puts a process into a simulated world: the folder of the world's clock.
  package static let variable = "LATCHKEY_CLOCK"
  /// The name of the variable for the calendar of a machine whose clock a story can set: a file with an Int64, the
  /// nanoseconds by which this machine's calendar is ahead of the world's.
  package static let calendarVariable = "LATCHKEY_CALENDAR"

  /// The time source that was made. A process has one, however often it is asked for.
  private static let made = Mutex<(any TimeSource)?>(nil)

  /// The time of the simulated world that `LATCHKEY_CLOCK` names, otherwise the machine's.
  ///
  /// - Throws: `ClockError` if the variable does not name a living world.
  package static func fromEnvironment() throws -> any TimeSource {
    try made.withLock { made in
      if let made { return made }
      let source: any TimeSource
      // Empty is as good as not set: so an app of a world can be given the machine's time.
      if let value = getenv(variable), value.pointee != 0 {
        let directory = String(cString: value)
        guard directory.hasPrefix("/") else {
          throw ClockError("\(variable) must be the absolute path of a world's clock, not \"\(directory.prefix(200))\"")
        }
        let calendar = getenv(calendarVariable).map { String(cString: $0) } ?? ""
        source = try SharedClock(directory: directory, calendar: calendar.isEmpty ? nil : calendar)
      } else {
        source = try BootClock()
      }
      made = source
      return source
    }
  }
}
