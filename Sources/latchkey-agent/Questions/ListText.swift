import Foundation
import LockCryptography
import LockProtocol

/// A revocation list as a word, and, after a hyphen, its owner's introduction if the lock may not know that owner yet.
struct ListText {
  var list: RevocationList
  var introduction: SealedIntroduction?

  private static let prefix = "revoke-1-"
  private static let maximumByteCount = RevocationList.maximumByteCount + SealedIntroduction.byteCounts.upperBound

  init(list: RevocationList, introduction: SealedIntroduction?) {
    self.list = list
    self.introduction = introduction
  }

  var text: String {
    Self.prefix + Hex.text(list.encoded) + (introduction.map { "-" + Hex.text($0.encoded) } ?? "")
  }

  /// `nil` if it is none. Its signature and its introduction are the lock's to check.
  init?(_ text: String) {
    let word = text.trimmingCharacters(in: .whitespacesAndNewlines).lowercased()
    guard word.hasPrefix(Self.prefix), word.utf8.count <= Self.prefix.utf8.count + 2 * Self.maximumByteCount + 1 else {
      return nil
    }
    let parts = word.dropFirst(Self.prefix.count).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count <= 2, let list = Hex.bytes(String(parts[0])).flatMap({ try? RevocationList(decoding: $0) }) else {
      return nil
    }
    self.list = list
    guard parts.count == 2 else { return }
    guard let introduction = Hex.bytes(String(parts[1])).flatMap({ try? SealedIntroduction(decoding: $0) }) else {
      return nil
    }
    self.introduction = introduction
  }
}
