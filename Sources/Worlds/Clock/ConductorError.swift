import Glibc
import TimeTypes

/// What went wrong with the world.
package enum ConductorError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The world did not come to rest: names the last busy thread, or what this process itself still had to do.
  case neverQuiet(after: Duration, BusyThread?, ownWork: String?)
  /// A process was woken again and again while no time passed, because its alarm is never in the future.
  case timeStandsStill(at: Instant, pid: pid_t, processName: String, machine: String?, alarm: Instant)
  /// A system call that failed.
  case system(String, reason: String)

  static func system(_ what: String) -> ConductorError {
    .system(what, reason: String(cString: strerror(errno)))
  }

  package var description: String {
    switch self {
    case .neverQuiet(let limit, let thread, let ownWork):
      "the world did not come to rest within \(limit): "
        + (thread?.description ?? ownWork ?? "its processes come and go")
    case .timeStandsStill(let now, let pid, let name, let machine, let alarm):
      """
      time stands still at \(now): process \(pid) (\(name)\(machine.map { " on \($0)" } ?? "")) was woken \
      \(Conductor.wakesAtOneMomentLimit) times at that moment, and each time sets its next alarm for \
      \(alarm < now ? "\(alarm), which is past" : "that moment again")
      """
    case .system(let what, let reason): "\(what): \(reason)"
    }
  }
}
