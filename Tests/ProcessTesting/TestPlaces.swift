import Foundation

/// Where tests find things.
public enum TestPlaces {
  /// The package's root, from this file's place in it.
  public static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// The folder of the programs: the tests' own is one of them.
  public static let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()
    .path
}
