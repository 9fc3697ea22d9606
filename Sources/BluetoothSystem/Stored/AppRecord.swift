import AppLink

/// What the system stores about an app's life.
package struct AppRecord: Sendable, Hashable {
  package var bundleIdentifier: String
  package var state: AppState
  package var process: ProcessIdentity?
  package var quitByUser: Bool
  package var launches: Int
  /// The app's last wakes, oldest first.
  package var wakes: [WakeRecord]
  /// The user does not let it use Bluetooth.
  package var isDenied: Bool

  package init(
    bundleIdentifier: String, state: AppState, process: ProcessIdentity? = nil, quitByUser: Bool = false,
    launches: Int = 0, wakes: [WakeRecord] = [], isDenied: Bool = false
  ) {
    self.bundleIdentifier = bundleIdentifier
    self.state = state
    self.process = process
    self.quitByUser = quitByUser
    self.launches = launches
    self.wakes = wakes
    self.isDenied = isDenied
  }
}

extension AppRecord {
  struct OnDisk: DiskForm {
    var bundleIdentifier: String
    var state: State
    /// Missing: the app has no process.
    var process: Process?
    var quitByUser: Bool
    var launches: Int
    /// Missing: none are known.
    var wakes: [Wake]?
    /// Missing: it is not denied.
    var isDenied: Bool?

    enum CodingKeys: String, CodingKey {
      case bundleIdentifier = "bundleIdentifier"
      case state = "state"
      case process = "process"
      case quitByUser = "quitByUser"
      case launches = "launches"
      case wakes = "wakes"
      case isDenied = "isDenied"
    }

    init(_ record: AppRecord) {
      bundleIdentifier = record.bundleIdentifier
      state = State(record.state)
      process = record.process.map { Process($0) }
      quitByUser = record.quitByUser
      launches = record.launches
      wakes = record.wakes.isEmpty ? nil : record.wakes.map { Wake($0, of: record.bundleIdentifier) }
      isDenied = record.isDenied ? true : nil
    }

    var value: AppRecord {
      AppRecord(
        bundleIdentifier: bundleIdentifier, state: state.value, process: process?.value, quitByUser: quitByUser,
        launches: launches, wakes: (wakes ?? []).map { $0.record(of: bundleIdentifier) }, isDenied: isDenied ?? false)
    }
  }

  /// One wake of the app.
  struct Wake: Codable {
    var because: String
    var unixSeconds: Double
    var seconds: Double
    var told: Int
    var said: Int
    /// Missing: it had not ended.
    var outcome: String?

    enum CodingKeys: String, CodingKey {
      case because = "because"
      case unixSeconds = "unixSeconds"
      case seconds = "seconds"
      case told = "told"
      case said = "said"
      case outcome = "outcome"
    }

    init(_ wake: WakeRecord, of app: String) {
      because = wake.because.rawValue
      unixSeconds = wake.unixSeconds
      seconds = wake.seconds
      told = wake.told
      said = wake.said
      outcome = wake.outcome
    }

    func record(of app: String) -> WakeRecord {
      WakeRecord(
        app: app, because: WakeReason(rawValue: because), unixSeconds: unixSeconds, seconds: seconds, told: told,
        said: said, outcome: outcome)
    }
  }

  enum State: String, DiskForm {
    case notRunning = "notRunning"
    case launching = "launching"
    case foreground = "foreground"
    case background = "background"
    case suspended = "suspended"

    init(_ value: AppState) {
      switch value {
      case .notRunning: self = .notRunning
      case .launching: self = .launching
      case .foreground: self = .foreground
      case .background: self = .background
      case .suspended: self = .suspended
      }
    }

    var value: AppState {
      switch self {
      case .notRunning: .notRunning
      case .launching: .launching
      case .foreground: .foreground
      case .background: .background
      case .suspended: .suspended
      }
    }
  }

  struct Process: DiskForm {
    var processIdentifier: Int32
    /// In the kernel's clock ticks since the machine started.
    var startTicks: UInt64
    var boot: String

    enum CodingKeys: String, CodingKey {
      case processIdentifier = "processIdentifier"
      case startTicks = "startTicks"
      case boot = "boot"
    }

    init(_ process: ProcessIdentity) {
      processIdentifier = process.processIdentifier
      startTicks = process.startTicks
      boot = process.boot
    }

    var value: ProcessIdentity {
      ProcessIdentity(processIdentifier: processIdentifier, startTicks: startTicks, boot: boot)
    }
  }
}
