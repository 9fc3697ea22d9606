import Foundation

/// A folder for one test, removed with this object.
final class TestFolder {
  let path = NSTemporaryDirectory() + "latchkey-setup-" + UUID().uuidString
  deinit { try? FileManager.default.removeItem(atPath: path) }
}
