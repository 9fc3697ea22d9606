import AppLink

/// What this app tells its user about something that it controls, such as a door or a lamp. `latchkey status` and
/// `latchkey watch` show it.
///
/// A report asks for nothing: it does not keep the app awake, and nothing is stored on disk. Texts are shown on one line,
/// so end them without a full stop. Beyond the limits given here, they are cut.
public enum UserReport {
  /// Reports how something is. The system keeps this until the next report about the same subject, also while the app is
  /// suspended or does not run. If the system restarts, it is told again.
  ///
  /// - Parameters:
  ///   - text: such as "locked", of at most 256 bytes. To repeat the present state changes nothing.
  ///   - subject: such as "Front door", of at most 64 bytes. An app has at most 8 subjects; a ninth replaces the
  ///     earliest.
  ///   - isNew: whether the state has begun just now. `false` means that it is older and the app has only now learned
  ///     of it.
  public static func state(_ text: String, of subject: String, isNew: Bool = true) {
    AppSession.active.report(AppReport(isNew ? .state : .knownState, subject: subject, text: text))
  }

  /// Reports that something has moved or was done. The user sees the last 20 of each app, with the time at which the
  /// system heard of them. While the system is away, the last 20 wait for it.
  ///
  /// - Parameters:
  ///   - text: such as "opened by hand", of at most 256 bytes.
  ///   - subject: what has moved, of at most 64 bytes.
  public static func movement(_ text: String, of subject: String) {
    AppSession.active.report(AppReport(.movement, subject: subject, text: text))
  }
}
