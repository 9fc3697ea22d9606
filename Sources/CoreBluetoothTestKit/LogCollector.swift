import Foundation
import Logging

/// Keeps log lines for a test to examine.
public final class LogCollector: @unchecked Sendable {
  public struct Line: Sendable, Hashable {
    public var level: Logger.Level
    public var message: String
  }

  private let lock = NSLock()
  private var collected: [Line] = []

  public init() {}

  public var lines: [Line] { lock.withLock { collected } }

  /// The messages about mistakes of the app.
  public var misuses: [String] { lines.map(\.message).filter { $0.hasPrefix("API MISUSE") } }

  func makeLogger() -> Logger {
    Logger(label: "org.latchkey.corebluetooth") { [self] _ in Handler(collector: self) }
  }

  private struct Handler: LogHandler {
    let collector: LogCollector
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let line = Line(level: event.level, message: event.message.description)
      collector.lock.withLock { collector.collected.append(line) }
    }
  }
}
