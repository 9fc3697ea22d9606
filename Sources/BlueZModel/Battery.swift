import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// The state of a peer's Battery Service (profiles/battery in BlueZ), kept while its link exists.
struct RemoteBattery: Sendable {
  /// The handle of the Battery Level.
  var valueHandle: AttributeHandle
  /// 0 to 100, or `nil` if the peer sent something else.
  var percentage: UInt8?
  /// Whether Battery1 is on the bus.
  var isShown = false

  mutating func take(_ value: [UInt8]) {
    guard value.count == 1, value[0] <= 100 else { return }
    percentage = value[0]
  }

  var properties: Properties {
    var properties = PropertyValues<Battery1>()
    properties.source = "GATT Battery Service"
    properties.percentage = percentage
    return properties.all
  }
}

/// Battery1 of a device.
extension BlueZModel {
  /// The requests made about a peer's battery on every link. Empty if the peer has no Battery Service.
  mutating func batteryOperations(of path: ObjectPath) -> [ATTClient.Operation] {
    guard devices[path]?.battery == nil,
      let service = devices[path]?.database?.services.first(where: { $0.uuid == WellKnownUUID.battery }),
      let level = service.characteristics.first(where: { $0.uuid == WellKnownUUID.batteryLevel })
    else { return [] }
    devices[path]?.battery = RemoteBattery(valueHandle: level.valueHandle)
    var operations: [ATTClient.Operation] = [.readBattery(level.valueHandle)]
    if level.properties.contains(.notify), let handle = level.configurationHandle {
      operations.append(
        .configure(
          ATTClient.ConfigureOperation(
            path: level.path(under: service.path(under: path)), valueHandle: level.valueHandle, handle: handle, value: 1
          )))
    }
    return operations
  }

  mutating func batteryArrived(_ pdu: ATTPDU, on identifier: LinkIdentifier) {
    guard let path = links[identifier]?.device, var battery = devices[path]?.battery, !battery.isShown else { return }
    if case .readResponse(let value) = pdu { battery.take(value) }
    // A client's battery is there first: this one is not shown, and its values go nowhere (src/battery.c,
    // btd_battery_register).
    guard batteryProviders.batteries[path] == nil else { return }
    battery.isShown = true
    devices[path]?.battery = battery
    tellBatteryAdded(path)
  }

  /// The peer notified its battery level.
  mutating func batteryChanged(_ handle: AttributeHandle, _ value: [UInt8], of path: ObjectPath) {
    guard var battery = devices[path]?.battery, battery.valueHandle == handle else { return }
    let before = battery.percentage
    battery.take(value)
    devices[path]?.battery = battery
    if battery.isShown, battery.percentage != before { changed(path, \Battery1.percentage) }
  }

  /// The link is gone, and the battery's state with it.
  mutating func endBattery(of path: ObjectPath) {
    guard let battery = devices[path]?.battery else { return }
    devices[path]?.battery = nil
    guard battery.isShown else { return }
    tellBatteryRemoved(path)
  }
}
