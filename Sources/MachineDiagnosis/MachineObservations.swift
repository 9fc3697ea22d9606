import AppLink
import BlueZ
import MachineSetup

/// Something that was looked for: what it is, or why that can't be told.
package enum Observed<Content: Sendable & Equatable>: Sendable, Equatable {
  case known(Content)
  case hidden(reason: String)

  package var content: Content? { if case .known(let content) = self { content } else { nil } }
}

/// What was seen of a machine: plain facts, without any judgement.
package struct MachineObservations: Sendable, Equatable {
  /// The version of this command.
  package var version: String
  /// Seconds since 1970, by the machine's clock.
  package var unixSeconds: Double
  package var isRoot: Bool
  /// What the machine is set up as, or could be, by the apps that are installed.
  package var roles: Set<SetupRole>
  package var bus: Observed<ObservedBus>
  package var systemd: ObservedSystemd
  package var bluetoothd: ObservedBluetoothDaemon
  /// bluetoothd's main.conf.
  package var settings: Observed<BluetoothSettings>
  /// The switches of rfkill(8) for Bluetooth.
  package var switches: [RadioSwitch]
  /// The controllers that the kernel has, such as `hci0`.
  package var controllers: [String]
  /// The adapters that bluetoothd has.
  package var adapters: Observed<[ObservedAdapter]>
  package var latchkeyd: ObservedDaemon
  package var rights: ObservedRights
  package var clock: ObservedClock
  package var keys: [SetupRole: Observed<ObservedKeys>]
  package var store: Observed<ObservedStore>
  /// The other clients of the bus that are known to use Bluetooth.
  package var clients: Observed<[BusClient]>
  /// Events of latchkeyd's journal, oldest first.
  package var journal: Observed<[JournaledEvent]>
}

/// The bus that everything goes over.
package struct ObservedBus: Sendable, Equatable {
  /// Whether it is the machine's own bus, and not one from `DBUS_SYSTEM_BUS_ADDRESS`.
  package var isSystemBus: Bool
  /// Well-known names with an owner.
  package var names: Set<String>
  /// Names whose owner the bus would start.
  package var activatable: Set<String>
}

package enum ObservedSystemd: Sendable, Equatable {
  /// Another program is process 1.
  case absent
  case unreachable(reason: String)
  case units([String: ObservedUnit])

  package var units: [String: ObservedUnit]? { if case .units(let units) = self { units } else { nil } }
}

/// A unit, in systemd's words (org.freedesktop.systemd1(5)).
package struct ObservedUnit: Sendable, Equatable {
  /// `loaded`, `not-found`, `masked`, …
  package var loadState: String
  /// `enabled`, `disabled`, `static`, …; empty if there is no file.
  package var fileState: String
  /// `active`, `inactive`, `failed`, …
  package var activeState: String
  /// Why it failed: `exit-code`, `signal`, `watchdog`, …; `success` if it did not.
  package var result: String
  /// How often systemd has restarted it since it was last started by hand or by a boot.
  package var restarts: Int
  /// `Restart=`.
  package var restart: String
  /// `WatchdogSec=`, in microseconds; 0 for none.
  package var watchdogMicroseconds: Int
  package var user: String
  package var hasNoNewPrivileges: Bool
  package var dropIns: [String]
  /// Whether its files have changed since systemd read them.
  package var needsReload: Bool
  /// When it became active, in Unix seconds; `nil` if it is not.
  package var activeSince: Double?
}

package struct ObservedBluetoothDaemon: Sendable, Equatable {
  package enum Answer: Sendable, Equatable {
    /// Nobody owns `org.bluez`.
    case notThere
    case silent(reason: String)
    case answered
  }
  package var answer: Answer
  /// Whether its program is installed.
  package var isInstalled: Bool
  package var isSimulator: Bool
  /// Whether its program was replaced after it had started.
  package var isReplaced: Bool
  /// The version of the installed program.
  package var version: Observed<BlueZVersion>
  /// The kernel's release, such as `6.12.43`.
  package var kernel: String
}

/// A version of BlueZ.
package struct BlueZVersion: Sendable, Equatable, Comparable, CustomStringConvertible {
  package var major: Int
  package var minor: Int

  package init(_ major: Int, _ minor: Int) { (self.major, self.minor) = (major, minor) }

  /// The first version in a program's answer, such as `5.66` or `bluetoothctl: 5.66`.
  package init?(in text: String) {
    for word in text.split(whereSeparator: { $0.isWhitespace || $0 == ":" }).prefix(20) {
      let parts = word.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count >= 2, let major = Int(parts[0]), let minor = Int(parts[1].prefix { $0.isNumber }),
        (1...999).contains(major), (0...999).contains(minor)
      else { continue }
      self.init(major, minor)
      return
    }
    return nil
  }

  package var description: String { "\(major).\(minor)" }

  package static func < (left: Self, right: Self) -> Bool { (left.major, left.minor) < (right.major, right.minor) }
}

