/// The file systems of this machine, as `/proc/self/mountinfo` lists them (proc(5)).
struct MountTable {
  private var mounts: [(place: String, kind: String)] = []

  init(_ text: String) {
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 6, let dash = fields.firstIndex(of: "-"), fields.indices.contains(dash + 1) else { continue }
      mounts.append((Self.unescaped(fields[4]), String(fields[dash + 1])))
    }
  }

  /// The kind of file system that a path is on, such as `ext4`.
  func kind(of path: String) -> String? {
    // If two file systems are mounted at the same place, the later one hides the earlier.
    var best: (length: Int, kind: String)?
    for mount in mounts {
      let isAbove = mount.place == "/" || path == mount.place || path.hasPrefix(mount.place + "/")
      if isAbove, mount.place.utf8.count >= best?.length ?? 0 { best = (mount.place.utf8.count, mount.kind) }
    }
    return best?.kind
  }

  /// Spaces and the like are written as a backslash and three octal digits.
  private static func unescaped(_ text: Substring) -> String {
    guard text.contains("\\") else { return String(text) }
    let parts = text.split(separator: "\\", omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(String(parts[0])) { whole, part in
      guard let code = UInt8(part.prefix(3), radix: 8), part.count >= 3 else { return whole + "\\" + part }
      return whole + String(UnicodeScalar(code)) + part.dropFirst(3)
    }
  }
}
