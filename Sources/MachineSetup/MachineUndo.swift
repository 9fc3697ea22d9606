import Foundation

/// Takes a setup of this machine back.
package struct MachineUndo {
  private let systemctl: Systemctl
  private let progress: (String) -> Void

  /// - Parameter progress: receives a line for each thing that is done.
  package init(progress: @escaping (String) -> Void) { self.init(systemctl: Systemctl(), progress: progress) }

  init(systemctl: Systemctl, progress: @escaping (String) -> Void) {
    self.systemctl = systemctl
    self.progress = progress
  }

  /// What there is to take back. Changes nothing.
  package static func facts() -> UndoFacts {
    let files = FileManager.default
    let units = "/usr/lib/systemd/system"
    return UndoFacts(
      isRoot: geteuid() == 0, hasSystemd: files.fileExists(atPath: "/run/systemd/system"),
      hasSystem: files.fileExists(atPath: "\(units)/latchkeyd.service"),
      roles: Set(SetupRole.allCases.filter { files.fileExists(atPath: "\(units)/\($0.unit)") }),
      keyFiles: SetupRole.allCases.flatMap(\.keyFiles).filter { files.fileExists(atPath: $0) },
      hasRadioSettings: RadioSettingsFile().isWritten)
  }

  /// - Throws: `SetupProblem`. What was done before stays done, and does not harm a second attempt.
  package func run(_ plan: UndoPlan) throws(SetupProblem) {
    for step in plan.steps {
      switch step {
      case .disable(let unit):
        try systemctl.disable(unit)
        progress("\(unit) has ended, and does not run at boot any more")
      case .stop(let unit):
        try systemctl.stop(unit)
        progress("\(unit) has ended")
      case .removeRadioSettings:
        if try RadioSettingsFile().change({ RadioSettings.removed(from: $0) }) {
          try systemctl.restartIfRunning("bluetooth.service")
        }
        progress("\(RadioSettings.path) is as it was before the setup")
      case .remove(let file):
        var status = stat()
        if lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
          do { try FileManager.default.removeItem(atPath: file) } catch {
            throw .fileStays(path: file, reason: "\(error)")
          }
        }
        guard unlink(file) == 0 || errno == ENOENT else {
          throw .fileStays(path: file, reason: String(cString: strerror(errno)))
        }
        progress("\(file) is removed")
      }
    }
  }
}
