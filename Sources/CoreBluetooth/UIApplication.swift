// These names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation

/// The few names of UIKit that Core Bluetooth's launch options need.
public enum UIApplication {
  /// The keys of an app's launch options.
  public struct LaunchOptionsKey: RawRepresentable, Hashable, Sendable {
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
