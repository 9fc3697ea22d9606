import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// One live link, with the state of both protocols on it.
struct Link: Sendable {
  typealias Identifier = LinkIdentifier

  let parameters: LinkParameters
  let identifier: LinkIdentifier
  let role: LinkParameters.Role
  let ownAddress: DeviceAddress
  let peerAddress: DeviceAddress
  let device: ObjectPath

  /// The kernel has the link from before this bluetoothd. Nothing is sent on it until a client asks for the device.
  var isOrphan = false
  var isEncrypted = false
  /// A pairing without a bond has made a key that is safe from an attacker in the middle.
  var isAuthenticated = false
  /// This side asked for encryption.
  var isEncrypting = false
  /// The link to a bonded peer carries none of our attribute messages before it is encrypted.
  var isHeld = false
  var heldPDUs: [ATTPDU] = []

  /// The attribute protocol works: both controllers know each other's features. Until then bluetoothd shows the link,
  /// but can't use it.
  var isAttached = false
  /// What came before the link was attached. The kernel keeps it.
  var earlyFrames: [Frame] = []

  var mtu = ATTLimits.defaultMTU
  /// One end is not a bluetoothd, because it agreed on a smaller MTU than any bluetoothd does (`MachineManners.mtu`).
  var isOfAnotherKind = false
  var client = ATTClient()
  var server = ATTServing()
  var commands = WriteCommands()
  var pairing: Pairing?
  var pairingDeadline: Instant?

  init(_ parameters: LinkParameters, device: ObjectPath) {
    self.parameters = parameters
    identifier = parameters.link
    role = parameters.role
    ownAddress = parameters.ownAddress
    peerAddress = parameters.peerAddress
    self.device = device
  }

  func add(to deadlines: inout Deadlines) {
    deadlines.add(client.deadline, .transaction(identifier))
    deadlines.add(pairingDeadline, .pairing(identifier))
    deadlines.add(commands.deadline, .writeCommands(identifier))
  }
}

enum Channel {
  /// Stands in for link layer control (see `Radio.Frame`).
  static let linkLayer: UInt16 = 0
  static let attributes = Frame.attributes
  /// The LE signalling channel.
  static let signaling: UInt16 = 5
  static let security: UInt16 = 6
}

extension BlueZModel {
  /// More frames than a peer sends before this side is ready too. The two are at most one connection event apart.
  private static let earlyFrameLimit = 16

  /// The device's link, if the attribute protocol works on it.
  func attachedLink(of device: ObjectPath) -> LinkIdentifier? {
    devices[device]?.link.flatMap { links[$0]?.isAttached == true ? $0 : nil }
  }

  mutating func receive(_ frame: Frame, on identifier: LinkIdentifier) {
    guard !answersFeatureRequest(frame, on: identifier) else { return }
    guard isRunning, let link = links[identifier], !link.isOrphan else { return }
    guard link.isAttached || frame.channel == Channel.linkLayer else {
      if link.earlyFrames.count < Self.earlyFrameLimit { links[identifier]?.earlyFrames.append(frame) }
      return
    }
    switch frame.channel {
    case Channel.linkLayer: receiveLinkLayer(frame.payload, on: identifier)
    case Channel.security: receiveSecurity(frame.payload, on: identifier)
    case Channel.attributes:
      guard frame.payload.count <= ATTLimits.maximumMTU, let pdu = ATTPDU(frame.payload) else {
        outbox.append(.diagnostic(.malformedPDU(device: link.device)))
        return refuseMalformed(frame.payload, on: identifier)
      }
      receive(pdu, on: identifier)
    case Channel.signaling: receiveSignaling(frame.payload, on: identifier)
    case CreditChannels.identifiers: receiveData(frame.payload, on: .init(link: identifier, channel: frame.channel))
    default: outbox.append(.diagnostic(.malformedPDU(device: link.device)))
    }
  }

  private mutating func receive(_ pdu: ATTPDU, on link: LinkIdentifier) {
    switch pdu.direction {
    case .request: serve(pdu, on: link)
    case .command: serveCommand(pdu, on: link)
    case .response: transactionAnswered(pdu, on: link)
    case .notification, .indication: valueArrived(pdu, on: link)
    case .confirmation: indicationConfirmed(on: link)
    }
  }

  /// A request that cannot be read still gets an answer. Any other unreadable message is dropped.
  private mutating func refuseMalformed(_ payload: [UInt8], on link: LinkIdentifier) {
    guard let opcode = payload.first, opcode & 0x40 == 0, opcode % 2 == 0, opcode != 0x1E else { return }
    let isKnown = [0x02, 0x04, 0x08, 0x0A, 0x0C, 0x10, 0x12, 0x16, 0x18].contains(opcode)
    send(
      .errorResponse(request: opcode, handle: 0, error: isKnown ? .invalidPDU : .requestNotSupported), on: link)
  }

  /// Sends an attribute message, or keeps it until the link is encrypted.
  mutating func send(_ pdu: ATTPDU, on identifier: LinkIdentifier) {
    guard let link = links[identifier] else { return }
    if link.isHeld {
      links[identifier]?.heldPDUs.append(pdu)
    } else {
      send(Channel.attributes, pdu.bytes, on: identifier)
    }
  }

  mutating func send(_ channel: UInt16, _ payload: [UInt8], on link: LinkIdentifier) {
    tell(.send(configuration.controller, link, Frame(channel: channel, payload: payload)))
  }

  mutating func releaseHeld(_ identifier: LinkIdentifier) {
    guard let link = links[identifier], link.isHeld else { return }
    links[identifier]?.isHeld = false
    links[identifier]?.heldPDUs = []
    for pdu in link.heldPDUs { send(Channel.attributes, pdu.bytes, on: identifier) }
  }
}
