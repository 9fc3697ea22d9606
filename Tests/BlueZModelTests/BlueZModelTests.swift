import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

@Suite struct FirstMeeting {
  @Test("H4: a device is discovered with its name, services and strength, and the strength goes with the discovery")
  func discovers() throws {
    var bench = Bench()
    bench.serveLock()
    bench.call(Bench.phone, Bench.adapter, .startDiscovery)
    bench.run(.seconds(2))
    let path = try #require(bench.lockPath)
    #expect(bench.device(path, "Name") == .string("Front door"))
    #expect(bench.device(path, "RSSI") != nil)
    #expect(bench.device(path, "Connected") == .bool(false))
    #expect(bench.phoneObjects[Bench.adapter]?[InterfaceName.adapter]?["Discovering"] == .bool(true))
    bench.call(Bench.phone, Bench.adapter, .stopDiscovery)
    #expect(bench.device(path, "RSSI") == nil)
    let isInvalidated = bench.signals.contains {
      if case .propertiesChanged(path, _, _, ["RSSI"]) = $0.signal { true } else { false }
    }
    #expect(isInvalidated)
  }

  @Test("H4: connect, resolve, read, write and be notified")
  func exchanges() throws {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    let path = bench.meet()
    #expect(bench.isResolved(path))
    let offer = try #require(bench.characteristic(Bench.offer))
    let command = try #require(bench.characteristic(Bench.command))
    #expect(bench.ask(Bench.phone, offer, .readValue(offset: 0))?.bytes == [7, 7])
    #expect(bench.ask(Bench.phone, command, .writeValue([1, 2, 3], WriteOptions(kind: .request)))?.isSuccess == true)
    let isWritten = bench.callbacks.contains {
      // The kind of write is not passed on.
      if case .writeValue([1, 2, 3], let request) = $0.callback {
        request.kind == nil && request.mtu == 517
      } else {
        false
      }
    }
    #expect(isWritten)
    #expect(bench.ask(Bench.phone, offer, .startNotify)?.isSuccess == true)
    #expect(bench.callbacks.contains { $0.callback == .startNotify && $0.path == Bench.offerPath })
    bench.send(Bench.door, .valueChanged(path: Bench.offerPath, value: [9]))
    bench.run(.seconds(1))
    #expect(bench.changes(InterfaceName.gattCharacteristic, "Value", of: offer).last?.value == .bytes([9]))
  }
}
