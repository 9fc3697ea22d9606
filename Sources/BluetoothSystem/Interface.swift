import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import JournalEvents
import TimeTypes

/// One app's end of the link, as the carrier numbers it. Numbers are never reused.
package struct AppLinkIdentifier: Sendable, Hashable, Comparable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Identifies the question that an answer belongs to. The carrier numbers its questions.
package struct AnswerToken: Sendable, Hashable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// Identifies one process for certain. A process number alone does not, because the kernel reuses it.
package struct ProcessIdentity: Sendable, Hashable, Codable {
  package var processIdentifier: Int32
  /// When the process started, in the kernel's clock ticks since the machine started.
  package var startTicks: UInt64
  /// Identifies the machine's start (the kernel's boot ID).
  package var boot: String
  package init(processIdentifier: Int32, startTicks: UInt64 = 0, boot: String = "") {
    self.processIdentifier = processIdentifier
    self.startTicks = startTicks
    self.boot = boot
  }
}

/// What an app's Info.plist declares, as far as the system uses it.
package struct AppDeclaration: Sendable, Hashable {
  package var bundleIdentifier: String
  /// `bluetooth-central`, `bluetooth-peripheral`; other modes are ignored.
  package var backgroundModes: [String]
  /// The app starts with the system and again whenever it ends, unless the user quit it.
  package var keepAlive: Bool
  /// The app's own wake budget. `nil` for the machine's.
  package var wakeBudget: Duration?
  /// The app's name for people.
  package var displayName: String?
  /// How often the app's advertisements go out while it is in the foreground, in milliseconds. `nil` for 152.
  package var advertisingMilliseconds: UInt32?
  /// The app says which centrals it lets in; until it has, nobody (`CentralAdmission`).
  package var admitsCentrals: Bool
  package init(
    bundleIdentifier: String, backgroundModes: [String] = [], keepAlive: Bool = false, wakeBudget: Duration? = nil,
    displayName: String? = nil, advertisingMilliseconds: UInt32? = nil, admitsCentrals: Bool = false
  ) {
    self.admitsCentrals = admitsCentrals
    self.advertisingMilliseconds = advertisingMilliseconds
    self.bundleIdentifier = bundleIdentifier
    self.backgroundModes = backgroundModes
    self.keepAlive = keepAlive
    self.wakeBudget = wakeBudget
    self.displayName = displayName
  }

  /// The wake budgets that may be set, in seconds.
  package static let wakeBudgetSeconds = 1.0...600.0
  /// The advertising intervals that may be set, in milliseconds (Bluetooth Core, Vol 4, Part E, 7.8.5).
  package static let advertisingMillisecondsRange: ClosedRange<UInt32> = 20...10_240
}

/// An installed app that can't be used, because something is wrong with its Info.plist.
package struct LeftOutApp: Sendable, Hashable {
  /// What a person may call it: its identifier if it has one, otherwise its folder's name.
  package var name: String
  /// A sentence that says what is wrong.
  package var reason: String
  package init(name: String, reason: String) {
    self.name = name
    self.reason = reason
  }
}

/// Why an app is started.
package enum LaunchReason: String, Sendable, Hashable, Codable, CaseIterable {
  /// The user opened it.
  case opened
  /// Something happened that its state was preserved for.
  case restore
  /// The app is declared to run always.
  case keepAlive = "keep-alive"
}

/// What an app is told when it starts.
package struct LaunchOptions: Sendable, Hashable {
  package var reason: LaunchReason
  /// Restore identifiers (`UIApplicationLaunchOptionsBluetoothCentralsKey`, `…PeripheralsKey`).
  package var centrals: [String]
  package var peripherals: [String]
  package init(reason: LaunchReason, centrals: [String] = [], peripherals: [String] = []) {
    self.reason = reason
    self.centrals = centrals
    self.peripherals = peripherals
  }
}

