import AgentQuestions
import LockProtocol
import TimeTypes
import Timekeeping

/// For its lock, a phone that was set up anew is another phone, and only its owner knows that the earlier key is
/// nobody's now. So a person who enrols a phone is told which owners have the same name.
extension QuestionDesk {
  /// - Parameters:
  ///   - patience: how long to wait for the lock.
  ///   - done: called once, with the owners' phones of this phone's name and another key.
  func findNamesakes(within patience: Duration, _ done: @escaping ([OwnerAnswer]) -> Void) {
    endSearchForNamesakes([])
    namesakesFound = done
    let alarm = time.makeAlarm { [weak self] in Task { @MainActor in self?.endSearchForNamesakes([]) } }
    alarm.set(time.now + patience)
    namesakesAlarm = alarm
  }

  /// Asks the lock for namesakes, in the present conversation.
  func tellNamesakes() async throws {
    guard namesakesFound != nil else { return }
    let owners = try await ownersInConversation()
    let name = owners.first { $0.isThisPhone }?.name ?? ""
    endSearchForNamesakes(owners.filter { !$0.isThisPhone && !name.isEmpty && $0.name == name })
  }

  func endSearchForNamesakes(_ namesakes: [OwnerAnswer]) {
    namesakesAlarm?.set(nil)
    namesakesAlarm = nil
    let done = namesakesFound
    namesakesFound = nil
    done?(namesakes)
  }
}
