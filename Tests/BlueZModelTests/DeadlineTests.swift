import BlueZ
import BusValue
import Testing
import TimeTypes

@testable import BlueZModel

/// A deadline without an alarm is a hang. So for every future time that any part of a bluetoothd stores, the alarm
/// must ring by then.
@Suite("Deadlines of the model")
struct DeadlineTests {
  /// A device that is wanted again keeps the time at which it would have vanished. Nothing happens then.
  private static let permissions: Set<String> = ["vanishesAt", "configuration"]

  private func models(in value: Any) -> [BlueZModel] {
    if let model = value as? BlueZModel { return [model] }
    return Mirror(reflecting: value).children.flatMap { models(in: $0.value) }
  }

  private func ahead(_ value: Any, _ path: String, after now: Instant) -> [(path: String, time: Instant)] {
    if let time = value as? Instant { return time > now ? [(path, time)] : [] }
    return Mirror(reflecting: value).children.flatMap { child in
      Self.permissions.contains(child.label ?? "")
        ? [] : ahead(child.value, path + "." + (child.label ?? ""), after: now)
    }
  }

  @Test("8: whatever is due in a part of bluetoothd has an alarm")
  func alarms() {
    var bench = Bench(isExperimental: true)
    var (kept, forgotten): (Set<String>, Set<String>) = ([], [])
    func look(_ bench: Bench) {
      for model in models(in: bench.world) where model.isRunning {
        let alarm = model.nextDeadline
        for (path, time) in ahead(model, "", after: bench.now) {
          kept.insert(String(path.split(separator: ".").last ?? ""))
          if alarm.map({ $0 > time }) ?? true { forgotten.insert(path) }
        }
      }
    }
    func pass(_ seconds: Int, _ bench: inout Bench) {
      for _ in 0..<seconds {
        look(bench)
        bench.run(.seconds(1))
      }
    }
    // Properties that end by themselves, and an advertisement that does.
    let end = PropertyValues<LEAdvertisement1>([
      "Type": .string("peripheral"), "Discoverable": .bool(true), "DiscoverableTimeout": .uint16(5),
      "Timeout": .uint16(20),
    ])
    bench.call(Bench.door, Bench.adapter, .set(\Adapter1.discoverable, to: true))
    bench.call(
      Bench.door, Bench.adapter,
      .registerAdvertisement(path: ObjectPath(unchecked: "/short"), properties: end.all))
    pass(7, &bench)
    // Links, questions, callbacks that are never answered, a link that ends, and calls that fail.
    let path = bench.settle(notifying: true)
    pass(3, &bench)
    bench.answers = { _ in nil }
    if let command = bench.characteristic(Bench.command) {
      bench.call(Bench.phone, command, .writeValue([1], WriteOptions(kind: .request)))
    }
    pass(5, &bench)
    bench.call(Bench.phone, path, .disconnect)
    pass(3, &bench)
    bench.leave()
    bench.call(Bench.phone, path, .connect)
    pass(3, &bench)
    bench.call(Bench.phone, Bench.adapter, .startDiscovery)
    pass(30, &bench)
    #expect(forgotten.isEmpty)
    #expect(kept.count >= 3, "the story has too few deadlines to say anything: \(kept)")
  }
}
