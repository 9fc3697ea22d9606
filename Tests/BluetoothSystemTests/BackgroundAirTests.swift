import AppLink
import BlueZModel
import BluetoothTypes
import Testing
import TimeTypes

@testable import BluetoothSystem

/// What iOS does to advertisements and scans of apps in the background, seen on the air.
@Suite("The background, on the air")
struct BackgroundAirTests {
  static let service = BluetoothUUID(high: 0x1A2B_3C4D_0000_4000, low: 0x8000_0000_0000_0001)
  static let other = BluetoothUUID(UInt16(0x180D))
  static let request = AdvertisementRequest(localName: "Thermometer", serviceUUIDs: [service])
  static let sender = "org.example.sender"
  static let finder = "org.example.finder"

  private func sending(modes: [String] = ["peripheral"], keepAlive: Bool = false) -> Air {
    var air = Air()
    air.add("desk", apps: [Air.app(Self.sender, modes: modes, keepAlive: keepAlive), Air.app("org.example.second")])
    air.advertise(Self.request, Self.sender, on: "desk")
    air.pass(.seconds(1))
    return air
  }

  @Test("B5, B6, B7: in the background an app's advertisement has no name and no services, and goes out less often")
  func background() throws {
    var air = sending()
    let before = try #require(air.onAir("desk").first)
    #expect(before.data.localName == "Thermometer")
    #expect(before.data.serviceUUIDs == [Self.service])
    #expect(before.data.manufacturerData.isEmpty)
    #expect(before.interval == .milliseconds(152))
    air.leave(Self.sender, on: "desk")
    air.pass(.seconds(60))
    #expect(air.state(Self.sender, on: "desk") == .suspended)
    #expect(air.onAir("desk").count == 1)
    let after = try #require(air.onAir("desk").first)
    #expect(after.data.localName == nil)
    #expect(after.data.serviceUUIDs.isEmpty)
    #expect(after.data.manufacturerData == [0xFFFF: OverflowArea(services: [Self.service]).bytes])
    #expect(after.interval == .milliseconds(1022))
    air.kill(Self.sender, on: "desk")
    air.pass(.seconds(60))
    #expect(air.onAir("desk").map(\.data) == [after.data], "its advertisement outlives its process")
    air.open(Self.sender, on: "desk")
    air.pass(.seconds(1))
    #expect(air.onAir("desk").map(\.data) == [before.data], "and is whole again when it is opened")
    #expect(air.onAir("desk").map(\.interval) == [before.interval])
    let told = air.machines["desk"]?.apps[Self.sender]?.events.map(\.kind.rawValue) ?? []
    #expect(told.count { $0 == "advertisingStarted" } == 1, "the app is not told of any of that")
  }

  @Test("F3: without the mode nothing is advertised in the background")
  func withoutMode() {
    var air = sending(modes: [])
    #expect(air.onAir("desk").count == 1)
    air.leave(Self.sender, on: "desk")
    air.pass(.seconds(6))
    #expect(air.onAir("desk").isEmpty)
    air.open(Self.sender, on: "desk")
    air.pass(.seconds(1))
    #expect(air.onAir("desk").map(\.data.localName) == ["Thermometer"])
  }

  @Test("B5, B6, B7: the advertisement of an app that always runs is the same wherever the app is")
  func keepAlive() {
    var air = sending(keepAlive: true)
    let before = air.onAir("desk").map(\.data)
    air.leave(Self.sender, on: "desk")
    air.pass(.seconds(60))
    #expect(air.onAir("desk").map(\.data) == before)
    #expect(air.onAir("desk").map(\.interval) == [.milliseconds(152)])
  }

  @Test("B7: beside an app in the foreground, one in the background advertises as often")
  func sideBySide() {
    var air = sending()
    air.leave(Self.sender, on: "desk")
    air.pass(.seconds(10))
    #expect(air.onAir("desk").map(\.interval) == [.milliseconds(1022)])
    air.advertise(
      AdvertisementRequest(localName: "Second", serviceUUIDs: [Self.other]), "org.example.second", on: "desk")
    air.pass(.seconds(1))
    #expect(air.onAir("desk").map(\.interval) == [.milliseconds(152), .milliseconds(152)])
    #expect(Set(air.onAir("desk").map(\.data.localName)) == [nil, "Second"])
    air.say(.peripheral(Air.peripheral, .stopAdvertising), "org.example.second", on: "desk")
    air.pass(.seconds(1))
    #expect(air.onAir("desk").map(\.interval) == [.milliseconds(1022)])
  }

