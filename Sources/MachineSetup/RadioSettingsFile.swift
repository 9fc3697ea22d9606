import Foundation

/// bluetoothd's settings on disk.
struct RadioSettingsFile {
  var path = RadioSettings.path
  /// The largest file that is read, in bytes. Real ones have a few kilobytes.
  private static let limit = 1 << 20

  var isWritten: Bool { (try? text()).map(RadioSettings.isWritten) ?? false }

  /// The file's text. Empty if the file is missing: bluetoothd then has its defaults.
  private func text() throws(SetupProblem) -> String {
    guard let data = FileManager.default.contents(atPath: path) else {
      guard !FileManager.default.fileExists(atPath: path) else { throw .settingsStay(path: path, reason: "unreadable") }
      return ""
    }
    guard data.count <= Self.limit, let text = String(data: data, encoding: .utf8) else {
      throw .settingsStay(path: path, reason: "it is not a text of at most 1 MiB")
    }
    return text
  }

  /// Replaces the file in one step, with the same mode and owner, so that it is whole at any time.
  /// - Returns: whether its text has changed.
  func change(_ change: (String) -> String) throws(SetupProblem) -> Bool {
    let before = try text()
    let after = change(before)
    guard after != before else { return false }
    let new = path + ".latchkey"
    do {
      let attributes = try? FileManager.default.attributesOfItem(atPath: path)
      try Data(after.utf8).write(to: URL(fileURLWithPath: new))
      var kept: [FileAttributeKey: Any] = [.posixPermissions: 0o644]
      for key in [FileAttributeKey.posixPermissions, .ownerAccountID, .groupOwnerAccountID] {
        if let value = attributes?[key] { kept[key] = value }
      }
      try FileManager.default.setAttributes(kept, ofItemAtPath: new)
    } catch {
      unlink(new)
      throw .settingsStay(path: path, reason: error.localizedDescription)
    }
    guard rename(new, path) == 0 else {
      let reason = String(cString: strerror(errno))
      unlink(new)
      throw .settingsStay(path: path, reason: reason)
    }
    return true
  }
}

extension RadioSettings {
  /// Whether the machine's file has exactly these settings.
  package static func isWritten(_ settings: RadioSettings) -> Bool {
    guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8) else {
      return false
    }
    return settings.written(to: text) == text
  }
}
