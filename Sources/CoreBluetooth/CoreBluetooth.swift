// These names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

// Apps import only this module: as on Apple's systems, it brings Foundation and Dispatch with it.
@_exported import Dispatch
@_exported import Foundation

// Names from Apple's C frameworks that the API's signatures use and that Foundation on Linux lacks.

/// Seconds since 2001-01-01 00:00:00 UTC.
public typealias CFAbsoluteTime = Double
/// Seconds.
public typealias CFTimeInterval = Double
/// A UUID of Core Foundation; on Apple's systems it is bridged to `NSUUID`.
public typealias CFUUID = NSUUID
// swift-format-ignore: TypeNamesShouldBeCapitalized
/// The name that Apple's headers give to a dispatch queue.
public typealias dispatch_queue_t = DispatchQueue
