import Foundation

// Values of the dictionaries that apps pass.

/// A Boolean option. Apple's systems read an `NSNumber`, which every number of Swift becomes there; so `1` is `true`.
/// - Returns: `nil` if the value is neither a Boolean nor a number.
func booleanOption(_ value: Any) -> Bool? { (value as? NSNumber)?.boolValue }
