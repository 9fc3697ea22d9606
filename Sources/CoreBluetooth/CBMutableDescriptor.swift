import AppLink
import Foundation

/// A descriptor of a characteristic that this app publishes: a user description or a presentation format. The
/// system adds the descriptors that configure notifications by itself.
open class CBMutableDescriptor: CBDescriptor, @unchecked Sendable {
  /// - Parameters:
  ///   - UUID: The kind of descriptor.
  ///   - value: A `String` for a user description, otherwise a `Data`.
  public init(type UUID: CBUUID, value: Any?) {
    super.init(uuid: UUID)
    currentValue = value
  }

  init(restored definition: DescriptorDefinition, characteristic: CBMutableCharacteristic) {
    super.init(uuid: CBUUID(definition.uuid), characteristic: characteristic)
    currentValue = Self.typedValue(definition.value, of: definition.uuid)
  }
}
