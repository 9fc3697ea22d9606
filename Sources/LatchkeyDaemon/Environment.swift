import BluetoothSystem
import Foundation

/// The environment of an app that latchkeyd starts.
struct AppEnvironment: Sendable {
  let folder: StateFolder
  /// The folder of apps' credentials, with one folder per app, or `nil` for none.
  let credentials: String?
  let inherited: [String: String]

  /// Variables that systemd sets for latchkeyd alone.
  private static let own: Set<String> = [
    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "STATE_DIRECTORY",
    "CREDENTIALS_DIRECTORY", "RUNTIME_DIRECTORY", "INVOCATION_ID",
  ]

  /// Where Foundation looks for an app's home, its UserDefaults and its folders. As on iOS they are the app's own.
  private static let places = [
    "CFFIXED_USER_HOME": "", "XDG_CONFIG_HOME": "/.config", "XDG_DATA_HOME": "/.local/share",
    "XDG_CACHE_HOME": "/.cache",
  ]

  func variables(for app: InstalledApp) throws -> [String: String] {
    var variables = inherited.filter { !Self.own.contains($0.key) }
    variables.merge(app.environment) { $1 }
    let name = app.declaration.bundleIdentifier
    variables["LATCHKEY_INFO_PLIST"] = app.infoPlist
    let home = try folder.appFolder(name)
    variables["STATE_DIRECTORY"] = home
    for (variable, place) in Self.places where app.environment[variable] == nil { variables[variable] = home + place }
    if let credentials { variables["CREDENTIALS_DIRECTORY"] = credentials + "/" + name }
    return variables
  }
}
