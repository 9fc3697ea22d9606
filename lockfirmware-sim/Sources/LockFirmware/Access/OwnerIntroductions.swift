import LockProtocol

/// How owners introduce the keys with which they sign.
extension LockFirmware {
  /// An owner introduces a key in the owner's own session. It takes the place of an earlier key.
  mutating func introduce(_ signingKey: [UInt8], _ name: [UInt8], _ asked: Asked) {
    guard isOwner(asked.phone) else { return reply(asked, .notEntitled) }
    introduce(AccessState.Owner(phone: asked.phone, signingKey: signingKey, name: name), asked)
  }

  /// Another phone brings an introduction that an owner wrote earlier. It may be old, so it does not replace a key.
  mutating func takeIntroduction(_ bytes: [UInt8], _ asked: Asked) {
    guard let sealed = try? SealedIntroduction(decoding: bytes) else { return reply(asked, .malformed) }
    guard isOwner(sealed.phone) else { return reply(asked, .notBelieved) }
    let signingKey: [UInt8]
    let name: [UInt8]
    do throws(LockSessionError) {
      (signingKey, name) = try sealed.open(at: configuration.identity, lockKey: staticKey, using: Cryptography.self)
    } catch { return reply(asked, error == .malformed ? .malformed : .notBelieved) }
    if let known = access.owners.first(where: { $0.phone == sealed.phone }) {
      return reply(asked, known.signingKey == signingKey ? .done : .notBelieved)
    }
    introduce(AccessState.Owner(phone: sealed.phone, signingKey: signingKey, name: name), asked)
  }

  private mutating func introduce(_ owner: AccessState.Owner, _ asked: Asked) {
    // Anybody can sign with a key of low order, so it belongs to nobody.
    guard !SigningKey.isOfLowOrder(owner.signingKey) else { return reply(asked, .notBelieved) }
    // A key belongs to one owner. Otherwise one owner could make another's signatures void. An owner whose phone was
    // enrolled again has revoked the earlier phone, and may keep the key.
    let signer = access.signer(owner.signingKey)
    if let signer, signer.phone != owner.phone, isOwner(signer.phone) { return reply(asked, .notBelieved) }
    guard !access.owners.contains(owner) else { return reply(asked, .done) }
    let previous = access
    if let signer { access.owners.removeAll { $0 == signer } }
    let limit = configuration.capacity.owners
    // Somebody who is no longer an owner makes room. What they have revoked stays revoked.
    if access.owners.count >= limit, let former = access.owners.firstIndex(where: { !isOwner($0.phone) }) {
      access.owners.remove(at: former)
    }
    guard access.introduce(owner, limit: limit) else {
      access = previous
      return reply(asked, .noRoom)
    }
    store(asked, .ownerIntroduced, number: 0, about: owner.phone, previous)
  }
}
