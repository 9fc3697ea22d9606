import AppLink
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

  @Test(
    "C8: an error of Core Bluetooth itself has the words that apps know, and says what happened",
    arguments: [
      (PeerError.Code.unknown, "Unknown error."), (.invalidParameters, "One or more parameters were invalid."),
      (.notConnected, "The specified device is not connected."),
      (.connectionTimeout, "The connection has timed out unexpectedly."),
      (.peripheralDisconnected, "The specified device has disconnected from us."),
      (.connectionFailed, "The connection has failed unexpectedly."),
      (.peerRemovedPairingInformation, "Peer removed pairing information"),
      (.encryptionTimedOut, "Failed to encrypt the connection, the connection has timed out unexpectedly."),
      (.operationCancelled, "the reason"),
    ])
  func system(_ code: PeerError.Code, _ text: String) async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    peripheral.readRSSI()
    let (identifier, _) = try #require(try await setup.nextOperation())
    setup.complete(identifier, .failed(.coreBluetooth(code, message: "the reason")))
    _ = try await setup.recorder.calls.next()
    let error = try #require(setup.recorder.error as? CBError)
    #expect(error.errorCode == code.rawValue && error.localizedDescription == text)
    #expect((error as NSError).localizedFailureReason == "the reason")
  }

  @Test("C8: advertising twice is refused with the words that apps know")
  func advertising() async throws {
    let setup = try await PeripheralSetup()
    setup.manager.startAdvertising(nil)
    setup.manager.startAdvertising(nil)
    setup.system.emit(.advertisingStarted(error: nil))
    #expect(try await setup.recorder.calls.next() == "didStartAdvertising")
    #expect(try await setup.recorder.calls.next() == "didStartAdvertising failed")
    #expect(try #require(setup.recorder.error).localizedDescription == "Advertising has already started.")
  }
}
