/// A value with copy-on-write storage of its own. Copying the structure that contains it copies only a reference, and a
/// change copies the value if another copy still uses it. It is for large parts that are copied often and seldom read
/// or changed.
struct Boxed<Value: Sendable>: Sendable {
  // Swift's array has this storage already.
  private var one: [Value]

  init(_ value: Value) { one = [value] }

  var value: Value {
    _read { yield one[0] }
    _modify { yield &one[0] }
  }
}
