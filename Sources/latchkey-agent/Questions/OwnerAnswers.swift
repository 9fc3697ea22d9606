import AgentQuestions
import LockCryptography
import LockProtocol

extension QuestionDesk {
  /// Who opens this door as an owner, as the lock tells it.
  func owners() async throws -> OwnersAnswer {
    try await beginConversation()
    var found: [KeyName] = []
    while found.count < 255 {
      let reply = try await ask(.owners(from: UInt8(found.count)))
      guard let page = try? KeyName.decode(reply.body), !page.names.isEmpty else { break }
      found += page.names
      guard found.count < page.count else { break }
    }
    return OwnersAnswer(
      door: app.name,
      owners: found.map { owner in
        OwnerAnswer(
          name: PlainText.of(owner.name), key: Hex.text(owner.key), isThisPhone: owner.key == app.publicKey)
      })
  }
}
