import AppLink

/// What the system stores about an app's life.
package struct AppRecord: Sendable, Hashable {
  package var bundleIdentifier: String
  package var state: AppState
  package var process: ProcessIdentity?
  package var quitByUser: Bool
  package var launches: Int
  /// The user does not let it use Bluetooth.
  package var isDenied: Bool

  package init(
    bundleIdentifier: String, state: AppState, process: ProcessIdentity? = nil, quitByUser: Bool = false,
    launches: Int = 0, isDenied: Bool = false
  ) {
    self.bundleIdentifier = bundleIdentifier
    self.state = state
    self.process = process
    self.quitByUser = quitByUser
    self.launches = launches
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
    /// Missing: it is not denied.
    var isDenied: Bool?

    enum CodingKeys: String, CodingKey {
      case bundleIdentifier = "bundleIdentifier"
      case state = "state"
      case process = "process"
      case quitByUser = "quitByUser"
      case launches = "launches"
      case isDenied = "isDenied"
    }

    init(_ record: AppRecord) {
      bundleIdentifier = record.bundleIdentifier
      state = State(record.state)
      process = record.process.map { Process($0) }
      quitByUser = record.quitByUser
      launches = record.launches
      isDenied = record.isDenied ? true : nil
    }

    var value: AppRecord {
      AppRecord(
        bundleIdentifier: bundleIdentifier, state: state.value, process: process?.value, quitByUser: quitByUser,
        launches: launches, isDenied: isDenied ?? false)
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
