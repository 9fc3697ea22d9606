import BluetoothTypes

/// What the radio tells a controller's host.
public struct RadioOutput: Sendable, Hashable {
  public var controller: ControllerIdentifier
  public var event: Event
  public init(_ controller: ControllerIdentifier, _ event: Event) {
    self.controller = controller
    self.event = event
  }

  public enum Event: Sendable, Hashable {
    case advertisement(AdvertisementReport)
    /// The initiator stopped by itself. The advertiser's set stopped, too.
    case connected(LinkParameters)
    case disconnected(LinkIdentifier, DisconnectReason)
    case received(LinkIdentifier, Frame)
    /// A command was invalid, with the reason. Nothing changed.
    case refused(String)
  }
}

public struct AdvertisementReport: Sendable, Hashable {
  public var address: DeviceAddress
  public var data: [UInt8]
  /// `nil` if the scan was passive or the response was lost.
  public var scanResponse: [UInt8]?
  public var isConnectable: Bool
  /// In dBm.
  public var rssi: Int8
  public init(address: DeviceAddress, data: [UInt8], scanResponse: [UInt8]? = nil, isConnectable: Bool, rssi: Int8) {
    self.address = address
    self.data = data
    self.scanResponse = scanResponse
    self.isConnectable = isConnectable
    self.rssi = rssi
  }
}

public struct LinkParameters: Sendable, Hashable {
  public enum Role: String, Sendable, Hashable, Codable {
    case central
    case peripheral
  }
  public var link: LinkIdentifier
  public var role: Role
  public var ownAddress: DeviceAddress
  public var peerAddress: DeviceAddress
  public var connectionInterval: Duration
  public var supervisionTimeout: Duration
  public init(
    link: LinkIdentifier, role: Role, ownAddress: DeviceAddress, peerAddress: DeviceAddress,
    connectionInterval: Duration, supervisionTimeout: Duration
  ) {
    self.link = link
    self.role = role
    self.ownAddress = ownAddress
    self.peerAddress = peerAddress
    self.connectionInterval = connectionInterval
    self.supervisionTimeout = supervisionTimeout
  }
}

/// Why a link ended: HCI error codes (Bluetooth Core, Vol 1, Part F, 1.3).
public enum DisconnectReason: UInt8, Sendable, Hashable, Codable {
  case authenticationFailure = 0x05
  case keyMissing = 0x06
  case connectionTimeout = 0x08
  case remoteUserTerminated = 0x13
  case remotePoweredOff = 0x15
  case localHostTerminated = 0x16
  case failedToEstablish = 0x3E
}
