import BluetoothSystem
import Foundation
import Glibc
import JournalEvents
import Worlds
import Yams

/// Reads the apps that a scenario describes.
struct AppReader {
  let file: String

  static let maximumApps = 32
  static let maximumTexts = 64
  static let maximumTextLength = 4096
  static let maximumPropertyListSize = 1 << 20

  /// The background modes that Apple documents. A misspelt mode would have no effect and no error.
  static let backgroundModes = [
    "bluetooth-central", "bluetooth-peripheral", "audio", "external-accessory", "fetch", "location",
    "nearby-interaction",
    "newsstand-content", "processing", "push-to-talk", "remote-notification", "voip",
  ]

  static func apps(_ scenario: MappingReader) throws(ScenarioError) -> [InstalledApp] {
    guard let node = scenario.node("apps") else { return [] }
    let reader = try MappingReader(node, subject: "'apps'", file: scenario.file)
    guard (1...maximumApps).contains(reader.keys.count) else {
      throw reader.error("'apps' describes 1 to \(maximumApps) apps")
    }
    var apps: [InstalledApp] = []
    for name in reader.keys { apps.append(try AppReader(file: scenario.file).app(name, reader)) }
    return apps
  }

  private func app(_ name: String, _ apps: MappingReader) throws(ScenarioError) -> InstalledApp {
    guard ScenarioParser.isName(name) else {
      throw apps.error("an app's name is at most 32 of a-z, 0-9 and '-', not '\(name)'", at: name)
    }
    guard !InstalledApp.own.contains(where: { $0.name == name }), !Recorded.processes.contains(name) else {
      throw apps.error("'\(name)' is the name of one of Latchkey's own programs; give the app another", at: name)
    }
    let reader = try MappingReader(try apps.required(name), subject: "app '\(name)'", file: file)
    try reader.allow(["info plist", "executable", "arguments", "environment", "clock"])
    let keys = try propertyList(reader)
    let identifier = try identifier(keys, reader)
    try checkModes(keys, reader)
    try checkNames(keys, reader)
    try checkTypes(keys, reader)
    let executable = try executable(keys, reader)
    return InstalledApp(
      name: name, bundleIdentifier: identifier, executable: executable,
      propertyList: try data(keys, reader), arguments: reader.has("arguments") ? try arguments(reader) : nil,
      environment: try environment(reader),
      clock: reader.has("clock") ? try reader.choice("clock", AppClock.self) : .world,
      source: InstalledApp.Source(
        file: file, line: reader.lineNumber(of: reader.has("executable") ? "executable" : "info plist")))
  }

  // MARK: Info.plist

  /// A relative path is relative to the scenario's folder.
  private func path(_ text: String) -> String {
    let text = (text as NSString).expandingTildeInPath
    guard !text.hasPrefix("/") else { return text }
    return URL(fileURLWithPath: file).deletingLastPathComponent().appendingPathComponent(text).standardizedFileURL.path
  }

  private func propertyList(_ reader: MappingReader) throws(ScenarioError) -> [String: Any] {
    let node = try reader.required("info plist")
    guard node.scalar != nil else {
      let keys = try MappingReader(node, subject: "'info plist' of \(reader.subject)", file: file)
      var values: [String: Any] = [:]
      for key in keys.keys { values[key] = try value(try keys.required(key), key, depth: 0) }
      return values
    }
    let path = path(try reader.text("info plist"))
    let data = try contents(path, reader)
    guard data.count <= Self.maximumPropertyListSize else {
      throw reader.error(
        "the Info.plist \(path) has more than \(Self.maximumPropertyListSize) bytes", at: "info plist")
    }
    guard let keys = (try? PropertyListSerialization.propertyList(from: data, format: nil)) as? [String: Any] else {
      throw reader.error("\(path) is not a property list with a dictionary", at: "info plist")
    }
    return keys
  }

