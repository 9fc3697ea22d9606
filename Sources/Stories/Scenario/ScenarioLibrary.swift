import Foundation
import Glibc
import Worlds

/// Finds scenarios: a file by its path, or one of the package's own by its name.
package enum ScenarioLibrary {
  /// The folders that may contain scenarios, in the order in which they are searched.
  package static func folders(
    environment: [String: String] = ProcessInfo.processInfo.environment, executableFolder: String
  ) -> [String] {
    var folders: [String] = []
    if let own = environment["LATCHKEY_SCENARIOS"], !own.isEmpty { folders.append(own) }
    folders.append(FileManager.default.currentDirectoryPath + "/config/scenarios")
    // Beside the package: the build folder is in the package, at most four levels up
    // (.build/TRIPLE/release/latchkey).
    var folder = URL(fileURLWithPath: executableFolder)
    for _ in 0..<5 {
      folders.append(folder.appendingPathComponent("config/scenarios").path)
      folder.deleteLastPathComponent()
    }
    folders.append(
      URL(fileURLWithPath: executableFolder).deletingLastPathComponent()
        .appendingPathComponent("share/latchkey/scenarios").path)
    return folders
  }

  package static func load(
    _ nameOrFile: String, environment: [String: String] = ProcessInfo.processInfo.environment, executableFolder: String
  ) throws(ScenarioError) -> Scenario {
    let path = try locate(nameOrFile, environment: environment, executableFolder: executableFolder)
    return try ScenarioParser.parse(try read(path), file: path)
  }

  /// The file's text. The file is examined first, so that devices and large files are not read.
  private static func read(_ path: String) throws(ScenarioError) -> String {
    func failure(_ problem: String, line: Int? = nil) -> ScenarioError {
      ScenarioError(file: path, line: line, problem: problem)
    }
    func refusal() -> ScenarioError { failure("can't be read: \(String(cString: strerror(errno)))") }
    // Does not wait for a writer of a named pipe.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw refusal() }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw refusal() }
    guard status.st_mode & S_IFMT == S_IFREG else { throw failure("is not a text file") }
    guard status.st_size <= ScenarioParser.maximumSize else {
      throw failure("a scenario has at most \(ScenarioParser.maximumSize) bytes, not \(status.st_size)")
    }
    var bytes = [UInt8](repeating: 0, count: ScenarioParser.maximumSize)
    var length = 0
    while length < bytes.count {
      let count = bytes[length...].withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
      guard count >= 0 else { throw refusal() }
      if count == 0 { break }
      length += count
    }
    let read = bytes[..<length]
    guard let text = String(validating: read, as: UTF8.self) else {
      let line = 1 + Self.validPrefix(read).count { $0 == 0x0A }
      throw failure("is not text in UTF-8, as a scenario must be", line: line)
    }
    return text
  }

  /// The bytes before the first one that is not UTF-8.
  private static func validPrefix(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    var length = 0
    while case .scalarValue(let scalar) = decoder.decode(&iterator) { length += UTF8.width(scalar) }
    return bytes.prefix(length)
  }

  /// The scenarios that have names, with their titles, sorted by name. If a file is not a valid scenario, its error
  /// stands in for the title.
  package static func list(
    environment: [String: String] = ProcessInfo.processInfo.environment, executableFolder: String
  ) -> [(name: String, title: String)] {
    var found: [String: String] = [:]
    for folder in folders(environment: environment, executableFolder: executableFolder) {
      for file in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where file.hasSuffix(".yaml") {
        let name = String(file.dropLast(5))
        guard found[name] == nil else { continue }
        let path = "\(folder)/\(file)"
        do {
          found[name] = try ScenarioParser.parse(try read(path), file: path).title
        } catch {
          found[name] = "(\(error))"
        }
      }
    }
    return found.sorted { $0.key < $1.key }.map { (name: $0.key, title: $0.value) }
  }

  static func locate(
    _ nameOrFile: String, environment: [String: String], executableFolder: String
  ) throws(ScenarioError) -> String {
    let files = FileManager.default
    var isFolder: ObjCBool = false
    if nameOrFile.contains("/") || nameOrFile.hasSuffix(".yaml") {
      if files.fileExists(atPath: nameOrFile, isDirectory: &isFolder), !isFolder.boolValue { return nameOrFile }
      throw ScenarioError(
        file: nameOrFile, line: nil,
        problem: isFolder.boolValue
          ? "that is a folder; name a scenario file in it" : "there is no such scenario file")
    }
    let folders = folders(environment: environment, executableFolder: executableFolder)
    for folder in folders {
      let path = "\(folder)/\(nameOrFile).yaml"
      if files.fileExists(atPath: path) { return path }
    }
    // A file is a scenario whatever it is called.
    if files.fileExists(atPath: nameOrFile, isDirectory: &isFolder), !isFolder.boolValue { return nameOrFile }
    var names: Set<String> = []
    for folder in folders {
      for file in (try? files.contentsOfDirectory(atPath: folder)) ?? [] where file.hasSuffix(".yaml") {
        names.insert(String(file.dropLast(5)))
      }
    }
    throw ScenarioError(
      file: nameOrFile, line: nil,
      problem: names.isEmpty
        ? "no scenario of that name, and no scenarios at all in \(Set(folders).sorted().joined(separator: ", "))"
        : "no scenario of that name", choices: names.sorted())
  }
}
