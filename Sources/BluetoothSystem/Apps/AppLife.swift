import AppLink
import TimeTypes

/// The states of an app's life as on iOS, each with the data that exists only in that state.
enum AppLife: Sendable {
  case notRunning
  /// The supervisor was asked to start the app. The process is known once the supervisor reports it, and the app runs
  /// once it attaches.
  case launching(AppProcess?)
  case foreground(AppProcess)
  case background(AppProcess, Stay)
  case suspended(AppProcess)

  /// A stay in the background, which ends in suspension.
  struct Stay: Sendable {
    let since: Instant
    /// When the app is suspended, whether it is done or not.
    var budgetEnds: Instant

    init(at now: Instant, budget: Duration) {
      since = now
      budgetEnds = now + budget
    }
  }

  var state: AppState {
    switch self {
    case .notRunning: .notRunning
    case .launching: .launching
    case .foreground: .foreground
    case .background: .background
    case .suspended: .suspended
    }
  }

  var process: AppProcess? {
    switch self {
    case .notRunning: nil
    case .launching(let process): process
    case .foreground(let process), .background(let process, _), .suspended(let process): process
    }
  }

  mutating func changeProcess(_ change: (inout AppProcess) -> Void) {
    guard var process else { return }
    change(&process)
    switch self {
    case .notRunning: break
    case .launching: self = .launching(process)
    case .foreground: self = .foreground(process)
    case .background(_, let stay): self = .background(process, stay)
    case .suspended: self = .suspended(process)
    }
  }

  mutating func changeStay(_ change: (inout Stay) -> Void) {
    guard case .background(let process, var stay) = self else { return }
    change(&stay)
    self = .background(process, stay)
  }
}

/// How soon an app may be started again. An app that keeps ending early is started ever more rarely.
struct LaunchBackOff: Sendable {
  private var shortLives = 0
  private(set) var notBefore = Instant.zero

  /// A life shorter than this counts as short.
  private static let shortLife: Duration = .seconds(10)
  private static let limit = 8

  /// The app ended by itself. It may start again at once, then after 1, 2, 4 … 64 s.
  mutating func ended(launchedAt: Instant, at now: Instant) {
    shortLives = now - launchedAt < Self.shortLife ? min(shortLives + 1, Self.limit) : 0
    notBefore = shortLives < 2 ? now : now + BackOff.standard.wait(afterFailures: shortLives - 1)
  }

  /// The system ended the app, which is not the app's fault.
  mutating func wasEnded() { shortLives = 0 }

  /// The user wants the app now, so it need not wait.
  mutating func waive(at now: Instant) { notBefore = now }
}
