/// The version of Latchkey's programs, the same for all of them. `packaging/debian/changelog` begins with the same
/// one.
public enum LatchkeyVersion {
  /// What `--version` prints.
  public static let current = "0.1.0"
}
