import Foundation

/// The root of every class of this module. Apple's classes derive from `NSObject` directly.
///
/// The conformance to `Sendable` is declared here and inherited, so that an app's own
/// `extension CBPeripheral: @unchecked Sendable {}`, which Apple's classes need, compiles without a warning.
open class CoreBluetoothObject: NSObject, @unchecked Sendable {
  /// The observations of this object's properties (`observe`). An observation belongs to the app.
  private var observations: [WeakObservation] = []

  private struct WeakObservation { weak var observation: NSKeyValueObservation? }

  func add(_ observation: NSKeyValueObservation) {
    locked { observations.append(WeakObservation(observation: observation)) }
  }

  func remove(_ observation: NSKeyValueObservation) {
    locked { observations.removeAll { $0.observation == nil || $0.observation === observation } }
  }

  /// A property may have another value now. Called under the lock, and not in a `deinit`.
  func noteChange() {
    if !observations.isEmpty { CoreBluetooth.noteChange(of: self) }
  }

  func tellObservations() {
    for entry in locked({ observations }) { entry.observation?.objectHasChanged(self) }
  }

  /// Reads a property by its name, as key-value coding does on Apple's systems. Both Apple's Objective-C names and
  /// the Swift names are known (`UUID` and `uuid`).
  ///
  /// A number, a Boolean or the raw value of an enumeration comes as an `NSNumber`, an identifier as an `NSUUID`. A
  /// name that the class does not have gives `nil` and a log message; on Apple's systems it ends the app.
  open func value(forKey key: String) -> Any? {
    if let property = property(key) { return property.value }
    AppSession.active.logger.critical("API MISUSE: value(forKey:): \(type(of: self)) has no property \"\(key)\"")
    return nil
  }

  /// Reads the property at the end of a path such as `service.peripheral.identifier`.
  open func value(forKeyPath keyPath: String) -> Any? {
    var object: Any? = self
    for key in keyPath.split(separator: ".") {
      guard let next = object as? CoreBluetoothObject else { return nil }
      object = next.value(forKey: String(key))
    }
    return object
  }

  /// A property's value, which may be `nil`.
  struct Property {
    let value: Any?
    init(_ value: Any?) { self.value = value }
    init(_ number: Int) { value = NSNumber(value: number) }
    init(_ flag: Bool) { value = NSNumber(value: flag) }
  }

  /// The property with this name, or `nil` if the class has none. Each class adds its own.
  func property(_ name: String) -> Property? {
    switch name {
    case "description": Property(description)
    case "debugDescription": Property(debugDescription)
    case "hash": Property(hash)
    default: nil
    }
  }
}
