import Foundation

/// A service, a characteristic or a descriptor.
open class CBAttribute: NSObject, @unchecked Sendable {
  let attributeUUID: CBUUID
  var formatText: NSString?

  init(uuid: CBUUID) { attributeUUID = uuid }

  open var uuid: CBUUID { attributeUUID }
}
