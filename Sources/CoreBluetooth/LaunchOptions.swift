// These names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

extension ApplicationLaunch {
  /// A key of the launch options. On iOS it is `UIApplication.LaunchOptionsKey`, which has the same raw values; there is
  /// no `UIApplication` here, so that an app may bring one of its own.
  public struct OptionsKey: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// `[String]`: the restore identifiers of central managers that the system relaunched the app for.
    public static let bluetoothCentrals = Self(rawValue: UIApplicationLaunchOptionsBluetoothCentralsKey)
    /// `[String]`: the restore identifiers of peripheral managers that the system relaunched the app for.
    public static let bluetoothPeripherals = Self(rawValue: UIApplicationLaunchOptionsBluetoothPeripheralsKey)
  }
}

/// `[String]`: the restore identifiers of central managers that the system relaunched the app for.
public let UIApplicationLaunchOptionsBluetoothCentralsKey = "UIApplicationLaunchOptionsBluetoothCentralsKey"
/// `[String]`: the restore identifiers of peripheral managers that the system relaunched the app for.
public let UIApplicationLaunchOptionsBluetoothPeripheralsKey = "UIApplicationLaunchOptionsBluetoothPeripheralsKey"