extension BluetoothSystem {
  /// Times and limits that the system's owner may set.
  package struct Configuration: Sendable, Hashable {
    /// The adapter to use, if the machine has several.
    package var adapter = AdapterChoice.first
    /// How long a woken app runs, and may take to finish what it was told. Apple's documented figure is about 10 s. An
    /// app that is always at work is stopped after six budgets (`WorkAccount`).
    package var wakeBudget: Duration = .seconds(10)
    /// For how long events do not wake an app that was always at work.
    package var throttleRest: Duration = .seconds(10)
    /// The company identifier of the manufacturer data that contain the overflow area of apps in the background
    /// (`OverflowArea`). `nil` switches the area off: the services of such apps are not advertised, and scans do not
    /// look for them.
    package var overflowCompany: UInt16? = OverflowArea.defaultCompany
    /// How an app in the background scans: for this long, once in each interval. An advertiser that follows Apple's
    /// guidelines is heard within 1.285 s.
    package var backgroundScanWindow: Duration = .milliseconds(1300)
    package var backgroundScanInterval: Duration = .seconds(10)
    /// After how long without a find the windows come only once in each of the later intervals.
    package var backgroundScanPatience: Duration = .seconds(600)
    package var backgroundScanLaterInterval: Duration = .seconds(30)
    /// How long an app without a background mode keeps running after the user left it.
    package var leaveGrace: Duration = .seconds(5)
    /// How long a started app may take to attach.
    package var launchBudget: Duration = .seconds(30)
    /// How many wake budgets in a row an app may overrun before it is killed.
    package var overrunsUntilKilled = 3
    /// How long an app may take to answer a remote read or write. bluetoothd gives up after 5.0 s.
    package var remoteRequestBudget: Duration = .milliseconds(4500)
    /// The most events that may wait for one app before outdated ones are removed. If eight times as many are still
    /// left after that, the app's process is ended.
    package var eventQueueLimit = 1000
    /// The most events that an app may have received and not yet handled. Later events wait.
    package var eventWindow = 1024
    /// The most connection requests and known peripherals of one manager, and of all managers of an app.
    package var peripheralLimit = 10_000
    package var appPeripheralLimit = 10_000
    /// The most reads and writes of remote centrals that may wait for apps: in total, and for one app.
    package var remoteRequestLimit = 256
    package var appRemoteRequestLimit = 64
    /// The most write commands that one app has not been told of. A command has no answer.
    package var remoteCommandLimit = 128
    /// The most operations that may wait for one peripheral.
    package var operationLimit = 256
    /// The most L2CAP channels that one app may be opening, and the most PSMs that it may have.
    package var channelOpeningLimit = 16
    package var publishedChannelLimit = 16
    /// The most managers of one app, services of one manager, and attributes of one service.
    package var managerLimit = 64
    package var serviceLimit = 64
    package var attributeLimit = 256
    /// The most attribute handles of one app. There are some 65,000 in all.
    package var handleLimit = 8192
    /// The most service UUIDs of one scan or advertisement, and of all scans of one app.
    package var uuidLimit = 128
    /// The most attributes that an app may claim to have found on one peripheral.
    package var viewLimit = 2048
    /// How many values an app may push before it needs more credit, and the shortest time after which half of that is
    /// returned. No radio carries more than a thousand values a second.
    package var updateCredit = 16
    package var updateInterval: Duration = .milliseconds(8)
    /// The most remote devices mirrored from bluetoothd, besides those that apps have asked for, and the most
    /// attributes over all devices.
    package var deviceLimit = 8192
    package var mirrorAttributeLimit = 65536
    package init() {}
  }

  /// Something that happens to the system.
  package enum Event: Sendable {
    /// The shell runs. This event comes first, and once.
    case started
    case daemon(DaemonMessage)
    case attach(AppLinkIdentifier, ProcessIdentity, Attachment, AnswerToken)
    case request(AppLinkIdentifier, AppLink.Request)
    case query(AppLinkIdentifier, Query, AnswerToken)
    case detached(AppLinkIdentifier)
    case control(ControlRequest, AnswerToken)
    /// Who asked an app for this gives it up, or is gone.
    case withdrawn(AnswerToken)
    /// The answer to `Effect.launch`.
    case appLaunched(String, ProcessIdentity)
    case appLaunchFailed(String, String)
    /// A process that was launched or adopted has ended. `how` is for people: `exit 0`, `signal 9`.
    case appEnded(String, ProcessIdentity, how: String)
    /// A peripheral does not let this machine connect. Only a simulated home (CoreBluetoothTestKit) sends this event:
    /// bluetoothd tries again and never reports a refusal.
    case connectionRefused(ObjectPath, PeerError)
    /// The time of an app in the background is over, even if it is told something again and again. Only a simulated
    /// home (CoreBluetoothTestKit) sends this event.
    case timeEnded(String)
    /// The machine's memory is short.
    case memoryPressure
    /// The machine was suspended and is running again.
    case resumedFromSleep
    /// `nextDeadline` has come, or the shell woke for reasons of its own.
    case timePassed
  }

  /// One thing for the shell to do, in the given order. Every `store` in an answer comes first, and is on disk before
  /// the shell goes on.
  package enum Effect: Sendable, Hashable {
    case store(StoreChange)
    case bluez(ClientMessage)
    case event(AppLink.Event, to: AppLinkIdentifier)
    case attachReply(AnswerToken, Result<AttachReply, AppLinkError>)
    case queryReply(AnswerToken, Result<QueryReply, AppLinkError>)
    case controlReply(AnswerToken, Result<SystemStatus, AppLinkError>)
    /// The answer to `askApp`. A refusal is a `controlReply`.
    case controlText(AnswerToken, String)
    case launch(String, LaunchOptions)
    /// Watch a process that the user, or an earlier run of the system, started. `appEnded` reports its end.
    case adopt(String, ProcessIdentity)
    case suspend(String, ProcessIdentity)
    case resume(String, ProcessIdentity)
    case kill(String, ProcessIdentity)
    /// A journal entry for an important event.
    case record(Recorded.Daemon, [JournalField: String])
  }
}

/// The mode of `UIBackgroundModes` that lets a manager with this role work in the background.
extension Role {
  var backgroundMode: String {
    switch self {
    case .central: "bluetooth-central"
    case .peripheral: "bluetooth-peripheral"
    }
  }
}
