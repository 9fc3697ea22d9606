import Foundation

/// An app that machines of a story can have: the package's lock and agent, or one that the scenario describes.
package struct InstalledApp: Sendable, Hashable, CustomStringConvertible {
  /// Its name in the scenario.
  package var name: String
  package var bundleIdentifier: String
  /// Its program: a name that is looked for in the folders of programs, or an absolute path.
  package var executable: String
  /// The keys of its `Info.plist`, as a property list. What the story says about the program is added to them.
  package var propertyList: Data
  /// Arguments of its program instead of those in its `Info.plist`, or `nil` for those.
  package var arguments: [String]?
  /// Variables that are added to its environment.
  package var environment: [String: String]
  package var clock: AppClock
  /// The systemd unit that runs it on a machine that is not simulated.
  package var unit: String?
  /// Whether the story's author describes this app. Its delegate calls and its own records are then read from its
  /// output. The package's apps write to the journal themselves.
  package var isDescribed: Bool
  /// Where the scenario names its program, for errors.
  package var source: Source?

  package struct Source: Sendable, Hashable {
    package var file: String
    package var line: Int?
    package init(file: String, line: Int?) {
      self.file = file
      self.line = line
    }
  }

  package init(
    name: String, bundleIdentifier: String, executable: String, propertyList: Data, arguments: [String]? = nil,
    environment: [String: String] = [:], clock: AppClock = .world, unit: String? = nil, isDescribed: Bool = true,
    source: Source? = nil
  ) {
    self.name = name
    self.bundleIdentifier = bundleIdentifier
    self.executable = executable
    self.propertyList = propertyList
    self.arguments = arguments
    self.environment = environment
    self.clock = clock
    self.unit = unit
    self.isDescribed = isDescribed
    self.source = source
  }

  package var description: String { name }

  /// The words that may stand in braces in arguments and variables: the folder of the app's data, which outlives reboots,
  /// the name of its machine, and the folder of the scenario.
  package static let placeholders = ["home", "machine", "scenario"]

  /// The name of its program's file.
  package var program: String { String(executable.split(separator: "/").last ?? "") }
}

/// The clock of an app in a simulated world.
package enum AppClock: String, Sendable, CaseIterable {
  /// The world's, which leaps from one alarm to the next.
  case world
  /// The machine's own. Its timers take real time, and nothing waits for them.
  case machine
}

extension InstalledApp {
  /// The phone's side of the lock.
  package static let agent = own("agent", mode: "bluetooth-central")
  /// A lock's system runs its firmware whenever it has power. A phone runs an app when the user opens it.
  package static let lock = own("lock", mode: "bluetooth-peripheral", keepAlive: true, admits: true)

  /// The apps of this package, which every scenario knows.
  package static let own: [InstalledApp] = [agent, lock]

  private static func own(_ name: String, mode: String, keepAlive: Bool = false, admits: Bool = false) -> InstalledApp {
    let identifier = "org.latchkey.\(name)"
    let keys: [String: Any] = [
      "CFBundleIdentifier": identifier, "UIBackgroundModes": [mode], "LatchkeyKeepAlive": keepAlive,
      "LatchkeyAdmitsCentrals": admits,
    ]
    return InstalledApp(
      name: name, bundleIdentifier: identifier, executable: "latchkey-\(name)",
      // Strings and truth values always have a form as a property list.
      propertyList: (try? WrittenPropertyList.data(keys)) ?? Data(),
      unit: "latchkey-\(name).service", isDescribed: false)
  }
}
