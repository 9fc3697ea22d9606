import BusValue

/// Properties of one kind of object, read and written by their table: `values.rssi` is an `Int8?`. What is not there, and
/// what has another type than the table says, is `nil`; `read` tells these apart.
@dynamicMemberLookup
public struct PropertyValues<Table: PropertyTable>: Sendable, Hashable {
  /// The same as they travel.
  public var all: Properties

  public init(_ all: Properties = [:]) { self.all = all }

  /// `nil`: the object has no such interface.
  public init?(_ interfaces: Interfaces?) where Table: InterfaceTable {
    guard let all = interfaces?[Table.interface] else { return nil }
    self.all = all
  }

  public subscript<Typed>(dynamicMember property: KeyPath<Table, Property<Typed>>) -> Typed? {
    get {
      let property = Table.table[keyPath: property]
      return all[property.name].flatMap(property.kind.read)
    }
    set {
      let property = Table.table[keyPath: property]
      all[property.name] = newValue.map(property.kind.write)
    }
  }

  /// Whether it is there, of whatever type.
  public func has<Typed>(_ property: KeyPath<Table, Property<Typed>>) -> Bool {
    all[Table.table[keyPath: property].name] != nil
  }

  /// `nil` where it is not there.
  ///
  /// - Throws: `PropertyError` where it is there and can't be read.
  public func read<Typed>(_ property: KeyPath<Table, Property<Typed>>) throws(PropertyError) -> Typed? {
    let property = Table.table[keyPath: property]
    guard let value = all[property.name] else { return nil }
    guard let typed = property.kind.read(value) else {
      throw PropertyError(name: property.name, wanted: property.signature, found: value.signature)
    }
    return typed
  }
}

extension PropertyValues where Table: InterfaceTable {
  /// As an object that has this one interface.
  public var interfaces: Interfaces { [Table.interface: all] }
}

extension Interfaces {
  /// Changes properties of an interface that the object has; one that it has not stays away.
  public mutating func update<Table: InterfaceTable>(
    _ table: Table.Type, _ change: (inout PropertyValues<Table>) -> Void
  ) {
    guard var values = PropertyValues<Table>(self) else { return }
    change(&values)
    self[Table.interface] = values.all
  }
}

extension InterfaceTable {
  public static func name<Typed>(_ property: KeyPath<Self, Property<Typed>>) -> String { table[keyPath: property].name }
}

extension Request {
  /// Sets a property of the object that the call is made on.
  public static func set<Table: InterfaceTable, Typed>(
    _ property: KeyPath<Table, Property<Typed>>, to value: Typed
  ) -> Request {
    let property = Table.table[keyPath: property]
    return .setProperty(interface: Table.interface, name: property.name, value: property.kind.write(value))
  }
}
