import AppLink
import BlueZ
import JournalEvents
import TimeTypes

/// One app's end of the link, as the carrier numbers it. A number is never used again.
public struct AppLinkIdentifier: Sendable, Hashable, Comparable {
  public let rawValue: UInt64
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Which question of a carrier an answer belongs to; the carrier numbers its questions.
public struct AnswerToken: Sendable, Hashable {
  public let rawValue: UInt64
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// One process for certain: a number alone is reused by the kernel.
public struct ProcessIdentity: Sendable, Hashable, Codable {
  public var processIdentifier: Int32
  /// When it started, in the kernel's clock ticks since the machine started.
  public var startTicks: UInt64
  /// Which start of the machine that was.
  public var boot: String
  public init(processIdentifier: Int32, startTicks: UInt64 = 0, boot: String = "") {
    self.processIdentifier = processIdentifier
    self.startTicks = startTicks
    self.boot = boot
  }
}

/// What an app's Info.plist says about it, as far as the system cares.
public struct AppDeclaration: Sendable, Hashable {
  public var bundleIdentifier: String
  /// `bluetooth-central`, `bluetooth-peripheral`; others are ignored.
  public var backgroundModes: [String]
  /// Started with the system, and again whenever it ends, unless the user quit it.
  public var keepAlive: Bool
  public init(bundleIdentifier: String, backgroundModes: [String] = [], keepAlive: Bool = false) {
    self.bundleIdentifier = bundleIdentifier
    self.backgroundModes = backgroundModes
    self.keepAlive = keepAlive
  }
}

/// Why an app is started.
public enum LaunchReason: String, Sendable, Hashable, Codable {
  /// The user opened it.
  case opened
  /// Something it was preserved for has happened.
  case restore
  /// It is to run always.
  case keepAlive = "keep-alive"
}

/// What an app is started with.
public struct LaunchOptions: Sendable, Hashable {
  public var reason: LaunchReason
  /// Restore identifiers (`UIApplicationLaunchOptionsBluetoothCentralsKey`, `…PeripheralsKey`).
  public var centrals: [String]
  public var peripherals: [String]
  public init(reason: LaunchReason, centrals: [String] = [], peripherals: [String] = []) {
    self.reason = reason
    self.centrals = centrals
    self.peripherals = peripherals
  }
}

extension BluetoothSystem {
  /// Times and limits that an owner of the system may set.
  public struct Configuration: Sendable, Hashable {
    /// The adapter that the system uses, of those that the machine has.
    public var adapter = AdapterChoice.first
    /// How long a woken app may run after the last event it was given. Apple's documented figure is about 10 s.
    public var wakeBudget: Duration = .seconds(10)
    /// How long an app without anything left to do stays awake.
    public var idleGrace: Duration = .seconds(2)
    /// How long an app without a background mode runs on after the user left it.
    public var leaveGrace: Duration = .seconds(5)
    /// How long a started app may take until it attaches.
    public var launchBudget: Duration = .seconds(30)
    /// How many wake budgets in a row an app may overrun before it is killed.
    public var overrunsUntilKilled = 3
    /// How long an app may take to answer a remote read or write. bluetoothd gives up after 5.0 s.
    public var remoteRequestBudget: Duration = .milliseconds(4500)
    /// Events that wait for one app. More have what is out of date taken out; at eight times as many, what can't be told
    /// otherwise costs the app its process.
    public var eventQueueLimit = 1000
    /// Events that an app has been given and not dealt with. Until it has, the next ones wait.
    public var eventWindow = 1024
    /// Connection requests and known peripherals of one manager, and of all managers of an app.
    public var peripheralLimit = 1024
    public var appPeripheralLimit = 4096
    /// Reads and writes of remote centrals that wait for apps: all, and for one app.
    public var remoteRequestLimit = 256
    public var appRemoteRequestLimit = 64
    /// Write commands, which nobody waits for, that one app has not been told of.
    public var remoteCommandLimit = 128
    /// Operations that wait for one peripheral.
    public var operationLimit = 256
    /// Managers of one app, services of one manager, attributes of one service.
    public var managerLimit = 64
    public var serviceLimit = 64
    public var attributeLimit = 256
    /// Attribute handles of one app; there are some 65,000 for all.
    public var handleLimit = 8192
    /// Service UUIDs of one scan or advertisement, and of one app's scans.
    public var uuidLimit = 128
    /// Attributes that an app may say that it has found on one peripheral.
    public var viewLimit = 2048
    /// Values an app may push before it gets more credit, and how long half of that takes at the least: more than a
    /// thousand values a second no radio carries.
    public var updateCredit = 16
    public var updateInterval: Duration = .milliseconds(8)
    /// Remote devices of bluetoothd's that are taken in, beside those that apps have asked for, and attributes of all.
    public var deviceLimit = 8192
    public var mirrorAttributeLimit = 65536
    public init() {}
  }

  /// One thing that happens to the system.
  public enum Event: Sendable {
    /// The shell runs; comes first and once.
    case started
    case daemon(DaemonMessage)
    case attach(AppLinkIdentifier, ProcessIdentity, Attachment, AnswerToken)
    case request(AppLinkIdentifier, AppLink.Request)
    case query(AppLinkIdentifier, Query, AnswerToken)
    case detached(AppLinkIdentifier)
    case control(ControlRequest, AnswerToken)
    /// The answer to `Effect.launch`.
    case appLaunched(String, ProcessIdentity)
    case appLaunchFailed(String, String)
    /// A process that was launched or adopted is gone. `how` is for people: `exit 0`, `signal 9`.
    case appEnded(String, ProcessIdentity, how: String)
    /// The machine was suspended and runs again.
    case resumedFromSleep
    /// `nextDeadline` has come, or the shell is awake for reasons of its own.
    case timePassed
  }

  /// One thing the shell does, in the order given. Every `store` of an answer comes before everything else in it
  /// and is on disk before the shell goes on.
  public enum Effect: Sendable, Hashable {
    case store(StoreChange)
    case bluez(ClientMessage)
    case event(AppLink.Event, to: AppLinkIdentifier)
    case attachReply(AnswerToken, Result<AttachReply, AppLinkError>)
    case queryReply(AnswerToken, Result<QueryReply, AppLinkError>)
    case controlReply(AnswerToken, Result<SystemStatus, AppLinkError>)
    case launch(String, LaunchOptions)
    /// Watch a process that another life of the system started, or the user; answered by `appEnded` when it is gone.
    case adopt(String, ProcessIdentity)
    case suspend(String, ProcessIdentity)
    case resume(String, ProcessIdentity)
    case kill(String, ProcessIdentity)
    /// An event that matters, for the journal.
    case record(Recorded.Daemon, [JournalField: String])
  }
}

/// The mode of `UIBackgroundModes` that lets a manager of this role work in the background.
extension Role {
  var backgroundMode: String {
    switch self {
    case .central: "bluetooth-central"
    case .peripheral: "bluetooth-peripheral"
    }
  }
}
