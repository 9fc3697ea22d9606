import Foundation

// Values of the dictionaries that apps pass.

/// A Boolean option of `connect(_:options:)`. Apple's systems read an `NSNumber`, which every number of Swift becomes there; so `1` is
/// `true`.
/// - Returns: `nil` if the value is neither a Boolean nor a number.
func numericFlag(_ value: Any) -> Bool? { (value as? NSNumber)?.boolValue }

/// A Boolean option of a manager or a scan. Apple's systems ask the object for its `boolValue`, and a text has that as well: many apps
/// write `"YES"`, `"NO"` or `"1"`.
/// - Returns: `nil` if the value is neither a Boolean, a number nor a text.
func booleanOption(_ value: Any) -> Bool? { numericFlag(value) ?? (value as? NSString)?.boolValue }
