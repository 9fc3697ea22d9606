/// The version of Latchkey's programs, the same for all of them. `packaging/debian/changelog` begins with the same
/// one.
package enum LatchkeyVersion {
  /// What `--version` prints.
  package static let current = "0.1.0"
}
