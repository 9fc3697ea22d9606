import Foundation

/// Finds scenarios: a file by its path, or one of the package's own by its name.
public enum ScenarioLibrary {
  /// Where scenarios may lie, in the order they are looked for.
  public static func folders(
    environment: [String: String] = ProcessInfo.processInfo.environment, executableFolder: String
  ) -> [String] {
    var folders: [String] = []
    if let own = environment["LATCHKEY_SCENARIOS"], !own.isEmpty { folders.append(own) }
    folders.append(FileManager.default.currentDirectoryPath + "/config/scenarios")
    // Beside the package: the build folder lies in it, at most four levels up (.build/TRIPLE/release/latchkey).
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

  public static func load(
    _ nameOrFile: String, environment: [String: String] = ProcessInfo.processInfo.environment, executableFolder: String
  ) throws(ScenarioError) -> Scenario {
    let path = try locate(nameOrFile, environment: environment, executableFolder: executableFolder)
    let text: String
    do {
      text = try String(contentsOfFile: path, encoding: .utf8)
    } catch {
      throw ScenarioError(file: path, line: nil, problem: "can't be read: \(error.localizedDescription)")
    }
    return try ScenarioParser.parse(text, file: path)
  }

  static func locate(
    _ nameOrFile: String, environment: [String: String], executableFolder: String
  ) throws(ScenarioError) -> String {
    let files = FileManager.default
    var isFolder: ObjCBool = false
    if nameOrFile.contains("/") || nameOrFile.hasSuffix(".yaml") {
      if files.fileExists(atPath: nameOrFile, isDirectory: &isFolder), !isFolder.boolValue { return nameOrFile }
      throw ScenarioError(file: nameOrFile, line: nil, problem: "there is no such scenario file")
    }
    let folders = folders(environment: environment, executableFolder: executableFolder)
    for folder in folders {
      let path = "\(folder)/\(nameOrFile).yaml"
      if files.fileExists(atPath: path) { return path }
    }
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
