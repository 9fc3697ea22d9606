import BlueZ
import BluetoothTypes
import BusValue
import Radio
import Testing
import TimeTypes

@testable import BlueZModel

/// One machine with a link to a peer that sends whatever a test wants.
private struct HostilePeer {
  var model: BlueZModel
  var now = Instant.zero
  let link = LinkIdentifier(1)

  init(role: LinkParameters.Role) {
    model = BlueZModel(
      configuration: BlueZConfiguration(
        controller: ControllerIdentifier("door"), address: DeviceAddress(bits: 1, kind: .public),
        identityKey: IdentityResolvingKey(high: 1, low: 2), seed: 1))
    _ = model.handle(.control(.start), at: now)
    let client = ClientIdentifier(":1.5")
    let register = Request.registerApplication(
      root: ObjectPath(unchecked: "/app"), objects: Bench.lockObjects(encrypted: false))
    let path = ObjectPath(unchecked: "/agent")
    for (object, request) in [
      (WellKnown.firstAdapter, register),
      (WellKnown.managerPath, .registerAgent(path: path, capability: .displayYesNo)),
      (WellKnown.managerPath, .requestDefaultAgent(path: path)),
    ] {
      _ = model.handle(.message(from: client, .call(CallIdentifier(1), path: object, request)), at: now)
    }
    let parameters = LinkParameters(
      link: link, role: role, ownAddress: DeviceAddress(bits: 1, kind: .public),
      peerAddress: DeviceAddress(bits: 2, kind: .public), connectionInterval: .milliseconds(30),
      supervisionTimeout: .milliseconds(420))
    _ = model.handle(.radio(.connected(parameters)), at: now)
    let features = Frame(channel: Channel.linkLayer, payload: [LinkControl.featureResponse])
    _ = model.handle(.radio(.received(link, features)), at: now)
  }

  /// What the machine answers on the attribute channel.
  mutating func say(_ pdu: ATTPDU) -> [ATTPDU] {
    say(Channel.attributes, pdu.bytes).compactMap { effect in
      guard case .radio(.send(_, _, let frame)) = effect, frame.channel == Channel.attributes else { return nil }
      return ATTPDU(frame.payload)
    }
  }

  @discardableResult
  mutating func say(_ channel: UInt16, _ payload: [UInt8]) -> [BlueZModel.Effect] {
    model.handle(.radio(.received(link, Frame(channel: channel, payload: payload))), at: now)
  }
}

