import Foundation
import Testing

@testable import Stories

/// What an app keeps by the means that apps for iOS use.
@Suite("What an app has stored is there when it is relaunched", .serialized, .timeLimit(.minutes(20)))
struct AppDataTests {
  @Test("S9: what an app put into its UserDefaults when it was connected outlives its death, in a home of its own")
  func userDefaults() async throws {
    let told = try await AppStory(
      app: AppStory.collector.with(["central:main", "connect=180D", "notify=2A37", "remembers=yes"]),
      other: AppStory.band,
      chapters: """
          - name: the story
            steps:
        \(AppStory.left("collector", until: "value"))
              - kill app: {machine: phone, app: collector}
              - pass: 5min
            promises:
              - relaunched: {app: collector, restoring: [main], exactly: 1}
              - recorded: {app: collector, event: remembered, exactly: 2}
              - recorded: {app: collector, event: remembered, fields: {connections: "0", isOwn: "true"}, exactly: 1}
              - recorded: {app: collector, event: remembered, fields: {connections: "1", isOwn: "true"}, exactly: 1}
        """
    ).tell()
    #expect(told.report.kept, "\(told.promises(.broken) + told.promises(.notJudged))")
  }
}
