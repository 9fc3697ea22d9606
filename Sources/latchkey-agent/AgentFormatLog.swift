import LockCryptography
import LockProtocol

/// What was seen of the lock's log, as it is stored.
extension AgentFormat {
  struct Log: Codable {
    /// Missing: no end was seen, or none since a trouble.
    var head: Head?
    /// Missing: the lock has not answered yet.
    var answered: UInt64?
    var troubles: [Trouble]

    struct Head: Codable {
      var index: UInt64
      /// 32 bytes in hexadecimal.
      var hash: String

      enum CodingKeys: String, CodingKey {
        case index = "index"
        case hash = "hash"
      }
    }

    struct Trouble: Codable {
      var text: String
      var unixSeconds: Double

      enum CodingKeys: String, CodingKey {
        case text = "text"
        case unixSeconds = "unixSeconds"
      }
    }

    enum CodingKeys: String, CodingKey {
      case head = "head"
      case answered = "answered"
      case troubles = "troubles"
    }

    init(_ state: SeenLogState) {
      head = state.head.map { Head(index: $0.index, hash: Hex.text($0.hash)) }
      answered = state.answered == 0 ? nil : state.answered
      troubles = state.troubles.map { Trouble(text: $0.text, unixSeconds: $0.unixSeconds) }
    }

    var state: SeenLogState {
      get throws {
        var state = SeenLogState()
        if let head {
          guard let hash = Hex.bytes(head.hash), hash.count == NoiseSize.hashByteCount else {
            throw Problem.damaged("the hash of the lock's log is not 32 bytes")
          }
          state.head = LogHead(index: head.index, hash: hash)
        }
        state.answered = answered ?? 0
        state.troubles = troubles.suffix(SeenLogState.troubleLimit).map {
          SeenLogState.Trouble(text: $0.text, unixSeconds: $0.unixSeconds)
        }
        return state
      }
    }
  }
}
