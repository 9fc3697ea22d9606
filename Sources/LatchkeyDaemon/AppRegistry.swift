import BluetoothSystem
import Foundation

/// An app of this machine, as described by its Info.plist.
package struct InstalledApp: Sendable, Hashable {
  package var declaration: AppDeclaration
  /// The absolute path of its program.
  package var executable: String
  package var arguments: [String]
  package var infoPlist: String
  /// The systemd unit that runs it, if systemd is the supervisor.
  package var systemdUnit: String?
  /// Variables that are added to its environment if latchkeyd itself starts it.
  package var environment: [String: String] = [:]
}

/// The apps of this machine: one folder each, with an Info.plist.
package struct AppRegistry: Sendable {
  package private(set) var apps: [String: InstalledApp] = [:]
  /// The apps that can't be used. One bad app does not stop the others.
  package private(set) var leftOut: [LeftOutApp] = []

  /// The largest Info.plist that is read, in bytes, and the most apps.
  private static let sizeLimit = 1 << 20
  private static let appLimit = 256

  /// Reads `FOLDER/*/Info.plist`.
  /// - Parameter programFolder: where to look for an executable given by name alone.
  /// - Throws: `DaemonError` if the folder itself can't be read.
  package init(folder: String, programFolder: String) throws(DaemonError) {
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted() } catch {
      throw DaemonError(
        "The apps folder \(folder) can't be read (\(error.localizedDescription)); create it, or name another "
          + "with --apps.", needsPerson: true)
    }
    for name in names.filter({ !$0.hasPrefix(".") }) {
      let place = folder + "/" + name
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: place, isDirectory: &isFolder), isFolder.boolValue else { continue }
      guard apps.count < Self.appLimit else {
        leftOut.append(
          LeftOutApp(name: name, reason: "\(place) is one too many: \(Self.appLimit) apps can be there."))
        break
      }
      do throws(DaemonError) {
        let app = try Self.read(place + "/Info.plist", programFolder: programFolder)
        if let other = apps[app.declaration.bundleIdentifier] {
          throw DaemonError(
            "\(app.infoPlist) declares \"\(app.declaration.bundleIdentifier)\", which \(other.infoPlist) has already.")
        }
        apps[app.declaration.bundleIdentifier] = app
      } catch {
        leftOut.append(
          LeftOutApp(name: Self.identifier(in: place + "/Info.plist") ?? name, reason: error.description))
      }
    }
  }

  /// The identifier in an Info.plist that is wrong otherwise, because people know the app by it.
  private static func identifier(in path: String) -> String? {
    let identifier = try? contents(of: path)["CFBundleIdentifier"] as? String
    return identifier.flatMap { isIdentifier($0) ? $0 : nil }
  }

  private static func contents(of path: String) throws(DaemonError) -> [String: Any] {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw DaemonError("\(path) is missing or can't be read; an app's folder needs one.")
    }
    guard data.count <= sizeLimit else {
      throw DaemonError("\(path) has \(data.count) bytes; \(sizeLimit) are allowed.")
    }
    guard let plist = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any] else {
      throw DaemonError("\(path) is not a property list with a dictionary.")
    }
    return plist
  }

  private static func read(_ path: String, programFolder: String) throws(DaemonError) -> InstalledApp {
    let plist = try contents(of: path)
    func value<T>(_ key: String, _ type: T.Type, _ what: String) throws(DaemonError) -> T? {
      guard let any = plist[key] else { return nil }
      guard let value = any as? T else { throw DaemonError("\(key) in \(path) is not \(what).") }
      return value
    }
    guard let identifier = try value("CFBundleIdentifier", String.self, "a string"), isIdentifier(identifier) else {
      throw DaemonError(
        "\(path) needs a CFBundleIdentifier of letters, digits, dots and hyphens, as in org.example.app.")
    }
    guard let executable = try value("CFBundleExecutable", String.self, "a string"), !executable.isEmpty else {
      throw DaemonError("\(path) needs a CFBundleExecutable: the path of the app's program.")
    }
    let program = executable.hasPrefix("/") ? executable : programFolder + "/" + executable
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw DaemonError("CFBundleExecutable in \(path) names \(program), which is not a program that can be run.")
    }
    let unit = try value("LatchkeySystemdUnit", String.self, "a string")
    if let unit, !isServiceName(unit) {
      throw DaemonError(
        "LatchkeySystemdUnit in \(path) is \"\(unit.prefix(256))\", which is not the name of a service unit, "
          + "such as my-app.service.")
    }
    let displayName = try value("CFBundleDisplayName", String.self, "a string")
    let bundleName = try value("CFBundleName", String.self, "a string")
    return InstalledApp(
      declaration: AppDeclaration(
        bundleIdentifier: identifier,
        backgroundModes: try value("UIBackgroundModes", [String].self, "an array of strings") ?? [],
        keepAlive: try value("LatchkeyKeepAlive", Bool.self, "true or false") ?? false,
        wakeBudget: try wakeBudget(plist, path),
        displayName: try name(displayName ?? bundleName, path),
        advertisingMilliseconds: try advertisingInterval(plist, path),
        admitsCentrals: try value("LatchkeyAdmitsCentrals", Bool.self, "true or false") ?? false),
      executable: program, arguments: try value("LatchkeyArguments", [String].self, "an array of strings") ?? [],
      infoPlist: path, systemdUnit: unit,
      environment: try environment(value("LSEnvironment", [String: String].self, "a dictionary of strings"), path))
  }

  /// What latchkeyd itself tells an app can't be set.
  private static let reserved = ["LATCHKEY_INFO_PLIST", "STATE_DIRECTORY", "CREDENTIALS_DIRECTORY"]

  private static func environment(
    _ variables: [String: String]?, _ path: String
  ) throws(DaemonError) -> [String: String] {
    for name in (variables ?? [:]).keys.sorted() {
      guard !name.isEmpty, !name.utf8.contains(where: { $0 == UInt8(ascii: "=") || $0 == 0 }), !reserved.contains(name),
        variables?[name]?.utf8.contains(0) != true
      else { throw DaemonError("LSEnvironment in \(path) can't set the variable \"\(name.prefix(64))\".") }
    }
    return variables ?? [:]
  }

  /// A name for people, which is shown on one line.
  private static func name(_ text: String?, _ path: String) throws(DaemonError) -> String? {
    guard let text else { return nil }
    guard (1...128).contains(text.utf8.count),
      text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
    else { throw DaemonError("The app's name in \(path) is not one line of 1 to 128 bytes.") }
    return text
  }

  private static func wakeBudget(_ plist: [String: Any], _ path: String) throws(DaemonError) -> Duration? {
    let key = "LatchkeyWakeBudgetSeconds"
    guard let any = plist[key] else { return nil }
    let range = AppDeclaration.wakeBudgetSeconds
    let number = (any as? NSNumber).flatMap { String(cString: $0.objCType) == "c" ? nil : $0.doubleValue }
    guard let seconds = number ?? (any as? Double) ?? (any as? Int).map(Double.init), range.contains(seconds) else {
      throw DaemonError(
        "\(key) in \(path) is not a number from \(Int(range.lowerBound)) to \(Int(range.upperBound)).")
    }
    return .milliseconds(Int64(seconds * 1000))
  }

  private static func advertisingInterval(_ plist: [String: Any], _ path: String) throws(DaemonError) -> UInt32? {
    let key = "LatchkeyAdvertisingIntervalMilliseconds"
    guard let any = plist[key] else { return nil }
    let range = AppDeclaration.advertisingMillisecondsRange
    let number = (any as? NSNumber).flatMap { String(cString: $0.objCType) == "c" ? nil : $0.doubleValue }
    guard let interval = (number ?? (any as? Int).map(Double.init)).flatMap({ UInt32(exactly: $0) }),
      range.contains(interval)
    else {
      throw DaemonError("\(key) in \(path) is not a whole number from \(range.lowerBound) to \(range.upperBound).")
    }
    return interval
  }

  /// Whether systemd accepts the text as the name of a service that can be started (systemd.unit(5)). A template
  /// without an instance can't.
  static func isServiceName(_ text: String) -> Bool {
    guard text.utf8.count <= 255, text.hasSuffix(".service"), text.utf8.count > ".service".utf8.count,
      !text.hasPrefix("@"), !text.hasSuffix("@.service")
    else { return false }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: ":-_.\\@".utf8.contains(byte)
      }
    }
  }

  /// The identifier is also used in folder names, so it contains no slash and does not begin with a dot.
  private static func isIdentifier(_ text: String) -> Bool {
    guard (1...128).contains(text.utf8.count), !text.hasPrefix("."), !text.hasPrefix("-") else { return false }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
        true
      default: false
      }
    }
  }
}
