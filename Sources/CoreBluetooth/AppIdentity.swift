import Foundation

/// The app's identity, from its `Info.plist`.
package struct AppIdentity: Sendable, Hashable {
  /// `CFBundleIdentifier`
  package var bundleIdentifier: String
  /// `UIBackgroundModes`
  package var backgroundModes: [String]

  package init(bundleIdentifier: String, backgroundModes: [String] = []) {
    self.bundleIdentifier = bundleIdentifier
    self.backgroundModes = backgroundModes
  }

  /// Why there is no identity: the file, the key, and what to do.
  package struct Missing: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
    package init(description: String) { self.description = description }
  }

  /// The largest `Info.plist` that is read, in bytes.
  private static let maximumSize = 1 << 20

  /// Reads the property list at `LATCHKEY_INFO_PLIST`, or else `Info.plist` beside the executable.
  package static func ofThisProcess() throws(Missing) -> AppIdentity {
    // `ProcessInfo` would copy the whole environment, and every relaunched app runs this code before its first event.
    if let path = getenv("LATCHKEY_INFO_PLIST") {
      return try read(String(cString: path), foundBy: "the environment variable LATCHKEY_INFO_PLIST names it")
    }
    // `Bundle.main` lists the program's folder twice when it is first used, so it is used only where it is needed.
    let executable = Bundle.main.executablePath ?? CommandLine.arguments.first ?? ""
    let path = URL(fileURLWithPath: executable).deletingLastPathComponent().appendingPathComponent("Info.plist").path
    return try read(path, foundBy: "it is looked for beside the executable; LATCHKEY_INFO_PLIST can name another")
  }

  private static func read(_ path: String, foundBy reason: String) throws(Missing) -> AppIdentity {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Missing(description: "no readable Info.plist at \(path) (\(reason))")
    }
    guard data.count <= maximumSize else {
      throw Missing(description: "\(path) has \(data.count) bytes; an Info.plist has at most \(maximumSize)")
    }
    guard let any = try? PropertyListSerialization.propertyList(from: data, format: nil),
      let keys = any as? [String: Any]
    else { throw Missing(description: "\(path) is not a property list with a dictionary (\(reason))") }
    guard let identifier = keys["CFBundleIdentifier"] as? String, !identifier.isEmpty else {
      throw Missing(description: "\(path) has no CFBundleIdentifier, a string that is not empty")
    }
    let modes = keys["UIBackgroundModes"]
    guard modes == nil || modes is [String] else {
      throw Missing(description: "UIBackgroundModes in \(path) is not an array of strings")
    }
    return AppIdentity(bundleIdentifier: identifier, backgroundModes: modes as? [String] ?? [])
  }
}
