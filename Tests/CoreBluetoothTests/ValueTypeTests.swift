import AppLink
import CoreBluetooth
import Testing

@Suite("Values of the API")
struct ValueTypeTests {
  @Test("C8: a UUID's 16-bit and 128-bit forms are equal, hash alike and print short")
  func uuids() {
    let short = CBUUID(string: "180F")
    let long = CBUUID(string: "0000180f-0000-1000-8000-00805f9b34fb")
    #expect(short == long)
    #expect(Set([short, long]).count == 1)
    #expect(long.uuidString == "180F")
    #expect(short.data == Data([0x18, 0x0F]))
    #expect(CBUUID(data: Data([0x18, 0x0F])) == short)
    let own = UUID(uuidString: "ABDD3056-28FA-441D-A470-55A75A52553A")
    #expect(own.map { CBUUID(nsuuid: $0) } == CBUUID(string: "abdd3056-28fa-441d-a470-55a75a52553a"))
    #expect(own.map { CBUUID(nsuuid: $0).uuidString } == own?.uuidString)
    #expect(short != CBUUID(string: "180A"))
    #expect((short.copy() as? CBUUID) == short)
    #expect(String(format: "service %@", short) == "service 180F")
  }

  @Test("C8: a text that is no UUID ends the program and is named")
  func badUUID() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = CBUUID(string: "18-F")
    }
    #expect(errorText(result).contains("18-F"))
  }

  @Test("C8: errors match by code, bridge to NSError and back")
  func errors() {
    let error: any Error = CBError(.peripheralDisconnected, userInfo: [NSLocalizedDescriptionKey: "gone"])
    #expect((error as? CBError)?.code == .peripheralDisconnected)
    #expect(error.localizedDescription == "gone")
    let bridged = error as NSError
    #expect(bridged.domain == CBErrorDomain)
    #expect(bridged.code == 7)
    #expect(CBError(_nsError: bridged).code == .peripheralDisconnected)
    var wasMatched = false
    switch error {
    case CBATTError.insufficientEncryption: Issue.record("matched another domain")
    case CBError.peripheralDisconnected: wasMatched = true
    default: break
    }
    #expect(wasMatched)
    do { throw CBATTError(.insufficientEncryption) } catch CBATTError.insufficientEncryption {} catch {
      Issue.record("not matched: \(error)")
    }
    #expect(CBError.Code.unknownDevice == .unkownDevice)
    #expect(CBError.Code.unknownDevice.rawValue == 12)
    #expect(CBATTError.Code.insufficientResources.rawValue == 17)
    #expect(CBATTError.errorDomain == "CBATTErrorDomain")
    #expect(CBError(.unknown) == CBError(.unknown))
  }

  @Test("C8: each code that the system can give is Apple's of the same name")
  func codes() {
    for code in PeerError.Code.allCases {
      // Apple's spelling.
      let name = code == .unknownDevice ? "unkownDevice" : "\(code)"
      #expect(CBError.Code(rawValue: code.rawValue).map { "\($0)" } == name)
    }
    #expect(CBError.Code(rawValue: PeerError.Code.allCases.count) == nil)
  }

  @Test("C8: raw values are Apple's")
  func rawValues() {
    #expect(CBManagerState.poweredOn.rawValue == 5)
    #expect(CBManagerAuthorization.allowedAlways.rawValue == 3)
    #expect(CBPeripheralState.disconnecting.rawValue == 3)
    #expect(CBConnectionEvent.peerConnected.rawValue == 1)
    #expect(CBCentralManager.Feature.channelSounding.rawValue == 1 << 10)
    #expect(CBCharacteristicProperties.indicateEncryptionRequired.rawValue == 512)
    #expect(CBAttributePermissions.writeEncryptionRequired.rawValue == 8)
    #expect(CBCharacteristicWriteType.withoutResponse.rawValue == 1)
    #expect(CBPeripheralManagerConnectionLatency.high.rawValue == 2)
    #expect(CBError.Code.leGattNearBackgroundNotificationLimit.rawValue == 18)
  }
}
