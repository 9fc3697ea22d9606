import Foundation

// Lets `String(format: "%@", peripheral)` and `NSLog` accept these objects, as on Apple's systems. Foundation on
// Linux formats only its own classes, so an object passes its description, which it keeps alive itself.

extension CBUUID: CVarArg {
  public var _cVarArgEncoding: [Int] { formatText._cVarArgEncoding }
}
extension CBPeer: CVarArg {
  public var _cVarArgEncoding: [Int] {
    locked {
      let text = NSString(string: description)
      formatText = text
      return text._cVarArgEncoding
    }
  }
}
extension CBAttribute: CVarArg {
  public var _cVarArgEncoding: [Int] {
    locked {
      let text = NSString(string: description)
      formatText = text
      return text._cVarArgEncoding
    }
  }
}
extension CBManager: CVarArg {
  public var _cVarArgEncoding: [Int] {
    locked {
      let text = NSString(string: description)
      formatText = text
      return text._cVarArgEncoding
    }
  }
}
extension CBATTRequest: CVarArg {
  public var _cVarArgEncoding: [Int] {
    locked {
      let text = NSString(string: description)
      formatText = text
      return text._cVarArgEncoding
    }
  }
}
