import BusValue

/// What PropertiesChanged says of one interface of an object, read by its table.
@dynamicMemberLookup
public struct PropertyChanges<Table: PropertyTable>: Sendable {
  public let values: PropertyValues<Table>
  /// The names of the properties that the object has no more.
  public let invalidated: [String]

  public init(_ changed: Properties, invalidated: [String] = []) {
    values = PropertyValues(changed)
    self.invalidated = invalidated
  }

  /// The new value; `.some(nil)` where the property is gone, or can't be read; `nil` where it has not changed.
  public subscript<Typed>(dynamicMember property: KeyPath<Table, Property<Typed>>) -> Typed?? {
    if values.has(property) { return .some(values[dynamicMember: property]) }
    return invalidated.contains(Table.table[keyPath: property].name) ? .some(nil) : nil
  }
}
