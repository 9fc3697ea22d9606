import AppLink
import BusValue
import SystemBus

/// One message of the vocabulary, in one place: its name, its arguments' names and types, and its meaning.
struct Message<Meaning, each Argument: BusRepresentable>: BusMessage {
  let shape: MessageShape
  private let meaning: @Sendable (repeat each Argument) -> Meaning

  /// - Parameter arguments: the arguments' names, one for each of the types that `meaning` takes.
  init(
    _ name: String, _ arguments: [String] = [], returns outputs: [InterfaceDescription.Argument] = [],
    _ meaning: @escaping @Sendable (repeat each Argument) -> Meaning
  ) {
    var inputs: [InterfaceDescription.Argument] = []
    for type in repeat (each Argument).self {
      precondition(inputs.count < arguments.count, "\(name) has more arguments than names for them")
      inputs.append(InterfaceDescription.Argument(arguments[inputs.count], type.signature))
    }
    precondition(inputs.count == arguments.count, "\(name) has more names than arguments")
    shape = MessageShape(name: name, inputs: inputs, outputs: outputs)
    self.meaning = meaning
  }

  /// The message with these arguments.
  func callAsFunction(_ argument: repeat each Argument) -> WireMessage {
    var values: [Value] = []
    for argument in repeat each argument { values.append(argument.busValue) }
    return WireMessage(name: shape.name, arguments: values)
  }

  func read(_ reader: inout ArgumentReader) throws(BusError) -> Meaning {
    meaning(repeat try reader.next((each Argument).self))
  }
}

/// A message with any arguments.
protocol BusMessage<Meaning>: Sendable {
  associatedtype Meaning
  var shape: MessageShape { get }
  /// Takes the arguments and returns their meaning.
  func read(_ reader: inout ArgumentReader) throws(BusError) -> Meaning
}

/// All messages of one kind, by name.
struct MessageTable<Meaning>: Sendable {
  let shapes: [MessageShape]
  private let messages: [String: any BusMessage<Meaning>]

  init(_ messages: [any BusMessage<Meaning>]) {
    shapes = messages.map(\.shape)
    self.messages = Dictionary(uniqueKeysWithValues: messages.map { ($0.shape.name, $0) })
  }

  /// `nil` if no message of this kind has this name.
  func read(_ name: String, _ reader: inout ArgumentReader) throws(BusError) -> Meaning? {
    try messages[name]?.read(&reader)
  }
}

/// A method or a signal: its name, and its arguments' names and types.
struct MessageShape {
  var name: String
  var inputs: [InterfaceDescription.Argument]
  var outputs: [InterfaceDescription.Argument] = []

  var signature: String { inputs.map(\.signature).joined() }
  var method: InterfaceDescription.Method { InterfaceDescription.Method(name, inputs, returns: outputs) }
  var signal: InterfaceDescription.Signal { InterfaceDescription.Signal(name, inputs) }
}

/// A message of the vocabulary as it is sent.
struct WireMessage {
  var name: String
  var arguments: [Value]
}

extension InterfaceDescription.Argument {
  init<T: BusRepresentable>(_ name: String, _ type: T.Type) { self.init(name, type.signature) }
}
