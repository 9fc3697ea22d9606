/// An offer as it is notified when a link comes up: two fragments of 18 bytes, because a notification carries no more
/// before the link's MTU is agreed on. (The smallest MTU leaves 20 bytes, and bluetoothd needs two of them.)
///
/// A fragment is a mark (two bytes) and a half of the offer (16 bytes). The mark's first bit is set in the second half.
/// The other 15 bits are the beginning of a SHA-256 hash. The hash is over the offer and, if other phones hear it, too,
/// over the public key of the phone that it is for. So a phone notices halves that do not belong together, and offers
/// for another phone.
package enum OfferFragments {
  /// The length of a fragment in bytes.
  package static let byteCount = headerByteCount + halfByteCount
  static let headerByteCount = 2
  static let halfByteCount = LockService.offerByteCount / 2
  static let secondMark: UInt8 = 0x80

  /// Cuts an offer.
  /// - Parameter phone: the public key of the phone that the offer is for, 32 bytes, or empty if it is for any phone.
  package static func cut<Cryptography: NoiseCryptography>(
    _ offer: [UInt8], for phone: [UInt8] = [], using cryptography: Cryptography.Type
  ) -> [[UInt8]] {
    let mark = mark(of: offer, for: phone, using: cryptography)
    return [
      mark + offer.prefix(halfByteCount), [mark[0] | secondMark, mark[1]] + offer.dropFirst(halfByteCount),
    ]
  }

  /// The mark of a first half.
  static func mark<Cryptography: NoiseCryptography>(
    of offer: [UInt8], for phone: [UInt8], using cryptography: Cryptography.Type
  ) -> [UInt8] {
    let hash = Cryptography.hash(offer + phone)
    return [hash[0] & ~secondMark, hash[1]]
  }
}

/// The phone's side: puts offers together, even if fragments are lost, come twice, or come out of order.
package struct OfferReader: Sendable {
  /// How many offers may be incomplete at the same time; then the oldest is dropped.
  static let limit = 4

  private struct Part: Sendable {
    let mark: [UInt8]
    var first: [UInt8] = []
    var second: [UInt8] = []
  }

  /// The parts of the latest offers, the oldest first.
  private var parts: [Part] = []
  /// Whether the lock has marked an offer for this phone. From then on the lock knows the phone, so an offer without a
  /// mark for it is for somebody else.
  package private(set) var hearsOwn = false

  package init() {}

  /// Takes a value of the Offer. Returns the offer if it is complete now and meant for this phone. Whatever is no fragment
  /// is dropped. If an offer is heard again, it is returned again.
  /// - Parameter phone: this phone's public key.
  package mutating func take<Cryptography: NoiseCryptography>(
    _ value: [UInt8], phone: [UInt8], using cryptography: Cryptography.Type
  ) -> [UInt8]? {
    guard value.count == OfferFragments.byteCount else { return nil }
    let isSecond = value[0] & OfferFragments.secondMark != 0
    let mark = [value[0] & ~OfferFragments.secondMark, value[1]]
    let half = Array(value[OfferFragments.headerByteCount...])
    let place = parts.firstIndex { $0.mark == mark }
    var part = place.map { parts.remove(at: $0) } ?? Part(mark: mark)
    if isSecond { part.second = half } else { part.first = half }
    let offer = part.first + part.second
    if offer.count == LockService.offerByteCount {
      if OfferFragments.mark(of: offer, for: phone, using: cryptography) == mark {
        hearsOwn = true
        return offer
      }
      if OfferFragments.mark(of: offer, for: [], using: cryptography) == mark { return hearsOwn ? nil : offer }
      // Halves of two offers that have the same mark by chance, or an offer for another phone: the newer half stays.
      part = Part(mark: mark)
      if isSecond { part.second = half } else { part.first = half }
    }
    if parts.count == Self.limit { parts.removeFirst() }
    parts.append(part)
    return nil
  }
}