  /// A machine beside the one whose app advertises in the background.
  private func besideBackground() -> Air {
    var air = sending()
    air.leave(Self.sender, on: "desk")
    air.pass(.seconds(10))
    air.add(
      "phone", apps: [Air.app(Self.finder, modes: ["central"]), Air.app("org.example.second", modes: ["central"])])
    return air
  }

  @Test("B6: a scan for that very service finds it, and is told that it was in the overflow area")
  func foundByName() throws {
    var air = besideBackground()
    air.scan([Self.other, Self.service], Self.finder, on: "phone")
    air.pass(.seconds(5))
    let found = air.discovered(Self.finder, on: "phone")
    #expect(found.count == 1)
    let data = try #require(found.first)
    #expect(data.overflowServiceUUIDs == [Self.service])
    #expect(data.serviceUUIDs.isEmpty)
    #expect(data.manufacturerData.isEmpty, "the area itself is not the app's business")
  }

  @Test("B6: a scan for another service does not find it; a scan for everything is not told its services")
  func notFound() throws {
    var air = besideBackground()
    air.scan([Self.other], Self.finder, on: "phone")
    air.scan(nil, "org.example.second", on: "phone")
    air.pass(.seconds(5))
    #expect(air.discovered(Self.finder, on: "phone").isEmpty)
    let seen = try #require(air.discovered("org.example.second", on: "phone").first)
    #expect(seen.serviceUUIDs.isEmpty)
    #expect(seen.overflowServiceUUIDs.isEmpty)
    #expect(seen.manufacturerData.isEmpty)
  }