/// A switch of rfkill(8).
package struct RadioSwitch: Sendable, Equatable {
  package var name: String
  package var isSoftBlocked: Bool
  package var isHardBlocked: Bool
}

/// An adapter, as bluetoothd shows it.
package struct ObservedAdapter: Sendable, Equatable {
  /// Such as `hci0`.
  package var name: String
  package var address: String
  package var isPowered: Bool
  package var powerState: PowerState?
  package var isDiscovering: Bool
  /// `central`, `peripheral`, `central-peripheral`; `nil` if bluetoothd does not tell.
  package var roles: [String]?
  /// UUIDs of the kernel's experimental features that are on; `nil` if bluetoothd does not tell.
  package var experimentalFeatures: [String]?
  /// Advertisements that are registered, and that could be; `nil` if it can't advertise.
  package var advertisements: (active: Int, free: Int)?

  package static func == (left: Self, right: Self) -> Bool {
    left.name == right.name && left.address == right.address && left.isPowered == right.isPowered
      && left.powerState == right.powerState && left.isDiscovering == right.isDiscovering
      && left.roles == right.roles && left.experimentalFeatures == right.experimentalFeatures
      && left.advertisements?.active == right.advertisements?.active
      && left.advertisements?.free == right.advertisements?.free
  }
}

package struct ObservedDaemon: Sendable, Equatable {
  package enum Answer: Sendable, Equatable {
    /// Nobody owns its name.
    case notThere
    /// This user may not ask it.
    case refused
    case silent(reason: String)
    /// It answers, but not in this command's form.
    case otherForm(reason: String)
    case status(SystemStatus)
  }
  package var answer: Answer
  package var isInstalled: Bool
  /// Its process, if it runs and the bus knows it.
  package var process: ObservedProcess?
  /// The version that the installed program reports.
  package var version: Observed<String>
}

package struct ObservedProcess: Sendable, Equatable {
  package var identifier: Int32
  package var user: UInt32
  package var arguments: [String]
  /// The unit that it belongs to; `nil` if that is not known or there is none.
  package var unit: String?
  /// Its program was replaced after it had started.
  package var isReplaced: Bool

  /// The value of a long option, written in either way.
  package func option(_ name: String) -> String? {
    for (index, argument) in arguments.enumerated() {
      if argument == name { return arguments.dropFirst(index + 1).first }
      if argument.hasPrefix(name + "=") { return String(argument.dropFirst(name.count + 1)) }
    }
    return nil
  }
}

package struct ObservedRights: Sendable, Equatable {
  /// latchkeyd's bus policy is installed.
  package var hasPolicy: Observed<Bool>
  /// polkit's rules for latchkeyd's units are installed.
  package var hasPolkitRules: Observed<Bool>
}

package struct ObservedClock: Sendable, Equatable {
  /// Whether the clock is synchronised, according to systemd-timedated.
  package var isSynchronised: Observed<Bool>
  /// Whether CLOCK_BOOTTIME works here.
  package var hasBootTime: Bool
  /// How long the machine has been asleep since it was booted.
  package var asleepSeconds: Double
  /// Whether the kernel can put this machine to sleep.
  package var canSleep: Bool
}

package struct ObservedKeys: Sendable, Equatable {
  package enum State: Sendable, Equatable {
    case missing
    case lock(phones: Int)
    case phone
    /// A phone's key that waits for its lock.
    case pendingPhone
    /// Others may read or change them, or they belong to another user.
    case open(reason: String)
    case unusable(reason: String)
  }
  package var folder: String
  package var state: State
  /// The folder's mode, without its kind; `nil` if there is no folder.
  package var folderMode: UInt32?
  package var folderOwner: UInt32?
}

/// latchkeyd's folder of state.
package struct ObservedStore: Sendable, Equatable {
  package var path: String
  package var exists: Bool
  package var mode: UInt32
  package var owner: UInt32
  /// The kind of its file system, if it is one that may lose data: `tmpfs`, `ramfs`, `overlay`. Otherwise `nil`.
  package var volatileKind: String?
  package var isReadOnly: Bool
  package var freeBytes: Int
}

/// A process on the bus that is known to use bluetoothd.
package struct BusClient: Sendable, Hashable {
  package var name: String
  package var process: Int32
}

/// An event in latchkeyd's journal.
package struct JournaledEvent: Sendable, Equatable {
  /// Such as `link.stuck`.
  package var event: String
  package var unixSeconds: Double
  package var message: String
  package var fields: [String: String]

  package init(event: String, unixSeconds: Double, message: String = "", fields: [String: String] = [:]) {
    (self.event, self.unixSeconds, self.message, self.fields) = (event, unixSeconds, message, fields)
  }
}
