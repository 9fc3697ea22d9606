import Foundation

/// A folder for one test, gone with it.
final class TestFolder {
  let path = NSTemporaryDirectory() + "latchkey-setup-" + UUID().uuidString
  deinit { try? FileManager.default.removeItem(atPath: path) }
}
