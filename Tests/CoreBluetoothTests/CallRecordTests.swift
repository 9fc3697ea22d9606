import Foundation
import Glibc
import Testing
import Timekeeping

@testable import CoreBluetooth

@Suite("The record of what delegates are told") struct CallRecordTests {
  @Test(
    "H1: a record is a line of a file, or one of the journal where its socket is named; a file that is gone is no crash"
  )
  func places() throws {
    let folder = NSTemporaryDirectory() + "record-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let line = "latchkey: told call=\"connected\""

    try "before\n".write(toFile: "\(folder)/file", atomically: false, encoding: .utf8)
    CallRecord.append(line, to: "\(folder)/file")
    #expect(try String(contentsOfFile: "\(folder)/file", encoding: .utf8) == "before\n\(line)\n")

    let journal = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(journal) }
    #expect(withUnixAddress("\(folder)/socket") { bind(journal, $0, $1) } == 0)
    CallRecord.append(line, to: "\(folder)/socket")
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(journal, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    #expect(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self) == "MESSAGE=\(line)\nPRIORITY=6\n")

    CallRecord.append(line, to: "\(folder)/gone")
    #expect(!FileManager.default.fileExists(atPath: "\(folder)/gone"))
  }
}
