/// A value that has a place of its own: copying what it belongs to copies a reference, and changing it copies the value if somebody
/// else has it as well. For the parts of large values that are copied often and seldom read or changed.
struct Boxed<Value: Sendable>: Sendable {
  // An array of one element is Swift's own such box.
  private var one: [Value]

  init(_ value: Value) { one = [value] }

  var value: Value {
    _read { yield one[0] }
    _modify { yield &one[0] }
  }
}
