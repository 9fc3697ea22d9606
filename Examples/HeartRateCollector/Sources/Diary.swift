import Foundation

/// The values on disk, one line each.
final class Diary {
  private let file: FileHandle

  /// - Parameter folder: the app's own. On Linux the variable `STATE_DIRECTORY` names it.
  init(folder: URL) throws {
    let path = folder.appendingPathComponent("heart-rate.csv").path
    if !FileManager.default.fileExists(atPath: path) {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try Data("time,rate,energy\n".utf8).write(to: URL(fileURLWithPath: path))
    }
    file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seekToEnd()
  }

  /// Returns when the value is on disk: from then on the app may be suspended or killed.
  func write(_ measurement: HeartRateMeasurement) throws {
    let time = ISO8601DateFormatter().string(from: Date())
    let energy = measurement.energy.map(String.init) ?? ""
    try file.write(contentsOf: Data("\(time),\(measurement.rate),\(energy)\n".utf8))
    try file.synchronize()
    print("latchkey: stored rate=\(measurement.rate) energy=\(energy)")
  }
}
