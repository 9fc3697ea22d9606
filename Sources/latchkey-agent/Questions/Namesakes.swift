import AgentQuestions
import LockProtocol
import TimeTypes
import Timekeeping

/// A phone that was set up anew is another one for its lock, and nobody but its owner knows that its earlier key is nobody's now. So
/// whoever enrols a phone is told which owners have its name.
extension QuestionDesk {
  /// - Parameters:
  ///   - patience: how long the lock has to come.
  ///   - done: called once, with the owners' phones of this phone's name and another key.
  func findNamesakes(within patience: Duration, _ done: @escaping ([OwnerAnswer]) -> Void) {
    endSearchForNamesakes([])
    namesakesFound = done
    let alarm = time.makeAlarm { [weak self] in Task { @MainActor in self?.endSearchForNamesakes([]) } }
    alarm.set(time.now + patience)
    namesakesAlarm = alarm
  }

  /// In the present conversation.
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