  /// The beginning of the file. It is examined first, so that nothing waits for the writer of a pipe.
  private func contents(_ path: String, _ reader: MappingReader) throws(ScenarioError) -> Data {
    func refusal() -> ScenarioError {
      reader.error("the Info.plist \(path) can't be read: \(String(cString: strerror(errno)))", at: "info plist")
    }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw refusal() }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw refusal() }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw reader.error("the Info.plist \(path) is not a file", at: "info plist")
    }
    do { return try file.read(upToCount: Self.maximumPropertyListSize + 1) ?? Data() } catch { throw refusal() }
  }

  private func value(_ node: Node, _ key: String, depth: Int) throws(ScenarioError) -> Any {
    func refusal(_ problem: String) -> ScenarioError {
      ScenarioError(file: file, line: node.mark?.line, problem: "'\(key)' in 'info plist' \(problem)")
    }
    guard depth < 8 else { throw refusal("is nested too deeply") }
    switch node {
    case .scalar(let scalar):
      guard scalar.style == .any || scalar.style == .plain else { return scalar.string }
      switch scalar.string {
      case "true": return true
      case "false": return false
      default: return Int(scalar.string) ?? scalar.string
      }
    case .sequence(let sequence):
      var values: [Any] = []
      for node in sequence { values.append(try value(node, key, depth: depth + 1)) }
      return values
    case .mapping:
      let reader = try MappingReader(node, subject: "'\(key)'", file: file)
      var values: [String: Any] = [:]
      for name in reader.keys { values[name] = try value(try reader.required(name), name, depth: depth + 1) }
      return values
    case .alias: throw refusal("is an alias, which can't be used here")
    }
  }

  private func data(_ keys: [String: Any], _ reader: MappingReader) throws(ScenarioError) -> Data {
    do { return try WrittenPropertyList.data(keys) } catch {
      throw reader.error("its Info.plist has a value that a property list can't have", at: "info plist")
    }
  }

  private func identifier(_ keys: [String: Any], _ reader: MappingReader) throws(ScenarioError) -> String {
    guard let identifier = keys["CFBundleIdentifier"] as? String, Self.isIdentifier(identifier) else {
      throw reader.error(
        "the Info.plist of \(reader.subject) needs a CFBundleIdentifier of letters, digits, dots and hyphens, as in "
          + "org.example.app", at: "info plist")
    }
    if let own = InstalledApp.own.first(where: { $0.bundleIdentifier == identifier }) {
      throw reader.error(
        "the CFBundleIdentifier of \(reader.subject), '\(identifier)', is that of Latchkey's own \(own.name)",
        at: "info plist")
    }
    return identifier
  }

  /// Whether latchkeyd accepts this as a bundle identifier.
  private static func isIdentifier(_ text: String) -> Bool {
    guard (1...128).contains(text.utf8.count), !text.hasPrefix("."), !text.hasPrefix("-") else { return false }
    return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "-") }
  }

  private func checkModes(_ keys: [String: Any], _ reader: MappingReader) throws(ScenarioError) {
    guard let any = keys["UIBackgroundModes"] else { return }
    guard let modes = any as? [String] else {
      throw reader.error("UIBackgroundModes of \(reader.subject) is not an array of strings", at: "info plist")
    }
    guard let unknown = modes.first(where: { !Self.backgroundModes.contains($0) }) else { return }
    throw reader.error(
      "UIBackgroundModes of \(reader.subject) has '\(unknown)', which is no background mode", at: "info plist",
      choices: EventNames.nearest(to: unknown, among: Set(Self.backgroundModes)))
  }

  /// The keys that latchkeyd knows.
  static let keys: Set = [
    "CFBundleIdentifier", "CFBundleExecutable", "CFBundleDisplayName", "CFBundleName", "UIBackgroundModes",
    "LSEnvironment", "LatchkeyKeepAlive", "LatchkeyArguments", "LatchkeyWakeBudgetSeconds",
    "LatchkeyAdvertisingIntervalMilliseconds", "LatchkeyAdmitsCentrals", "LatchkeySystemdUnit",
  ]

  /// An `Info.plist` may have any keys. But a key that is almost a known one is likely misspelt, and would have no
  /// effect and no error.
  private func checkNames(_ keys: [String: Any], _ reader: MappingReader) throws(ScenarioError) {
    for key in keys.keys.sorted() where !Self.keys.contains(key) {
      let nearest = EventNames.nearest(to: key, among: Self.keys)
      guard let likely = nearest.first, key.hasPrefix("Latchkey") || EventNames.distance(key, likely) == 1 else {
        continue
      }
      throw reader.error(
        "the Info.plist of \(reader.subject) has the key '\(key)', which nothing reads", at: "info plist",
        choices: nearest)
    }
  }

  /// latchkeyd leaves an app out if one of these is of another type.
  private func checkTypes(_ keys: [String: Any], _ reader: MappingReader) throws(ScenarioError) {
    func check<Value>(_ key: String, _ type: Value.Type, _ what: String) throws(ScenarioError) {
      guard let any = keys[key], !(any is Value) else { return }
      throw reader.error("\(key) of \(reader.subject) is not \(what)", at: "info plist")
    }
    /// - Parameter isValid: whether a number is valid. A Boolean is not a number.
    func checkNumber(_ key: String, _ what: String, _ isValid: (Double) -> Bool) throws(ScenarioError) {
      guard let any = keys[key] else { return }
      let number = (any as? NSNumber).flatMap { String(cString: $0.objCType) == "c" ? nil : $0.doubleValue }
      guard let number = number ?? (any as? Double) ?? (any as? Int).map(Double.init), isValid(number) else {
        throw reader.error("\(key) of \(reader.subject) is not \(what)", at: "info plist")
      }
    }
    let budget = AppDeclaration.wakeBudgetSeconds
    try checkNumber(
      "LatchkeyWakeBudgetSeconds", "a number from \(Int(budget.lowerBound)) to \(Int(budget.upperBound))",
      budget.contains)
    let interval = AppDeclaration.advertisingMillisecondsRange
    try checkNumber(
      "LatchkeyAdvertisingIntervalMilliseconds", "a whole number from \(interval.lowerBound) to \(interval.upperBound)"
    ) { UInt32(exactly: $0).map(interval.contains) ?? false }
    try check("LatchkeyAdmitsCentrals", Bool.self, "true or false")
    try check("CFBundleDisplayName", String.self, "a string")
    try check("CFBundleName", String.self, "a string")
    for key in ["CFBundleDisplayName", "CFBundleName"] {
      if let problem = (keys[key] as? String).flatMap(MappingReader.unprintable) {
        throw reader.error("\(key) of \(reader.subject) \(problem)", at: "info plist")
      }
    }
    try check("CFBundleExecutable", String.self, "a string")
    try check("LatchkeyKeepAlive", Bool.self, "true or false")
    try check("LatchkeyArguments", [String].self, "an array of strings")
    try check("LSEnvironment", [String: String].self, "a dictionary of strings")
  }

  // MARK: The program

  private func executable(_ keys: [String: Any], _ reader: MappingReader) throws(ScenarioError) -> String {
    let bundled = keys["CFBundleExecutable"] as? String
    guard let given = try reader.optionalText("executable") ?? bundled, !given.isEmpty else {
      throw reader.error("\(reader.subject) has no 'executable', and its Info.plist no CFBundleExecutable")
    }
    func name(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }
    if let bundled, name(bundled) != name(given) {
      throw reader.error(
        "'executable' of \(reader.subject) is '\(name(given))', and its Info.plist names '\(name(bundled))' as its "
          + "CFBundleExecutable", at: "executable")
    }
    return given.contains("/") ? path(given) : given
  }

  private func arguments(_ reader: MappingReader) throws(ScenarioError) -> [String] {
    let nodes = try reader.list("arguments")
    guard nodes.count <= Self.maximumTexts else {
      throw reader.error("\(reader.subject) has more than \(Self.maximumTexts) arguments", at: "arguments")
    }
    var arguments: [String] = []
    for node in nodes { arguments.append(try text(node, "an argument of \(reader.subject)")) }
    return arguments
  }

  private func environment(_ reader: MappingReader) throws(ScenarioError) -> [String: String] {
    guard let node = reader.node("environment") else { return [:] }
    let variables = try MappingReader(node, subject: "'environment' of \(reader.subject)", file: file)
    guard variables.keys.count <= Self.maximumTexts else {
      throw variables.error("\(reader.subject) has more than \(Self.maximumTexts) variables")
    }
    var environment: [String: String] = [:]
    for name in variables.keys {
      let isWord = name.utf8.count <= 64 && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
      guard isWord, name.first?.isNumber == false else {
        throw variables.error("a variable's name is made of letters, digits and '_', unlike '\(name)'", at: name)
      }
      guard !Self.isReserved(name) else {
        throw variables.error("the variable \(name) is the world's own, and can't be set", at: name)
      }
      environment[name] = try text(try variables.required(name), "the variable \(name)")
    }
    return environment
  }

  private static func isReserved(_ name: String) -> Bool {
    name.hasPrefix("LATCHKEY_") || name.hasPrefix("DBUS_")
      || ["STATE_DIRECTORY", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "JOURNAL_STREAM"].contains(name)
  }

  private func text(_ node: Node, _ what: String) throws(ScenarioError) -> String {
    func refusal(_ problem: String, _ choices: [String] = []) -> ScenarioError {
      ScenarioError(file: file, line: node.mark?.line, problem: "\(what) \(problem)", choices: choices)
    }
    guard let text = node.scalar?.string else { throw refusal("must be a line of text") }
    guard text.utf8.count <= Self.maximumTextLength else {
      throw refusal("has more than \(Self.maximumTextLength) bytes")
    }
    if let problem = MappingReader.unprintable(in: text) { throw refusal(problem) }
    let words = text.matches(of: /\{([a-z]+)\}/).map { String($0.1) }
    if let unknown = words.first(where: { !InstalledApp.placeholders.contains($0) }) {
      throw refusal("has '{\(unknown)}', which stands for nothing", InstalledApp.placeholders.map { "{\($0)}" })
    }
    return text
  }
}
