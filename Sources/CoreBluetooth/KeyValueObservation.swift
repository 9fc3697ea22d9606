import Foundation

// Key-value observing of the properties of Core Bluetooth's objects, which iOS apps use to follow a peripheral's state or whether
// a manager scans. Foundation on Linux has none of it. The names are those of Apple's Foundation.

/// What the handler of an observation is given, and when it is called.
public struct NSKeyValueObservingOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The change has its `newValue`.
  public static let new = Self(rawValue: 1 << 0)
  /// The change has its `oldValue`.
  public static let old = Self(rawValue: 1 << 1)
  /// The handler is called at once, before `observe` returns, with the present value.
  public static let initial = Self(rawValue: 1 << 2)
  /// The handler is called twice for each change, first with `isPrior`. The property has its new value both times.
  public static let prior = Self(rawValue: 1 << 3)
}

/// What has happened to an observed property. A property of Core Bluetooth is always set as a whole.
public enum NSKeyValueChange: UInt, Sendable {
  case setting = 1
  case insertion
  case removal
  case replacement
}

/// A change of an observed property.
public struct NSKeyValueObservedChange<Value> {
  public typealias Kind = NSKeyValueChange

  public let kind: Kind
  /// With the option `new`.
  public let newValue: Value?
  /// With the option `old`, and not in the first call of the option `initial`.
  public let oldValue: Value?
  /// Always `nil`, because collections are set as a whole.
  public let indexes: IndexSet?
  /// Whether this is the first of the two calls of the option `prior`.
  public let isPrior: Bool
}

extension NSKeyValueObservedChange: Sendable where Value: Sendable {}

/// An observation of a property. It ends with `invalidate()`, or when nothing refers to it any more.
public final class NSKeyValueObservation: NSObject, @unchecked Sendable {
  private weak var object: CoreBluetoothObject?
  private let lock = NSLock()
  private var look: ((CoreBluetoothObject) -> [() -> Void])?

  /// - Parameter look: compares the property with its last value. Returns the calls of the handler that follow from it.
  fileprivate init(_ object: CoreBluetoothObject, look: @escaping (CoreBluetoothObject) -> [() -> Void]) {
    self.object = object
    self.look = look
  }

  deinit { invalidate() }

  /// The handler is not called any more.
  public func invalidate() {
    let object = lock.withLock {
      look = nil
      defer { self.object = nil }
      return self.object
    }
    object?.remove(self)
  }

  func objectHasChanged(_ object: CoreBluetoothObject) {
    let calls = lock.withLock { look?(object) ?? [] }
    for call in calls { call() }
  }
}

/// An object whose properties can be observed.
public protocol KeyValueObservable: NSObject {}

extension CoreBluetoothObject: KeyValueObservable {}

extension KeyValueObservable where Self: CoreBluetoothObject {
  /// Calls a handler whenever a property has changed, such as `\.state` of a peripheral or `\.isScanning` of a manager.
  ///
  /// The handler is called where the change is made: in the app's own call (`connect`, `scanForPeripherals`), or on the manager's
  /// queue before its delegate is told. A value that is set again and is the same is no change.
  ///
  /// - Returns: the observation, which the app keeps for as long as it wants to be told.
  @preconcurrency
  public func observe<Value>(
    _ keyPath: KeyPath<Self, Value>, options: NSKeyValueObservingOptions = [],
    changeHandler: @escaping @Sendable (Self, NSKeyValueObservedChange<Value>) -> Void
  ) -> NSKeyValueObservation {
    var last = self[keyPath: keyPath]
    let tell = { (object: Self, newValue: Value, oldValue: Value?, isPrior: Bool) in
      changeHandler(
        object,
        NSKeyValueObservedChange(
          kind: .setting, newValue: options.contains(.new) && !isPrior ? newValue : nil,
          oldValue: options.contains(.old) ? oldValue : nil, indexes: nil, isPrior: isPrior))
    }
    let first = last
    let observation = NSKeyValueObservation(self) { object in
      guard let object = object as? Self else { return [] }
      let (newValue, oldValue) = (object[keyPath: keyPath], last)
      guard !areEqual(newValue, oldValue) else { return [] }
      last = newValue
      let call = { (isPrior: Bool) in { tell(object, newValue, oldValue, isPrior) } }
      return options.contains(.prior) ? [call(true), call(false)] : [call(false)]
    }
    add(observation)
    if options.contains(.initial) { tell(self, first, nil, false) }
    // The property may have changed before the observation was added.
    observation.objectHasChanged(self)
    return observation
  }
}

/// Values that can't be compared count as different.
private func areEqual<Value>(_ left: Value, _ right: Value) -> Bool {
  guard let left = left as? any Equatable else { return false }
  return isEqual(left, right)
}

private func isEqual<Value: Equatable>(_ left: Value, _ right: Any) -> Bool { left == right as? Value }
