// The conformances are Foundation's on Apple's systems.
// swift-format-ignore-file: AvoidRetroactiveConformances

import Foundation

// `String(format: "%@", peripheral)` and `NSLog` accept the objects of Core Bluetooth on Apple's systems, and what apps print beside
// them: `peripheral.identifier as CVarArg`, and the `NSNumber` of a signal's strength. Foundation on Linux formats only texts, so
// each passes its description.

extension CoreBluetoothObject: CVarArg {
  public var _cVarArgEncoding: [Int] { FormatTexts.encoding(of: description) }
}

extension UUID: @retroactive CVarArg {
  public var _cVarArgEncoding: [Int] { FormatTexts.encoding(of: uuidString) }
}

extension NSNumber: @retroactive CVarArg {
  public var _cVarArgEncoding: [Int] { FormatTexts.encoding(of: description) }
}

/// Keeps the texts of a format's arguments alive. A format takes only their addresses, and nothing else refers to them.
private final class FormatTexts {
  /// More arguments than a format has. A text is kept until its thread has passed as many others.
  private static let limit = 256
  private static let key = "org.latchkey.corebluetooth.format-texts"
  private var texts: [NSString] = []
  private var next = 0

  static func encoding(of description: String) -> [Int] {
    let text = NSString(string: description)
    let thread = Thread.current.threadDictionary
    let kept = thread[key] as? FormatTexts ?? FormatTexts()
    thread[key] = kept
    kept.keep(text)
    return text._cVarArgEncoding
  }

  private func keep(_ text: NSString) {
    if texts.count < Self.limit { texts.append(text) } else { texts[next] = text }
    next = (next + 1) % Self.limit
  }
}
