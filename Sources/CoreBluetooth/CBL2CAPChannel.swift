import Foundation

/// The number that names an L2CAP channel's service at a peripheral.
public typealias CBL2CAPPSM = UInt16

/// A connection-oriented L2CAP channel. Opening one is not supported yet: the attempt fails with
/// `CBError.operationNotSupported`.
open class CBL2CAPChannel: CoreBluetoothObject, @unchecked Sendable {
  private let remote: CBPeer
  private let number: CBL2CAPPSM
  private let input: InputStream
  private let output: OutputStream

  init(peer: CBPeer, psm: CBL2CAPPSM, inputStream: InputStream, outputStream: OutputStream) {
    remote = peer
    number = psm
    input = inputStream
    output = outputStream
  }

  open var peer: CBPeer! { remote }
  open var inputStream: InputStream! { input }
  open var outputStream: OutputStream! { output }
  open var psm: CBL2CAPPSM { number }

  override func property(_ name: String) -> Property? {
    switch name {
    case "peer": Property(peer)
    case "inputStream": Property(inputStream)
    case "outputStream": Property(outputStream)
    case "PSM", "psm": Property(Int(psm))
    default: super.property(name)
    }
  }
}
