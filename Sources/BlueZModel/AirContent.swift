import BluetoothTypes
import Radio

/// What others can receive of an advertisement.
package struct AirContent: Sendable, Hashable, Codable {
  package var name: String?
  package var services: [BluetoothUUID]
  package var intervalMilliseconds: Double

  init(_ parameters: AdvertisingParameters) {
    var data = AdvertisementData()
    _ = AdvertisementCodec.read(parameters.data, into: &data)
    _ = AdvertisementCodec.read(parameters.scanResponse, into: &data)
    name = data.localName
    services = data.serviceUUIDs
    intervalMilliseconds = parameters.interval / .milliseconds(1)
  }
}

extension WorldEvent {
  /// The part of a host's command to its controller that others can hear. `nil` if the command sends nothing on the
  /// air.
  init?(_ input: RadioInput, machine: String) {
    switch input {
    case .setAdvertising(_, let set, .some(let parameters)):
      self = .advertisingBegan(machine: machine, set: set, AirContent(parameters))
    case .setAdvertising(_, let set, nil): self = .advertisingEnded(machine: machine, set: set)
    case .setScan(_, let parameters): self = .scanningChanged(machine: machine, isOn: parameters != nil)
    default: return nil
    }
  }
}
