import BusValue

/// The contents of PropertiesChanged for one interface of an object, read with its table. Public and inlined, as `PropertyValues`.
@dynamicMemberLookup
public struct PropertyChanges<Table: PropertyTable>: Sendable {
  public let values: PropertyValues<Table>
  /// The names of the properties that the object no longer has.
  public let invalidated: [String]

  package init(_ changed: Properties, invalidated: [String] = []) {
    values = PropertyValues(changed)
    self.invalidated = invalidated
  }

  /// The new value. `.some(nil)` if the property is gone or can't be read; `nil` if it has not changed.
  @inlinable public subscript<Typed>(dynamicMember property: KeyPath<Table, Property<Typed>>) -> Typed?? {
    @inline(__always) get { get(Table.table[keyPath: property]) }
  }

  @inlinable func get<Typed>(_ property: Property<Typed>) -> Typed?? {
    if isGone(property) { return .some(nil) }
    guard let value = values.all[property.name] else { return nil }
    return .some(property.kind.read(value))
  }

  /// Whether the object no longer has it. This takes precedence over a new value in the same signal.
  @inlinable @inline(__always) public func isGone<Typed>(_ property: KeyPath<Table, Property<Typed>>) -> Bool {
    isGone(Table.table[keyPath: property])
  }

  @inlinable func isGone<Typed>(_ property: Property<Typed>) -> Bool {
    !invalidated.isEmpty && invalidated.contains(property.name)
  }
}
