import BluetoothSystem
import Foundation

/// What an app started by latchkeyd finds in its environment.
struct AppEnvironment: Sendable {
  let folder: StateFolder
  /// Where apps' credentials are, one folder each; `nil`: none.
  let credentials: String?
  let inherited: [String: String]

  /// Variables of systemd's to latchkeyd, which are nobody else's.
  private static let own: Set<String> = [
    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "STATE_DIRECTORY",
    "CREDENTIALS_DIRECTORY", "RUNTIME_DIRECTORY", "INVOCATION_ID",
  ]

  func variables(for app: InstalledApp) throws -> [String: String] {
    var variables = inherited.filter { !Self.own.contains($0.key) }
    let name = app.declaration.bundleIdentifier
    variables["LATCHKEY_INFO_PLIST"] = app.infoPlist
    variables["STATE_DIRECTORY"] = try folder.appFolder(name)
    if let credentials { variables["CREDENTIALS_DIRECTORY"] = credentials + "/" + name }
    return variables
  }
}
