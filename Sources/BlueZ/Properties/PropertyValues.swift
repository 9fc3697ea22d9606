import BusValue

/// Properties of one kind of object, read and written with their table: `values.rssi` is an `Int8?`. A missing
/// property and one of the wrong type are both `nil`; `read` distinguishes them.
///
/// Inlined, because the compiler then knows the table and the property where they are used: otherwise each use makes a key
/// path and follows it, and works with types that it looks up at run time. Public for that reason alone: what is only the
/// package's is never inlined in another module, `@inlinable` or not (seen with Swift 6.3).
@dynamicMemberLookup
public struct PropertyValues<Table: PropertyTable>: Sendable, Hashable {
  /// The properties as they are sent.
  @usableFromInline package var all: Properties

  package init(_ all: Properties = [:]) { self.all = all }

  /// Makes an empty set of properties with room for this many.
  package init(minimumCapacity: Int) { all = Properties(minimumCapacity: minimumCapacity) }

  /// `nil` if the object does not have the interface.
  package init?(_ interfaces: Interfaces?) where Table: InterfaceTable {
    guard let all = interfaces?[Table.interface] else { return nil }
    self.all = all
  }

  @inlinable public subscript<Typed>(dynamicMember property: KeyPath<Table, Property<Typed>>) -> Typed? {
    @inline(__always) get { get(Table.table[keyPath: property]) }
    @inline(__always) set { set(Table.table[keyPath: property], to: newValue) }
  }

  @inlinable func get<Typed>(_ property: Property<Typed>) -> Typed? {
    guard let value = all[property.name] else { return nil }
    return property.kind.read(value)
  }

  @inlinable mutating func set<Typed>(_ property: Property<Typed>, to value: Typed?) {
    if let value { all[property.name] = property.kind.write(value) } else { all[property.name] = nil }
  }

  /// Whether the property exists, whatever its type.
  @inlinable @inline(__always) public func has<Typed>(_ property: KeyPath<Table, Property<Typed>>) -> Bool {
    all[Table.table[keyPath: property].name] != nil
  }

  /// `nil` if the property is missing.
  ///
  /// - Throws: `PropertyError` if it exists but can't be read.
  package func read<Typed>(_ property: KeyPath<Table, Property<Typed>>) throws(PropertyError) -> Typed? {
    let property = Table.table[keyPath: property]
    guard let value = all[property.name] else { return nil }
    guard let typed = property.kind.read(value) else {
      throw PropertyError(name: property.name, wanted: property.signature, found: value.signature)
    }
    return typed
  }
}

extension PropertyValues where Table: InterfaceTable {
  /// The interfaces of an object that has only this one.
  package var interfaces: Interfaces { [Table.interface: all] }
}

extension Interfaces {
  /// Changes properties of an interface. Has no effect if the object does not have it.
  package mutating func update<Table: InterfaceTable>(
    _ table: Table.Type, _ change: (inout PropertyValues<Table>) -> Void
  ) {
    guard var values = PropertyValues<Table>(self) else { return }
    change(&values)
    self[Table.interface] = values.all
  }
}

extension InterfaceTable {
  package static func name<Typed>(_ property: KeyPath<Self, Property<Typed>>) -> String {
    table[keyPath: property].name
  }
}

extension Request {
  /// Sets a property of the object that the call is made on.
  package static func set<Table: InterfaceTable, Typed>(
    _ property: KeyPath<Table, Property<Typed>>, to value: Typed
  ) -> Request {
    let property = Table.table[keyPath: property]
    return .setProperty(interface: Table.interface, name: property.name, value: property.kind.write(value))
  }
}
