import BusValue
import SystemBus

/// A struct of the vocabulary, sent as a D-Bus struct of its members.
protocol BusStructure: BusRepresentable {
  static var layout: Layout<Self> { get }
}

extension BusStructure {
  static var signature: String { layout.signature }
  var busValue: Value { .structure(Self.layout.values(self)) }
  init(busValue: Value) throws(BusError) {
    let layout = Self.layout
    guard case .structure(let values) = busValue, values.count == layout.memberSignatures.count else {
      throw malformed("a \(Self.self) is \(layout.signature)")
    }
    var reader = ArgumentReader(values)
    self = try layout.read(&reader)
  }
}

/// The members of a struct in the order in which they are sent.
struct Layout<Whole: Sendable>: Sendable {
  let memberSignatures: [String]
  let signature: String
  /// The values of all members.
  let values: @Sendable (Whole) -> [Value]
  /// Takes the members from the arguments, and makes a struct of them.
  let read: @Sendable (inout ArgumentReader) throws(BusError) -> Whole

  /// - Parameter make: makes a struct of its members, given in the order of `member`.
  init<each Member: BusRepresentable>(
    _ make: @escaping @Sendable (repeat each Member) -> Whole,
    _ member: repeat any KeyPath<Whole, each Member> & Sendable
  ) {
    var signatures: [String] = []
    for type in repeat (each Member).self { signatures.append(type.signature) }
    memberSignatures = signatures
    signature = "(" + signatures.joined() + ")"
    values = { whole in
      var values: [Value] = []
      for path in repeat each member { values.append(whole[keyPath: path].busValue) }
      return values
    }
    read = { (reader: inout ArgumentReader) throws(BusError) -> Whole in
      make(repeat try reader.next((each Member).self))
    }
  }
}
