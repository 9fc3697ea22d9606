// These names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Dispatch
import Foundation

// Functions of Core Foundation that apps use with the streams of a `CBL2CAPChannel`, and that Foundation on Linux lacks.

/// A stream of Core Foundation; on Apple's systems it is bridged to `InputStream`.
public typealias CFReadStream = InputStream
/// A stream of Core Foundation; on Apple's systems it is bridged to `OutputStream`.
public typealias CFWriteStream = OutputStream

/// The stream of a `CBL2CAPChannel` calls its delegate on this queue, in place of the run loops on which it was scheduled, in
/// order and one call at a time. `nil` takes that back. Any other stream is left as it is, with a log message.
public func CFReadStreamSetDispatchQueue(_ stream: CFReadStream!, _ q: DispatchQueue!) {
  guard let channel = stream as? ChannelInputStream else { return refuse("CFReadStreamSetDispatchQueue(_:_:)") }
  channel.choose(q)
}

/// The same for the other direction.
public func CFWriteStreamSetDispatchQueue(_ stream: CFWriteStream!, _ q: DispatchQueue!) {
  guard let channel = stream as? ChannelOutputStream else { return refuse("CFWriteStreamSetDispatchQueue(_:_:)") }
  channel.choose(q)
}

private func refuse(_ function: String) {
  AppSession.active.logger.critical("API MISUSE: \(function) is ignored: the stream is not one of a CBL2CAPChannel")
}
