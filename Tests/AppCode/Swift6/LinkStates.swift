import CoreBluetooth

/// The states of a peripheral as a stream, made from key-value observing.
public struct LinkStates: AsyncSequence {
  public typealias Element = CBPeripheralState
  private let stream: AsyncStream<CBPeripheralState>

  public init(of peripheral: CBPeripheral) {
    stream = AsyncStream { continuation in
      let observation = peripheral.observe(\.state, options: [.initial, .new]) { _, change in
        if let state = change.newValue { continuation.yield(state) }
      }
      continuation.onTermination = { _ in observation.invalidate() }
    }
  }

  public func makeAsyncIterator() -> AsyncStream<CBPeripheralState>.Iterator { stream.makeAsyncIterator() }
}

/// A model of the main actor that shows whether a manager scans.
@MainActor
public final class ScanModel {
  public private(set) var isScanning = false
  private var observation: NSKeyValueObservation?

  public init(_ central: CBCentralManager) {
    observation = central.observe(\.isScanning, options: [.new]) { [weak self] central, change in
      guard let isScanning = change.newValue else { return }
      Task { @MainActor [weak self] in self?.isScanning = isScanning && central.isScanning }
    }
  }
}
