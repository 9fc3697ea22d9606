// Tests of apps get the whole API together with the kit.
@_exported import CoreBluetooth
