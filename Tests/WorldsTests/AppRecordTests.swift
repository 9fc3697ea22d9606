import Foundation
import Testing

@testable import Worlds

@Suite("Records in an app's output")
struct AppRecordTests {
  @Test("H1: a line of an app's output is a record if it begins with 'latchkey: ' and has an event and fields")
  func read() throws {
    let record = try #require(AppRecord(#"latchkey: value n=72 note="two \"words\"" empty="" unit=bpm"#))
    #expect(record.event == "value")
    #expect(record.fields == ["n": "72", "note": "two \"words\"", "empty": "", "unit": "bpm"])
    #expect(AppRecord("latchkey: started")?.event == "started")
    #expect(AppRecord("latchkeyd: started") == nil)
    #expect(AppRecord("2026 info: latchkey: started") == nil)
  }

  @Test(
    "H1: a line that begins like a record and is none is a warning, and says so",
    arguments: [
      "latchkey: ", "latchkey: two words", "latchkey: value n=\"open", "latchkey: value n=1 n=2", "latchkey: =1",
      "latchkey: value \(String(repeating: "x", count: 100))=1",
      "latchkey: value " + (1...40).map { "f\($0)=1" }.joined(separator: " "),
      "latchkey: value n=\(String(repeating: "9", count: 2000))",
    ])
  func damaged(_ line: String) throws {
    let record = try #require(AppRecord(line))
    #expect(record.event == nil)
    let entry = record.entry("collector", machine: "phone", t: 5, wall: 6, pid: 7)
    #expect(entry.level == "warning" && entry.event == nil && entry.message.contains("is not EVENT key=value"))
    #expect(entry.message.utf8.count < 2000)
  }

