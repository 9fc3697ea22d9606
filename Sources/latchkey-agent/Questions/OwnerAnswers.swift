import AgentQuestions
import LockCryptography
import LockProtocol

extension QuestionDesk {
  /// Who opens this door as an owner, as the lock tells it.
  func owners() async throws -> OwnersAnswer {
    try await beginConversation()
    return OwnersAnswer(door: app.name, owners: try await ownersInConversation())
  }

  /// The owners' phones of this door, asked for in the present conversation.
  func ownersInConversation() async throws -> [OwnerAnswer] {
    var walk = NameWalk()
    while !walk.isOver {
      let reply = try await ask(.owners(from: walk.next))
      do { try walk.take(reply.body) } catch { throw NoAnswer.unreadable }
    }
    return walk.names.map { owner in
      OwnerAnswer(name: PlainText.of(owner.name), key: Hex.text(owner.key), isThisPhone: owner.key == app.publicKey)
    }
  }
}
