import BlueZ
import BluetoothTypes

/// What a peer's answer means for the read or write that it belongs to.
enum ValueOutcome {
  /// Another request is needed.
  case goesOn
  case done
  case failed(BlueZError)
}

extension ATTClient.ReadOperation {
  mutating func take(_ pdu: ATTPDU, mtu: Int) -> ValueOutcome {
    switch pdu {
    case .readResponse(let bytes), .readBlobResponse(let bytes):
      collected += bytes
      guard bytes.count >= mtu - 1, offset + collected.count < ATTLimits.maximumValueLength else { return .done }
      isContinued = true
      return .goesOn
    case .errorResponse(_, _, let error):
      // The value's length is a multiple of what fits, so its end shows as an error.
      let isEnd = isContinued && (error == .invalidOffset || error == .attributeNotLong)
      return isEnd ? .done : .failed(.fromATT(error))
    default: return .failed(.attError(.unlikelyError))
    }
  }

  /// bluetoothd writes what it read from an offset over the value it knows, or over zeros (src/shared/gatt-db.c).
  func value(over known: [UInt8]) -> [UInt8] {
    guard offset > 0 else { return collected }
    var value = known
    value += [UInt8](repeating: 0, count: max(0, offset + collected.count - value.count))
    value.replaceSubrange(offset..<offset + collected.count, with: collected)
    return value
  }
}

extension ATTClient.WriteOperation {
  mutating func take(_ pdu: ATTPDU, mtu: Int) -> ValueOutcome {
    switch pdu {
    case .writeResponse where !isLong, .executeWriteResponse where isLong:
      return failure.map { .failed(.fromATT($0)) } ?? .done
    case .prepareWriteResponse(_, _, let piece) where isLong && !isExecuting && !piece.isEmpty:
      written += piece.count
      // bluetoothd takes a piece that does not fill a message for the last one. So a write that was begun before the
      // MTU was agreed on ends after its first piece, with success (src/shared/gatt-client.c, prepare_write_cb; seen
      // eight times of eight).
      isExecuting = written >= value.count || self.piece < mtu - 5
      self.piece = mtu - 5
      return .goesOn
    case .errorResponse(_, _, let error):
      guard isLong, !isExecuting else { return .failed(.fromATT(failure ?? error)) }
      // Makes the peer discard the pieces it has queued.
      failure = error
      isExecuting = true
      return .goesOn
    default: return .failed(.attError(.unlikelyError))
    }
  }
}
