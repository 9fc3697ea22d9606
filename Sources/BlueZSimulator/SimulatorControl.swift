import BlueZModel
import JournalEvents

/// A command from an orchestrator to the simulator.
package typealias SimulatorCommand = WorldCommand

/// One line on the simulator's standard input: `{"id":1,"command":{"move":{"machine":"phone","x":0,"y":0}}}`.
/// (Another form, `{"id":1,"command":{"list":{}}}`, asks and changes nothing; see `SimulatorLineReader`.)
package struct SimulatorRequest: Sendable, Hashable, Codable {
  /// Repeated in the answer.
  package var id: UInt64
  package var command: SimulatorCommand
  package init(id: UInt64, command: SimulatorCommand) {
    self.id = id
    self.command = command
  }
}

/// The answer to a request. If there is an error, nothing has changed.
package struct SimulatorReply: Sendable, Hashable, Codable {
  package var id: UInt64
  package var error: String?
  /// The survey, if it was asked for.
  package var world: WorldSurvey?
  package init(id: UInt64, error: String?, world: WorldSurvey? = nil) {
    self.id = id
    self.error = error
    self.world = world
  }
}

/// One line on the simulator's standard output.
package enum SimulatorLine: Sendable, Hashable, Codable {
  /// All machines are on their buses. Comes once, before any answer.
  case ready
  case reply(SimulatorReply)
  case event(WorldEvent)

  private enum CodingKeys: String, CodingKey { case ready, reply, event }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let reply = try container.decodeIfPresent(SimulatorReply.self, forKey: .reply) {
      self = .reply(reply)
    } else if let event = try container.decodeIfPresent(WorldEvent.self, forKey: .event) {
      self = .event(event)
    } else if try container.decodeIfPresent(Bool.self, forKey: .ready) == true {
      self = .ready
    } else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "neither a reply nor an event"))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .ready: try container.encode(true, forKey: .ready)
    case .reply(let reply): try container.encode(reply, forKey: .reply)
    case .event(let event): try container.encode(event, forKey: .event)
    }
  }
}

extension WorldEvent {
  /// The event in the form of the journal.
  var journalEntry: (event: Recorded.Radio, fields: [JournalField: String]) {
    switch self {
    case .walkBegan(let machine, let x, let y): (.walkBegan, [.machine: machine, .x: "\(x)", .y: "\(y)"])
    case .walkEnded(let machine, let x, let y): (.walkEnded, [.machine: machine, .x: "\(x)", .y: "\(y)"])
    case .linkUp(let central, let peripheral, let link):
      (.linkUp, [.central: central, .peripheral: peripheral, .link: String(link)])
    case .linkDown(let central, let peripheral, let link, let reason):
      (.linkDown, [.central: central, .peripheral: peripheral, .link: String(link), .reason: reason])
    case .bluetoothdStarted(let machine): (.bluetoothdStarted, [.machine: machine])
    case .bluetoothdStopped(let machine, let cause): (.bluetoothdStopped, [.machine: machine, .cause: cause])
    case .adapterPowered(let machine, let isOn): (.adapterPowered, [.machine: machine, .on: String(isOn)])
    case .advertisingBegan(let machine, let set, let content):
      (.advertisingChanged, content.fields.merging([.machine: machine, .set: String(set), .on: "true"]) { $1 })
    case .advertisingEnded(let machine, let set):
      (.advertisingChanged, [.machine: machine, .set: String(set), .on: "false"])
    case .scanningChanged(let machine, let isOn): (.scanningChanged, [.machine: machine, .on: String(isOn)])
    case .diagnostic(let machine, let text): (.bluetoothdDiagnostic, [.machine: machine, .text: text])
    }
  }
}

extension AirContent {
  fileprivate var fields: [JournalField: String] {
    var fields: [JournalField: String] = [.interval: String(intervalMilliseconds)]
    fields[.name] = name
    if !services.isEmpty { fields[.services] = services.map { "\($0)" }.joined(separator: ",") }
    return fields
  }
}
