import BusValue
import Glibc

extension Value {
  /// Closes every file descriptor in a value that was received.
  package func closeDescriptors() {
    switch self {
    case .fileDescriptor(let descriptor) where descriptor >= 0: close(descriptor)
    case .array(_, let members), .structure(let members): members.closeDescriptors()
    case .dictionary(_, _, let members): for member in members.values { member.closeDescriptors() }
    case .variant(let inner): inner.closeDescriptors()
    default: break
    }
  }
}

extension [Value] {
  /// Closes every file descriptor in the values.
  package func closeDescriptors() { for value in self { value.closeDescriptors() } }
}
