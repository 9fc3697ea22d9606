import AppLink

/// What a person is told when a command fails.
enum Complaint {
  /// The reason in words, without the code that programs distinguish it by.
  static func words(for error: any Error) -> String {
    (error as? AppLinkError)?.message ?? "\(error)"
  }
}
