import Foundation
import JournalEvents

/// The `Info.plist` of an app that a story's machine has installed.
struct AppDescription {
  let app: InstalledApp
  /// The values of the words in braces in arguments and variables.
  let places: [String: String]
  /// The file that its output goes to.
  private let output: String?

  /// - Parameters:
  ///   - home: the folder for the app's own data, which outlives reboots.
  ///   - machine: the name of its machine.
  ///   - output: the file that its output goes to, if its calls are to be recorded there.
  init(_ app: InstalledApp, home: String, machine: String, output: String? = nil) {
    self.app = app
    self.output = output
    let file = app.source?.file ?? "."
    places = [
      "home": home, "machine": machine,
      "scenario": URL(fileURLWithPath: file).deletingLastPathComponent().standardizedFileURL.path,
    ]
  }

  private var ownKeys: [String: Any] {
    (try? PropertyListSerialization.propertyList(from: app.propertyList, format: nil)) as? [String: Any] ?? [:]
  }

  /// The arguments of its program.
  var arguments: [String] {
    app.arguments.map { $0.map(filled) } ?? ownKeys["LatchkeyArguments"] as? [String] ?? []
  }

  /// The app's own keys, with the story's program, arguments and variables.
  ///
  /// - Parameters:
  ///   - unit: the systemd unit that runs it. A simulated machine starts its programs itself.
  ///   - storyTime: the library that gives it the time of a simulated world.
  func propertyList(executable: String, unit: String? = nil, storyTime: String? = nil) throws -> Data {
    var keys = ownKeys
    keys["CFBundleIdentifier"] = app.bundleIdentifier
    keys["CFBundleExecutable"] = executable
    keys["LatchkeySystemdUnit"] = unit
    if app.arguments != nil { keys["LatchkeyArguments"] = arguments }
    var variables = keys["LSEnvironment"] as? [String: String] ?? [:]
    variables.merge(app.environment.mapValues(filled)) { $1 }
    if app.isDescribed { variables[DelegateRecord.variable] = output }
    // An empty variable makes the app use the machine's clock.
    if app.clock == .machine { variables["LATCHKEY_CLOCK"] = "" }
    // This package's own apps know the world's clock.
    if app.clock == .world, app.isDescribed, let storyTime {
      variables[Self.preloaded] = [storyTime, variables[Self.preloaded]].compactMap { $0 }.joined(separator: ":")
    }
    keys["LSEnvironment"] = variables.isEmpty ? nil : variables
    do {
      return try WrittenPropertyList.data(keys)
    } catch {
      throw WorldError("the Info.plist of the app '\(app.name)' can't be written: \(error)")
    }
  }

  /// Names the libraries that come before all others (ld.so(8)).
  private static let preloaded = "LD_PRELOAD"

  private func filled(_ text: String) -> String {
    places.reduce(text) { $0.replacingOccurrences(of: "{\($1.key)}", with: $1.value) }
  }
}
