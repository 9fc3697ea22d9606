import Foundation

/// The folder of a log, and the user to whom it belongs.
struct LogFolder {
  let path: String
  /// `nil` if that is not known.
  private let owner: uid_t?

  init(ofLog log: String) {
    let folder = (log as NSString).deletingLastPathComponent
    path = folder.isEmpty ? "." : folder
    var status = stat()
    owner = stat(path, &status) == 0 ? status.st_uid : nil
  }

  /// The name of its user, or the number of one that has no name.
  var user: String? {
    owner.map { owner in getpwuid(owner).map { String(cString: $0.pointee.pw_name) } ?? "#\(owner)" }
  }

  /// Whether files that this process makes belong to the folder's user.
  var isOwn: Bool { owner.map { $0 == geteuid() } ?? true }

  /// The command that accepts the loss of records. It is for root, who reads the journal, and runs as the lock's user.
  var acceptance: String {
    let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "latchkey-lock"
    let command = "\(program) --state \(path) --accept-lost-records"
    guard let owner, owner != 0, let user else { return command }
    return "runuser -u \(user) -- \(command)"
  }
}
