import BluetoothTypes
import CoreBluetooth
import Foundation
import Testing

@Suite("What errors say to people")
struct ErrorTextTests {
  @Test(
    "C8: an error of the peer's attribute server has the words that apps know",
    arguments: [
      (1, "The handle is invalid."), (2, "Reading is not permitted."), (3, "Writing is not permitted."),
      (5, "Authentication is insufficient."), (6, "The request is not supported."),
      (13, "The value's length is invalid."), (14, "Unlikely error."), (15, "Encryption is insufficient."),
      (17, "Resources are insufficient."), (0x12, "Unknown ATT error."), (0x81, "Unknown ATT error."),
    ])
  func answered(_ code: Int, _ text: String) async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    peripheral.readValue(for: characteristic)
    let (identifier, _) = try #require(try await setup.nextOperation())
    setup.complete(identifier, .failed(.att(ATTError(rawValue: UInt8(code)))))
    _ = try await setup.recorder.calls.next()
    let error = try #require(setup.recorder.error as? CBATTError)
    #expect(error.errorCode == code && error.localizedDescription == text)
    // Which one it is, also where Apple's words don't say so.
    let reason = try #require((error as NSError).localizedFailureReason)
    #expect(reason.hasPrefix("The peer answered"))
  }

  @Test("C8: what the properties don't allow has the same words, and says which call it was")
  func refused() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    peripheral.writeValue(Data(count: 513), for: characteristic, type: .withResponse)
    _ = try await setup.recorder.calls.next()
    let error = try #require(setup.recorder.error) as NSError
    #expect(error.localizedDescription == "The value's length is invalid.")
    #expect(error.localizedFailureReason?.hasPrefix("writeValue(_:for:type:) is not possible") == true)
  }
}
