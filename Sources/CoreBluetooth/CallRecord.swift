import AppLink
import Foundation
import Glibc
import JournalEvents
import Timekeeping

/// Records what delegates are told, one line each, if the story in which the app runs asks for it. The environment
/// variable `LATCHKEY_RECORD_CALLS` names the file or the journal's socket to write to. The story checks its promises
/// about the app by these lines.
enum CallRecord {
  private static let file: String? = getenv(DelegateRecord.variable).map { String(cString: $0) }.flatMap {
    $0.isEmpty ? nil : $0
  }
  private static var isWanted: Bool { file != nil }

  /// The manager's delegate is about to be told this.
  static func note(_ body: Event.Body, _ manager: CBManager) {
    let (isTold, isAsked) = locked { isWanted ? (manager.isTold(body), manager.isAsked(body)) : (false, false) }
    guard isTold, let file else { return }
    let line =
      DelegateRecord.mark + DelegateRecord.event
      + fields(body, manager, isAsked: isAsked).map { " \($0.rawValue)=\"\(escaped($1))\"" }.joined()
    append(line, to: file)
  }

  /// - Parameter file: a file that exists, or the socket on which systemd's journal takes lines (systemd.io/JOURNAL_NATIVE_PROTOCOL).
  static func append(_ line: String, to file: String) {
    // The file is opened each time. A descriptor that is kept open is not safe: an app may close every descriptor that
    // it does not know, and its own next file gets that number.
    let descriptor = open(file, O_WRONLY | O_APPEND | O_CLOEXEC)
    guard descriptor >= 0 else {
      // A socket can't be opened.
      if errno == ENXIO { send(line, to: file) }
      return
    }
    defer { close(descriptor) }
    // By one call, so that lines stay whole. Nothing waits in a buffer if the app is killed.
    var bytes = Array("\(line)\n".utf8)
    _ = write(descriptor, &bytes, bytes.count)
  }

  private static func send(_ line: String, to journal: String) {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let bytes = Array("MESSAGE=\(line)\nPRIORITY=6\n".utf8)
    _ = withUnixAddress(journal) { sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, $1) }
  }

  private static func fields(
    _ body: Event.Body, _ manager: CBManager, isAsked: Bool
  ) -> [(DelegateRecord.Field, String)] {
    var fields: [(DelegateRecord.Field, String)] = [
      (.call, body.kind.rawValue), (.role, manager.creation.role.rawValue),
      (.manager, manager.creation.restoreIdentifier ?? "\(manager.managerIdentifier.rawValue)"), (.pid, "\(getpid())"),
    ]
    if let peer = body.peer { fields.append((.peer, peer.rawValue.uuidString)) }
    if isAsked { fields.append((.asked, "yes")) }
    switch body {
    case .stateChanged(let state): fields.append((.state, "\(state)"))
    case .willRestoreCentral(let restoration):
      let before = (manager as? CBCentralManager).map { central in locked { central.partsToRestore.count } } ?? 0
      fields.append((.restored, "\(before + restoration.peripherals.count)"))
    case .willRestorePeripheral(let restoration): fields.append((.restored, "\(restoration.services.count)"))
    case .disconnected(_, .some, _, _), .failedToConnect, .operationCompleted(_, _, .failed), .serviceAdded(_, .some),
      .advertisingStarted(.some), .managerRejected, .channelPublished(_, .some), .channelUnpublished(_, .some):
      fields.append((.error, "yes"))
    default: break
    }
    return fields
  }

  /// Identifiers come from the app and may contain anything.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text.prefix(256) {
      switch character {
      case "\"", "\\": result += "\\\(character)"
      case _ where character.isNewline: result += " "
      default: result.append(character)
      }
    }
    return result
  }
}

extension Event.Body {
  /// The peripheral or the central that it is about.
  fileprivate var peer: PeerIdentifier? {
    switch self {
    case .discovered(let snapshot, _, _), .connected(let snapshot), .connectionEvent(let snapshot, _):
      snapshot.identifier
    case .failedToConnect(let peer, _), .disconnected(let peer, _, _, _), .operationCompleted(let peer, _, _),
      .valueUpdated(let peer, _, _), .nameChanged(let peer, _), .servicesModified(let peer, _),
      .mtuChanged(let peer, _):
      peer
    case .subscribed(let central, _), .unsubscribed(let central, _), .readRequested(_, let central, _, _),
      .writeRequested(_, let central, _, _, _, _), .channelOpened(let central, _, _, _):
      central.identifier
    case .managerRejected, .stateChanged, .willRestoreCentral, .restoredPeripherals, .willRestorePeripheral,
      .serviceAdded, .advertisingStarted, .requestExpired, .actionRequested, .questionAsked, .actionWithdrawn,
      .updateCredit, .channelPublished, .channelUnpublished:
      nil
    }
  }
}
