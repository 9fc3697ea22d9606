import BusValue

/// The contents of PropertiesChanged for one interface of an object, read with its table.
@dynamicMemberLookup
package struct PropertyChanges<Table: PropertyTable>: Sendable {
  package let values: PropertyValues<Table>
  /// The names of the properties that the object no longer has.
  package let invalidated: [String]

  package init(_ changed: Properties, invalidated: [String] = []) {
    values = PropertyValues(changed)
    self.invalidated = invalidated
  }

  /// The new value. `.some(nil)` if the property is gone or can't be read; `nil` if it has not changed.
  @inlinable package subscript<Typed>(dynamicMember property: KeyPath<Table, Property<Typed>>) -> Typed?? {
    if isGone(property) { return .some(nil) }
    let property = Table.table[keyPath: property]
    return values.all[property.name].map { property.kind.read($0) }
  }

  /// Whether the object no longer has it. This takes precedence over a new value in the same signal.
  @inlinable package func isGone<Typed>(_ property: KeyPath<Table, Property<Typed>>) -> Bool {
    !invalidated.isEmpty && invalidated.contains(Table.table[keyPath: property].name)
  }
}
