import BusValue

/// A property of one of bluetoothd's objects, or of an object that clients give to it: its name, its type on the bus,
/// and its type in Swift. Each is defined once, in its object's table, which serves for reading, writing and
/// reporting changes. Public for the sake of `PropertyValues`.
public struct Property<Typed: Sendable>: Sendable, AnyProperty {
  public let name: String
  public let use: PropertyUse
  @usableFromInline let kind: PropertyKind<Typed>

  init(_ name: String, _ kind: PropertyKind<Typed>, _ use: PropertyUse = .always) {
    self.name = name
    self.kind = kind
    self.use = use
  }

  public var signature: String { kind.signature }
}

/// A property with a value of any type.
public protocol AnyProperty: Sendable {
  var name: String { get }
  /// Its type on the bus.
  var signature: String { get }
  var use: PropertyUse { get }
}

/// Which objects have a property, and what may be done with it.
public enum PropertyUse: Sendable, Hashable {
  /// Every such object of bluetoothd has it, and only bluetoothd changes it.
  case always
  /// The same, but an object may lack it.
  case sometimes
  /// Clients may set it.
  case writable
  /// Objects that clients give to bluetoothd have it; bluetoothd's own do not.
  case clients
}

/// How values of a type are sent in a property.
public struct PropertyKind<Typed: Sendable>: Sendable {
  let signature: String
  /// `nil` for a value of another type.
  @usableFromInline let read: @Sendable (Value) -> Typed?
  @usableFromInline let write: @Sendable (Typed) -> Value
}

/// The properties of one kind of object, whose stored members are `Property`s. It is a class where a start reads thousands of
/// objects with it: a struct's members would be copied for each property.
public protocol PropertyTable: Sendable {
  static var table: Self { get }
}

extension PropertyTable {
  /// All properties, in the order of the table.
  package static var properties: [any AnyProperty] {
    Mirror(reflecting: table).children.compactMap { $0.value as? any AnyProperty }
  }
}

/// The properties of an interface.
public protocol InterfaceTable: PropertyTable {
  static var interface: String { get }
}

/// Why a property can't be read.
package struct PropertyError: Error, Sendable, Hashable, CustomStringConvertible {
  package let name: String
  /// Types on the bus. If a value has the right type but invalid contents, `found` equals `wanted`.
  package let wanted: String
  package let found: String

  package var description: String {
    wanted == found
      ? "the contents of the property \(name) make no sense"
      : "the property \(name) is of type \(found), and not \(wanted)"
  }
}
