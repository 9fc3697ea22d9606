// Tests of apps get the whole API with the kit.
@_exported import CoreBluetooth