  @Test("B6: a service that shares another's bit is found as well, which is what the format says")
  func falsePositive() throws {
    let twin = try #require(
      (UInt16(0x1800)...0x2FFF).lazy.map { BluetoothUUID($0) }.first {
        OverflowArea.bit(of: $0) == OverflowArea.bit(of: Self.service)
      })
    var air = besideBackground()
    air.scan([twin], Self.finder, on: "phone")
    air.pass(.seconds(5))
    #expect(air.discovered(Self.finder, on: "phone").map(\.overflowServiceUUIDs) == [[twin]])
  }

  @Test("B6: without a company identifier the services of apps in the background are not advertised")
  func switchedOff() {
    var configuration = BluetoothSystem.Configuration()
    configuration.overflowCompany = nil
    var air = Air()
    air.add("desk", apps: [Air.app(Self.sender, modes: ["peripheral"])], configuration: configuration)
    air.advertise(Self.request, Self.sender, on: "desk")
    air.leave(Self.sender, on: "desk")
    air.pass(.seconds(10))
    #expect(air.onAir("desk").map(\.data) == [AdvertisementData(flags: 0x06)])
  }

  @Test("B6: the format: where the bits of some services are, and data that are something else")
  func format() {
    let area = OverflowArea(services: [Self.other, BluetoothUUID(UInt16(0x180F)), Self.service])
    #expect(area.bytes.count == 19)
    #expect(Array(area.bytes.prefix(3)) == [0x4C, 0x4B, 0x01])
    #expect(OverflowArea(area.bytes) == area)
    #expect([Self.other, Self.service].allSatisfy(area.mayContain))
    // docs/background.md lists these.
    #expect(OverflowArea.bit(of: BluetoothUUID(UInt16(0x180D))) == OverflowAreaExamples.heartRate)
    #expect(OverflowArea.bit(of: BluetoothUUID(UInt16(0x180F))) == OverflowAreaExamples.battery)
    #expect(
      OverflowArea.bit(of: BluetoothUUID("12345678-9ABC-DEF0-1234-56789ABCDEF0")!) == OverflowAreaExamples.long)
    let others: [[UInt8]] = [
      [], [0x4C, 0x4B], Array(area.bytes.dropLast()), area.bytes + [0], [0x4C, 0x4B, 0x02] + area.bytes.dropFirst(3),
    ]
    #expect(others.allSatisfy { OverflowArea($0) == nil })
  }

  // MARK: Scans

  @Test("B3: while every app that scans is in the background, the radio scans for a part of the time only")
  func dutyCycle() throws {
    var air = Air()
    air.add(
      "phone", apps: [Air.app(Self.finder, modes: ["central"]), Air.app("org.example.second", modes: ["central"])])
    air.scan([Self.service], Self.finder, on: "phone")
    air.pass(.seconds(100))
    #expect(air.machines["phone"]?.discoveries.map(\.isOn) == [true], "in the foreground it goes on and on")
    air.leave(Self.finder, on: "phone")
    let left = air.now
    air.pass(.seconds(100))
    let turns = air.machines["phone"]?.discoveries.dropFirst().filter { $0.time >= left } ?? []
    #expect(turns.count >= 19 && turns.count <= 21)
    let (starts, stops) = (turns.filter(\.isOn).map(\.time), turns.filter { !$0.isOn }.map(\.time))
    for (start, next) in zip(starts, starts.dropFirst()) { #expect(next - start == .seconds(10)) }
    for (start, stop) in zip(starts, stops.dropFirst()) { #expect(stop - start == .milliseconds(1300)) }
    air.scan([Self.other], "org.example.second", on: "phone")
    let opened = air.now
    air.pass(.seconds(50))
    let since = air.machines["phone"]?.discoveries.filter { $0.time >= opened } ?? []
    #expect(since.count <= 1, "one app in the foreground is enough for a continuous scan")
    #expect(air.machines["phone"]?.discoveries.last?.isOn == true)
    air.say(.central(Air.central, .stopScan), Self.finder, on: "phone")
    air.say(.central(Air.central, .stopScan), "org.example.second", on: "phone")
    air.pass(.seconds(1))
    #expect(air.machines["phone"]?.discoveries.last?.isOn == false)
    let ended = air.machines["phone"]?.discoveries.count
    air.pass(.seconds(600))
    #expect(air.machines["phone"]?.discoveries.count == ended)
  }

  @Test("B2, B3: a scan in the background finds a peripheral later, once, and wakes its app for it")
  func foundLater() {
    var air = Air()
    air.add("phone", apps: [Air.app(Self.finder, modes: ["central"])])
    air.scan([Self.service], allowDuplicates: true, Self.finder, on: "phone")
    air.leave(Self.finder, on: "phone")
    air.pass(.seconds(15))
    #expect(air.state(Self.finder, on: "phone") == .suspended)
    air.add("desk", apps: [Air.app(Self.sender, modes: ["peripheral"])])
    air.advertise(Self.request, Self.sender, on: "desk")
    air.pass(.seconds(3))
    #expect(air.discovered(Self.finder, on: "phone").isEmpty, "nobody listens now")
    air.pass(.milliseconds(2500))
    #expect(air.discovered(Self.finder, on: "phone").count == 1)
    #expect(air.state(Self.finder, on: "phone") == .background)
    air.pass(.seconds(60))
    #expect(air.discovered(Self.finder, on: "phone").count == 1, "and not again, though it asked for duplicates")
    #expect(air.state(Self.finder, on: "phone") == .suspended)
  }

  @Test("F2: without the mode an app in the background neither scans nor discovers")
  func noScanWithoutMode() {
    var air = Air()
    air.add("phone", apps: [Air.app(Self.finder)])
    air.scan([Self.service], Self.finder, on: "phone")
    air.leave(Self.finder, on: "phone")
    air.pass(.seconds(6))
    air.add("desk", apps: [Air.app(Self.sender, modes: ["peripheral"])])
    air.advertise(Self.request, Self.sender, on: "desk")
    let before = air.machines["phone"]?.discoveries.count
    air.pass(.seconds(60))
    #expect(air.machines["phone"]?.discoveries.count == before)
    #expect(air.discovered(Self.finder, on: "phone").isEmpty)
    air.open(Self.finder, on: "phone")
    air.pass(.seconds(1))
    #expect(air.discovered(Self.finder, on: "phone").count == 1)
  }

  @Test("S8, B3: the scan of a dead app goes on, and relaunches it")
  func scanOfDeadApp() {
    var air = Air()
    air.add("phone", apps: [Air.app(Self.finder, modes: ["central"])])
    air.scan([Self.service], Self.finder, on: "phone")
    air.leave(Self.finder, on: "phone")
    air.pass(.seconds(5))
    air.kill(Self.finder, on: "phone")
    #expect(air.state(Self.finder, on: "phone") == .notRunning)
    air.add("desk", apps: [Air.app(Self.sender, modes: ["peripheral"])])
    air.advertise(Self.request, Self.sender, on: "desk")
    air.leave(Self.sender, on: "desk")
    air.pass(.seconds(25))
    #expect(air.state(Self.finder, on: "phone") != .notRunning)
    air.createManager(.central, Self.finder, on: "phone")
    #expect(air.discovered(Self.finder, on: "phone").map(\.overflowServiceUUIDs) == [[Self.service]])
  }
}

/// The bits of the services that docs/background.md gives as examples.
enum OverflowAreaExamples {
  static let heartRate = 108
  static let battery = 86
  static let long = 61
}
