import BlueZModel
import Foundation

/// Reads lines of the simulator's standard input, and explains what is wrong with invalid ones.
package enum SimulatorLineReader {
  package enum Line: Sendable, Hashable {
    case request(SimulatorRequest)
    /// `list`: asks for a survey of the world.
    case survey(id: UInt64)
  }

  /// A line that is not a command, with its `id` if it has one, otherwise 0.
  package struct Failure: Error, Sendable, Hashable {
    package var id: UInt64
    package var reason: String
  }

  /// The longest line, in bytes.
  package static let limit = 65_536

  /// Each command with its fields.
  private static let commands: [(name: String, fields: String)] = [
    ("list", ""), ("move", "machine, x, y (metres)"),
    ("walk", "machine, x, y (metres), seconds"), ("shield", "machine, isOn"), ("plug", "machine, isOn"),
    ("power", "machine, isOn"), ("block", "machine, isOn"), ("restartBluetoothd", "machine, killed"),
    ("stopBluetoothd", "machine, killed"),
    ("startBluetoothd", "machine"), ("shutDown", "machine"), ("cutPower", "machine"), ("boot", "machine"),
    ("remember", "machine, devices"),
    ("hear", "machine, input"),
  ]

  package static func read(_ line: String) throws(Failure) -> Line {
    guard line.utf8.count <= limit else { throw Failure(id: 0, reason: "a line is longer than \(limit) bytes") }
    let data = Data(line.utf8)
    guard let object = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] else {
      throw Failure(id: 0, reason: "not a command: the line is not a JSON object, such as \(example)")
    }
    // Only a number that the answer can repeat: not a fraction, not below zero, not a Boolean.
    let id = (try? JSONDecoder().decode(Identified.self, from: data))?.id
    guard let command = object["command"] as? [String: Any], command.count == 1, let name = command.keys.first else {
      throw Failure(id: id ?? 0, reason: "not a command: \"command\" is an object with one key, as in \(example)")
    }
    guard let id else {
      throw Failure(id: 0, reason: "not a command: \"id\" is missing, or no number from 0; the answer repeats it")
    }
    if name == "list" { return .survey(id: id) }
    do {
      return .request(try JSONDecoder().decode(SimulatorRequest.self, from: data))
    } catch {
      throw Failure(id: id, reason: "not a command: \(explain(error, name))")
    }
  }

  private struct Identified: Decodable { var id: UInt64 }

  private static let example = "{\"id\":1,\"command\":{\"move\":{\"machine\":\"phone\",\"x\":40,\"y\":0}}}"

  private static func explain(_ error: any Error, _ name: String) -> String {
    guard let known = commands.first(where: { $0.name == name }) else {
      return "there is no \"\(name)\"; there are \(commands.map(\.name).joined(separator: ", "))"
    }
    let takes = "\"\(name)\" takes \(known.fields)"
    switch error {
    case DecodingError.keyNotFound(let key, _): return "\"\(key.stringValue)\" is missing: \(takes)"
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.dataCorrupted(let context):
      let place = context.codingPath.last.map { "\"\($0.stringValue)\" is not what it should be: " } ?? ""
      return place + takes
    default: return takes
    }
  }
}
