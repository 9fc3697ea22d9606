import ChildProcesses
import Foundation
import LockCryptography
import LockProtocol

/// A lock's code as a QR code for a terminal, by Debian's `qrencode`, which is optional. (libqrencode would be a dependency of the
/// whole program for one picture, and an encoder of our own is more code than the rest of this command.)
enum CodePicture {
  private static let limit = Duration.seconds(5)

  /// The picture's lines, or `nil` without qrencode. The code is secret, so it is passed by a pipe.
  static func lines(_ code: EnrolmentCode) -> String? {
    let program = "/usr/bin/qrencode"
    guard FileManager.default.isExecutableFile(atPath: program) else { return nil }
    let pipe = Pipe()
    guard (try? pipe.fileHandleForWriting.write(contentsOf: Data(code.qrText.utf8))) != nil else { return nil }
    try? pipe.fileHandleForWriting.close()
    let start = ProcessStart(
      executable: program, arguments: ["--type=UTF8", "--margin=2", "--level=M"],
      environment: ["LANG": "C.UTF-8"], standardInput: pipe.fileHandleForReading.fileDescriptor)
    guard let finished = try? FinishedProcess.run("qrencode", start, limit: limit), finished.end == .exited(0) else {
      return nil
    }
    return finished.output
  }
}
