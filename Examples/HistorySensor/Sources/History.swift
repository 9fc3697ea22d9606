import Foundation

/// What was measured, on disk.
final class History {
  struct Record {
    var number: Int
    /// In hundredths of a degree Celsius.
    var value: Int
  }

  private let url: URL
  private var values: [Int]

  init(folder: URL) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent("history.json")
    values =
      try FileManager.default.fileExists(atPath: url.path)
      ? JSONDecoder().decode([Int].self, from: Data(contentsOf: url)) : []
  }

  var count: Int { values.count }

  func add(_ value: Int) throws {
    values.append(value)
    try JSONEncoder().encode(values).write(to: url, options: .atomic)
  }

  /// The records with numbers above `last`. The first record has the number 1.
  func records(after last: Int) -> [Record] {
    guard last < values.count else { return [] }
    return values[last...].enumerated().map { Record(number: last + $0.offset + 1, value: $0.element) }
  }
}