  @Test("H1: a record has the world's time, its app as the process, and the process that it names")
  func entry() throws {
    let entry = try #require(AppRecord("latchkey: told call=\"connected\" pid=\"12\"")).entry(
      "collector", machine: "phone", t: 5, wall: 6, pid: 7)
    #expect(entry.process == "collector" && entry.machine == "phone" && entry.t == 5 && entry.pid == 12)
    #expect(entry.fields == ["call": "connected"])
  }

  @Test("H1: output is read as it grows: whole lines only, each once, and lines without end are left out")
  func growing() throws {
    let path = NSTemporaryDirectory() + "/latchkey-output-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let app = InstalledApp(name: "a", bundleIdentifier: "org.example.a", executable: "a", propertyList: Data())
    let output = AppOutput(app, on: "phone", path: path)
    func events() throws -> [String] { try output.read(at: 0, wall: 0, pid: 1).map { $0.event ?? "?" } }
    #expect(try events().isEmpty)
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    let file = try #require(FileHandle(forWritingAtPath: path))
    func write(_ text: String) throws { try file.write(contentsOf: Data(text.utf8)) }
    try write("hello\nlatchkey: one\nlatchkey: tw")
    #expect(try events() == ["one"])
    #expect(try events().isEmpty)
    try write("o\n")
    #expect(try events() == ["two"])
    try write("latchkey: " + String(repeating: "x", count: 100_000))
    #expect(try events().isEmpty)
    try write("\nlatchkey: three\n")
    #expect(try events() == ["three"])
  }

  @Test("H6: of an app that prints without end a part is read, and the story ends with a word that names it")
  func flood() throws {
    func read(_ line: String, times: Int, moments: Int64) throws -> (count: Int, complaint: String?) {
      let path = NSTemporaryDirectory() + "/latchkey-output-\(UUID().uuidString)"
      defer { try? FileManager.default.removeItem(atPath: path) }
      let app = InstalledApp(name: "a", bundleIdentifier: "org.example.a", executable: "a", propertyList: Data())
      let output = AppOutput(app, on: "phone", path: path)
      #expect(FileManager.default.createFile(atPath: path, contents: nil))
      let file = try #require(FileHandle(forWritingAtPath: path))
      let text = Data(String(repeating: line, count: times / Int(moments)).utf8)
      var count = 0
      for moment in 0..<moments {
        try file.write(contentsOf: text)
        count += try output.read(at: moment, wall: 0, pid: 1).count
      }
      let complaint = output.takeComplaint()
      if complaint != nil {
        #expect(output.takeComplaint() == nil, "it is said once")
        #expect(try output.read(at: moments, wall: 0, pid: 1).isEmpty, "nothing more is read")
      }
      return (count, complaint)
    }
    let records = try read("latchkey: x\n", times: 110_000, moments: 1)
    #expect(records.count == 100_000)
    #expect(records.complaint?.hasPrefix("the app 'a' on phone recorded more than 100000 lines") == true)
    let noise = try read(String(repeating: "y", count: 1023) + "\n", times: 20_000, moments: 1)
    #expect(noise.count == 0)
    #expect(noise.complaint?.hasPrefix("the app 'a' on phone printed more than 16 MiB") == true)
    // As much in the course of a story is no flood.
    let spread = try read("latchkey: x\n", times: 110_000, moments: 10)
    #expect(spread.count == 110_000 && spread.complaint == nil)
  }

  @Test("H1: what the module records is read wherever it stands, and a process begins a line of its own")
  func within() throws {
    let path = NSTemporaryDirectory() + "/latchkey-output-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let app = InstalledApp(name: "a", bundleIdentifier: "org.example.a", executable: "a", propertyList: Data())
    let output = AppOutput(app, on: "phone", path: path)
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    let file = try #require(FileHandle(forWritingAtPath: path))
    func read(_ text: String, pid: Int32 = 1) throws -> [String] {
      try file.write(contentsOf: Data(text.utf8))
      return try output.read(at: 0, wall: 0, pid: pid).map { $0.fields["call"] ?? $0.event ?? "?" }
    }
    let told = "latchkey: told call=\"connected\" role=\"central\"\n"
    #expect(try read("loading ... " + told + told) == ["connected", "connected"])
    #expect(try read("latchkey: one a=1" + told) == ["one", "connected"])
    #expect(try read(String(repeating: "x", count: 100_000)) == [])
    #expect(try read(String(repeating: "y", count: 100_000) + told) == ["connected"])
    #expect(try read("latchkey: note text=\"latchkey: told call=\\\"x\\\"\"\n") == ["note"])
    #expect(try read("latchkey: tw") == [])
    #expect(try read("latchkey: one\n", pid: 2).suffix(1) == ["one"])
    // The system's word on the process may come after what it printed first.
    #expect(try read("latchkey: tw", pid: 2) == [])
    #expect(try read("o\n", pid: 3) == ["two"])
  }

  @Test("H6: why Swift ended an app, and what it did wrong with Core Bluetooth, are warnings, the same one once")
  func trouble() throws {
    let path = NSTemporaryDirectory() + "/latchkey-output-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let fatal = #"CoreBluetooth/CBManager.swift:153: Fatal error: the restore identifier "main" needs a mode"#
    let misuse = "2026-01-01T00:00:00+0000 critical c: [CoreBluetooth] API MISUSE: stopScan() is ignored"
    try """
    Current stack trace:
    \(fatal)
    \(misuse)
    \(misuse)
    I said: Fatal error: not mine
    \(fatal)

    """.write(toFile: path, atomically: true, encoding: .utf8)
    let app = InstalledApp(name: "a", bundleIdentifier: "org.example.a", executable: "a", propertyList: Data())
    let entries = try AppOutput(app, on: "phone", path: path).read(at: 5, wall: 6, pid: 7)
    #expect(entries.map(\.message) == [fatal, "API MISUSE: stopScan() is ignored", fatal])
    #expect(entries.allSatisfy { $0.level == "warning" && $0.event == nil && $0.process == "a" && $0.t == 5 })
  }

  @Test("H6: an app that does wrong all day does not fill the timeline")
  func muchTrouble() throws {
    var trouble = AppTrouble()
    let told = (0..<1000).compactMap { trouble.read("API MISUSE: a value of \($0) is ignored") }
    #expect(told.count == 20)
  }
}
