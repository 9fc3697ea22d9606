import ArrivalTimes
import Testing

@Suite("How long an arrival takes", .serialized) struct ArrivalTimesTests {
  @Test(
    "L2: from the link to the lock in one write and no read, within 150 ms at the lock's interval and 350 ms else",
    arguments: [(Duration.milliseconds(15), 0.150), (.milliseconds(50), 0.350)], [false, true])
  func fast(_ link: (interval: Duration, limit: Double), isDead: Bool) async throws {
    let count = 60
    let row = try #require(
      await ArrivalTable.row(count, seed: 3, connectionInterval: link.interval, isDead: isDead))
    #expect(row.missed == 0 && row.total.count == count)
    #expect(row.reads == 0)
    #expect(row.writes == count)
    #expect(ArrivalTable.percentile(95, row.toAcceptance) <= link.limit, "\(row.toAcceptance)")
    #expect(ArrivalTable.percentile(95, row.total) <= 1, "\(row.total)")
    guard link.interval <= .milliseconds(15) else { return }
    #expect(ArrivalTable.percentile(50, row.total) <= 0.6, "\(row.total)")
  }
}