@Suite struct HostileInput {
  @Test("H4: a write that is too long gets 0x0d, an unknown handle 0x01, a forbidden one 0x03")
  func errors() {
    var peer = HostilePeer(role: .peripheral)
    let handle = peer.model.server.database.attributes.first { $0.type == Bench.command }?.handle ?? 0
    #expect(
      peer.say(.writeRequest(handle, [UInt8](repeating: 0, count: 513))) == [
        .errorResponse(request: 0x12, handle: handle, error: .invalidAttributeValueLength)
      ])
    #expect(
      peer.say(.readRequest(0xFFF0)) == [.errorResponse(request: 0x0A, handle: 0xFFF0, error: .invalidHandle)])
    #expect(
      peer.say(.writeRequest(1, [0])) == [.errorResponse(request: 0x12, handle: 1, error: .writeNotPermitted)])
    #expect(
      peer.say(.readByGroupTypeRequest(start: 5, end: 2, type: BluetoothUUID(UInt16(0x2800)))) == [
        .errorResponse(request: 0x10, handle: 5, error: .invalidHandle)
      ])
  }

  @Test("H4: an unreadable request and an unknown one get an error")
  func malformed() {
    var peer = HostilePeer(role: .peripheral)
    func answer(_ payload: [UInt8]) -> [ATTPDU] {
      peer.say(Channel.attributes, payload).compactMap { effect in
        if case .radio(.send(_, _, let frame)) = effect { ATTPDU(frame.payload) } else { nil }
      }
    }
    #expect(answer([0x0A, 1]) == [.errorResponse(request: 0x0A, handle: 0, error: .invalidPDU)])
    #expect(answer([0x20, 1, 2]) == [.errorResponse(request: 0x20, handle: 0, error: .requestNotSupported)])
    #expect(answer([]) == [])
    #expect(answer([0x1B, 1]) == [])
  }

  @Test("H4: a transaction that is not answered for 30 s ends the link")
  func transactionTimeout() {
    var peer = HostilePeer(role: .central)
    #expect(peer.model.nextDeadline == Instant.zero + .seconds(30))
    let effects = peer.model.handle(.timePassed, at: Instant.zero + .seconds(30))
    let ends = effects.contains { if case .radio(.disconnect) = $0 { true } else { false } }
    #expect(ends)
    #expect(peer.model.links.isEmpty)
  }

  @Test("H4: whatever a peer sends, bluetoothd continues to work within its limits", arguments: 0..<40)
  func noise(seed: UInt64) {
    for role in [LinkParameters.Role.central, .peripheral] {
      var peer = HostilePeer(role: role)
      var mixer = Mixer(seed)
      for _ in 0..<300 {
        let opcodes: [UInt8] = [
          0x01, 0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x10, 0x11, 0x12, 0x13, 0x16, 0x17, 0x18,
          0x19, 0x1B, 0x1D, 0x1E, 0x52,
        ]
        let channel = [Channel.linkLayer, Channel.attributes, Channel.attributes, Channel.security][
          Int(mixer.next() % 4)]
        var payload = mixer.bytes(Int(mixer.next() % 40))
        if channel == Channel.attributes, !payload.isEmpty {
          payload[0] = opcodes[Int(mixer.next() % UInt64(opcodes.count))]
          // Small handles hit attributes.
          for index in payload.indices.dropFirst() where mixer.next() % 2 == 0 { payload[index] &= 0x1F }
        } else if !payload.isEmpty {
          payload[0] &= 0x0F
        }
        peer.say(channel, payload)
        peer.now += .milliseconds(10)
      }
      #expect(peer.model.isRunning)
      #expect(peer.model.devices.count <= 1)
      #expect(peer.model.devices.values.reduce(0) { $0 + ($1.database?.services.count ?? 0) } < 1000)
    }
  }

  @Test("H4: advertising data of any bytes is read or refused", arguments: 0..<20)
  func advertisingNoise(seed: UInt64) {
    var mixer = Mixer(seed, 7)
    for _ in 0..<500 {
      var data = AdvertisementData()
      let bytes = mixer.bytes(Int(mixer.next() % 32))
      if !AdvertisementCodec.read(bytes, into: &data) { #expect(data == AdvertisementData()) }
    }
  }

  @Test("H4: what is written into an advertisement is read out of it")
  func advertisingRoundTrip() {
    var data = AdvertisementData(flags: 6, serviceUUIDs: [BluetoothUUID(UInt16(0x180F)), Bench.service])
    data.manufacturerData = [0x004C: [1, 2, 3]]
    data.serviceData = [BluetoothUUID(UInt16(0x180F)): [99]]
    data.transmitPowerLevel = -4
    data.appearance = 0x0540
    var read = AdvertisementData()
    #expect(AdvertisementCodec.read(AdvertisementCodec.write(data), into: &read))
    #expect(read == data)
  }

  @Test(
    "H4: every attribute message survives its way through bytes",
    arguments: [
      ATTPDU.errorResponse(request: 0x0A, handle: 3, error: .insufficientEncryption), .exchangeMTURequest(517),
      .findInformationResponse([.init(handle: 4, type: Bench.service)]),
      .readByTypeRequest(start: 1, end: 0xFFFF, type: Bench.service),
      .readByTypeResponse([.init(handle: 2, value: [1, 2]), .init(handle: 3, value: [4, 5])]),
      .readByGroupTypeResponse([.init(start: 1, end: 5, value: [0, 0x18])]),
      .readBlobRequest(7, offset: 22), .prepareWriteRequest(7, offset: 18, [1, 2, 3]),
      .executeWriteRequest(commit: true),
      .notification(9, []), .indication(9, [1]), .confirmation, .writeCommand(1, [2]),
    ])
  func roundTrip(pdu: ATTPDU) {
    #expect(ATTPDU(pdu.bytes) == pdu)
  }
}
