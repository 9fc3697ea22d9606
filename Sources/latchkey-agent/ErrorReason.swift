import Foundation

extension Error {
  /// What happened. The words of Core Bluetooth's errors are Apple's and say less.
  var reason: String { (self as NSError).localizedFailureReason ?? localizedDescription }
}
