import AppLink
import BusValue
import Foundation
import Testing

@testable import AppLinkBus

/// The messages are the same as when they were recorded, because an app's library and latchkeyd may come from
/// different builds. To change the format on purpose, raise `Attachment.currentProtocolVersion` and record again:
/// `LATCHKEY_RECORD_WIRE=1 swift test --filter WireFormatTests`.
@Suite("The format on the bus")
struct WireFormatTests {
  private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Recorded/wire.txt")

  @Test("Every message has the name, the types and the values that were recorded")
  func recorded() throws {
    let attachments = [
      Attachment(bundleIdentifier: "x"), Attachment(bundleIdentifier: "y", lastEvent: EventSequence(3)),
    ]
    let messages =
      attachments.map(AttachCoding.message) + Sample.requests.map(RequestCoding.message)
      + Sample.queries.map(QueryCoding.message) + Sample.events.map(EventCoding.message)
      + Sample.controlRequests.map(ControlCoding.message)
    let replies: [(name: String, arguments: [Value])] = [
      ("reply to Attach", AttachCoding.values(TestSystem.reply)), ("reply to GetStatus", [Sample.status.busValue]),
    ]
    let lines = (messages.map { ($0.name, $0.arguments) } + replies).map { name, arguments in
      "\(name)(\(arguments.map(\.signature).joined())): \(arguments.map(Self.text).joined(separator: ", "))"
    }
    if ProcessInfo.processInfo.environment["LATCHKEY_RECORD_WIRE"] != nil {
      try FileManager.default.createDirectory(
        at: Self.file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: Self.file)
      return
    }
    let recorded = try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n").map(String.init)
    #expect(lines.count == recorded.count)
    for (line, recorded) in zip(lines, recorded) { #expect(line == recorded) }
  }

  private static func text(_ value: Value) -> String {
    switch value {
    case .structure(let members): "(" + members.map(text).joined(separator: ", ") + ")"
    case .array(_, let elements): "[" + elements.map(text).joined(separator: ", ") + "]"
    case .dictionary(_, _, let members):
      "{" + members.map { text($0.key) + ": " + text($0.value) }.sorted().joined(separator: ", ") + "}"
    case .bytes(let bytes): "<" + bytes.map { String($0) }.joined(separator: " ") + ">"
    case .string(let text): "\"\(text)\""
    default: "\(value)"
    }
  }
}
