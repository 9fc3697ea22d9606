import AppLink
import BluetoothTypes
import BusValue
import FoundationEssentials
import SystemBus

/// How an app attaches.
enum AttachCoding {
  static let shape = attach.shape

  private static let attach = Message(
    "Attach", ["protocol_version", "bundle_identifier", "last_event"],
    returns: zip(["centrals_to_restore", "peripherals_to_restore", "background_modes"], replyLayout.memberSignatures)
      .map { .init($0, $1) },
    Attachment.init)

  private static let replyLayout = Layout(
    AttachReply.init, \.centralsToRestore, \.peripheralsToRestore, \.backgroundModes)

  static func message(_ attachment: Attachment) -> WireMessage {
    attach(attachment.protocolVersion, attachment.bundleIdentifier, attachment.lastEvent)
  }

  static func attachment(_ reader: ArgumentReader) throws(BusError) -> Attachment {
    var reader = reader
    return try attach.read(&reader)
  }

  static func values(_ reply: AttachReply) -> [Value] { replyLayout.values(reply) }

  static func reply(_ values: [Value]) throws(BusError) -> AttachReply {
    var reader = ArgumentReader(values)
    return try replyLayout.read(&reader)
  }
}

/// Queries as method calls, and back.
enum QueryCoding {
  static let shapes = table.shapes

  private static let table = MessageTable<Query>([retrievePeripherals, retrieveConnectedPeripherals])

  private static let retrievePeripherals = Message(
    "RetrievePeripherals", ["manager", "identifiers"], returns: [.init("peripherals", QueryReply.self)],
    Query.retrievePeripherals)
  private static let retrieveConnectedPeripherals = Message(
    "RetrieveConnectedPeripherals", ["manager", "services"], returns: [.init("peripherals", QueryReply.self)],
    Query.retrieveConnectedPeripherals)

  static func message(_ query: Query) -> WireMessage {
    switch query {
    case .retrievePeripherals(let manager, let peers): retrievePeripherals(manager, peers)
    case .retrieveConnectedPeripherals(let manager, let services): retrieveConnectedPeripherals(manager, services)
    }
  }

  static func query(_ name: String, _ reader: ArgumentReader) throws(BusError) -> Query? {
    var reader = reader
    return try table.read(name, &reader)
  }
}
