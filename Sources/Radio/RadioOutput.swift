import BluetoothTypes

/// What the radio tells a controller's host.
package struct RadioOutput: Sendable, Hashable {
  package var controller: ControllerIdentifier
  package var event: Event
  package init(_ controller: ControllerIdentifier, _ event: Event) {
    self.controller = controller
    self.event = event
  }

  package enum Event: Sendable, Hashable {
    case advertisement(AdvertisementReport)
    /// The initiator stopped by itself. The advertiser's set stopped, too.
    case connected(LinkParameters)
    case disconnected(LinkIdentifier, DisconnectReason)
    case received(LinkIdentifier, Frame)
    /// A command was invalid, with the reason. Nothing changed.
    case refused(String)
  }
}

package struct AdvertisementReport: Sendable, Hashable {
  package var address: DeviceAddress
  package var data: [UInt8]
  /// `nil` if the scan was passive or the response was lost.
  package var scanResponse: [UInt8]?
  package var isConnectable: Bool
  /// In dBm.
  package var rssi: Int8
  package init(address: DeviceAddress, data: [UInt8], scanResponse: [UInt8]? = nil, isConnectable: Bool, rssi: Int8) {
    self.address = address
    self.data = data
    self.scanResponse = scanResponse
    self.isConnectable = isConnectable
    self.rssi = rssi
  }
}

package struct LinkParameters: Sendable, Hashable {
  package enum Role: String, Sendable, Hashable, Codable {
    case central
    case peripheral
  }
  package var link: LinkIdentifier
  package var role: Role
  package var ownAddress: DeviceAddress
  package var peerAddress: DeviceAddress
  package var connectionInterval: Duration
  package var supervisionTimeout: Duration
  package init(
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
package enum DisconnectReason: UInt8, Sendable, Hashable, Codable {
  case authenticationFailure = 0x05
  case keyMissing = 0x06
  case connectionTimeout = 0x08
  case remoteUserTerminated = 0x13
  case remotePoweredOff = 0x15
  case localHostTerminated = 0x16
  case failedToEstablish = 0x3E
}
