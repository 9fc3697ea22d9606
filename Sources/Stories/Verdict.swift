import Journal

/// The results of a story's promises so far, both for stories that run here and for those that ran elsewhere.
struct Verdict {
  private(set) var promises: [PromiseResult] = []
  /// The names of the promises that can't be judged in this world, and why.
  var unjudged: [String: String] = [:]

  /// The reason in the result of a promise about a part of the story that was never reached.
  static let untold = "the story stopped before it came to that"
  static let wholeRun = "the whole run"

  static func scope(of step: Step) -> String { step.line.map { "line \($0)" } ?? "a check" }
  static func place(of step: Step) -> String { step.line.map { "line \($0)" } ?? "a step" }

  /// - Parameter reason: why none of these promises can be judged, or `nil` if they can.
  mutating func judge(
    _ references: [PromiseReference], _ evidence: Evidence, scope: String, unjudged reason: String? = nil
  ) {
    for promise in references.compactMap(\.promise) {
      promises.append(promise.judge(evidence, scope: scope, unjudged: reason ?? unjudged[promise.name]))
    }
  }

  mutating func notReached(_ references: [PromiseReference], scope: String) {
    promises += references.compactMap { $0.promise?.notReached(scope: scope, reason: Self.untold) }
  }

  /// Counts the promises of a step that was never taken as not reached.
  mutating func skip(_ step: Step) {
    guard case .check(let references) = step.action else { return }
    notReached(references, scope: Self.scope(of: step))
  }

  /// Counts the promises of a chapter that was never told as not reached.
  mutating func skip(_ chapter: Chapter) {
    for step in chapter.steps { skip(step) }
    notReached(chapter.promises, scope: chapter.name)
  }

  /// - Parameter problem: why the story stopped before its end.
  func isKept(problem: String?) -> Bool {
    problem == nil && !promises.contains { [.broken, .notReached].contains($0.judgement) }
      && promises.contains(where: \.kept)
  }
}
