import Foundation

/// Where tests find things.
package enum TestPlaces {
  /// The package's root, derived from this file's place in it.
  package static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// The folder of the programs, which include the tests themselves.
  package static let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()
    .path
}
