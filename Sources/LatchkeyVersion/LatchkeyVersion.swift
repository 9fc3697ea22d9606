/// The version of Latchkey's programs, one for all of them; `packaging/debian/changelog` begins with the same.
public enum LatchkeyVersion {
  /// What `--version` prints.
  public static let current = "0.1.0"
}
