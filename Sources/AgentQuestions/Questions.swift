/// What a person asks the agent through the `latchkey` command (`ControlRequest.askApp`), by name. Arguments and answers are
/// JSON.
package enum AgentQuestion: String, Sendable, CaseIterable {
  /// Opens a door: `DoorQuestion`, answered by `BoltAnswer`.
  case unlock
  /// Locks a door: `DoorQuestion`, answered by `BoltAnswer`.
  case lock
  /// How a door is: `DoorQuestion`, answered by `DoorAnswer`.
  case door
  /// A piece of a lock's log: `LogQuestion`, answered by `LogAnswer`.
  case log
  /// An owner invites a guest: `InviteQuestion`, answered by `InviteAnswer`.
  case invite
  /// Whom this phone has invited: `DoorQuestion`, answered by `GuestsAnswer`.
  case guests
  /// An owner revokes a guest or a phone: `RevokeQuestion`, answered by `RevokeAnswer`.
  case revoke
  /// Brings an owner's revocation list to the lock: `CarryQuestion`, answered by `CarryAnswer`.
  case carry
  /// A guest accepts an invitation: `AcceptQuestion`, answered by `AcceptAnswer`.
  case accept
  /// The key of this phone for which an owner can invite it: `GuestKeyQuestion`, answered by `GuestKeyAnswer`.
  case guestKey
  /// Sets the lock's clock to this phone's: `DoorQuestion`, answered by `ClockAnswer`.
  case clock
  /// Enrols this phone at a lock by its code: `EnrollQuestion`, answered by `EnrollAnswer`.
  case enroll
  /// The owners of a door: `DoorQuestion`, answered by `OwnersAnswer`.
  case owners
  /// The signal in a room of the home: `RoomQuestion`, answered by `RoomAnswer`.
  case room
}

/// A question about a door.
package struct DoorQuestion: Codable, Equatable, Sendable {
  /// The door's name. It may be left out if the phone has one door.
  package var door: String?

  package init(door: String?) { self.door = door }
}

/// The end of a lock's log as a phone saw it.
package struct SeenHead: Codable, Equatable, Sendable {
  package var index: UInt64
  /// In hexadecimal.
  package var hash: String

  package init(index: UInt64, hash: String) {
    self.index = index
    self.hash = hash
  }
}

/// A question about a lock's log.
package struct LogQuestion: Codable, Equatable, Sendable {
  package var door: String?
  /// The newest so many records.
  package var last: Int?
  /// Records from this index on. Without `last` and `from`, what follows `after`.
  package var from: UInt64?
  /// Where the last answer ended, which this one continues.
  package var after: SeenHead?
  /// The owner accepts what was found to be wrong with the log: it is told once more, and then forgotten.
  package var isAccepted: Bool?

  /// The most records in one answer.
  package static let maximumCount = 128

  package init(door: String?, last: Int? = nil, from: UInt64? = nil, after: SeenHead? = nil) {
    self.door = door
    self.last = last
    self.from = from
    self.after = after
  }
}

/// The bolt after a command.
package struct BoltAnswer: Codable, Equatable, Sendable {
  package var door: String
  /// `locked`, `unlocked` or `between`.
  package var bolt: String
  /// `open` or `shut`.
  package var position: String
  /// `done`, or `notNeeded` if the bolt was there already.
  package var result: String

  package init(door: String, bolt: String, position: String, result: String) {
    self.door = door
    self.bolt = bolt
    self.position = position
    self.result = result
  }
}

/// How a door is.
package struct DoorAnswer: Codable, Equatable, Sendable {
  package var door: String
  /// `locked`, `unlocked` or `between`.
  package var bolt: String
  /// `open` or `shut`.
  package var position: String
  /// In percent, or nothing if the lock does not measure it.
  package var battery: Int?
  /// The last movement of the bolt, or nothing if the lock remembers none.
  package var lastMovement: RecordAnswer?
  /// How many records the lock has made.
  package var records: UInt64
  /// What is wrong with the log.
  package var troubles: [String]
  /// When each of these was found, in seconds since 1970-01-01 UTC.
  package var troubleTimes: [Double]?
  /// The lock's operating mode: `normal`, `privacy`, `passage` or `noRemoteLockUnlock`. Missing if the lock does not tell it.
  package var mode: String?
  /// What the lock raises the alarm about, as in its log's records. Missing if the lock does not tell it.
  package var alarms: [String]?

  package init(
    door: String, bolt: String, position: String, battery: Int?, lastMovement: RecordAnswer?, records: UInt64,
    troubles: [String], troubleTimes: [Double]? = nil, mode: String? = nil, alarms: [String]? = nil
  ) {
    self.door = door
    self.bolt = bolt
    self.position = position
    self.battery = battery
    self.lastMovement = lastMovement
    self.records = records
    self.troubles = troubles
    self.troubleTimes = troubleTimes
    self.mode = mode
    self.alarms = alarms
  }
}

/// One record of a lock's log.
package struct RecordAnswer: Codable, Equatable, Sendable {
  package var index: UInt64
  /// By the lock's own calendar, in seconds since 1970-01-01 UTC.
  package var unixSeconds: Int64
  /// `movement`, `outcome` or `command`; or `unknown` for a record that this phone can't read, of which then nothing but the
  /// index and the time is known.
  package var kind: String
  /// `locked` or `unlocked`.
  package var bolt: String
  /// Why: `phone`, `leaving`, `relock` or `hand`.
  package var cause: String
  package var result: String
  /// Who, by name; nothing if no phone was involved.
  package var by: String?
  /// The phone's public key in hexadecimal.
  package var key: String?
  /// To what the clock was set, in seconds since 1970-01-01 UTC; nothing in other records.
  package var clock: Int64?

  package init(
    index: UInt64, unixSeconds: Int64, kind: String, bolt: String, cause: String, result: String, by: String?,
    key: String?, clock: Int64? = nil
  ) {
    self.index = index
    self.unixSeconds = unixSeconds
    self.kind = kind
    self.bolt = bolt
    self.cause = cause
    self.result = result
    self.by = by
    self.key = key
    self.clock = clock
  }
}

/// A piece of a lock's log.
package struct LogAnswer: Codable, Equatable, Sendable {
  package var door: String
  /// The oldest record that the lock still has, and the newest.
  package var first: UInt64
  package var last: UInt64
  package var records: [RecordAnswer]
  /// Where this answer ends. The next question continues there, unless it is the newest record.
  package var end: SeenHead
  /// What is wrong with the log: records that this phone saw are missing or were changed.
  package var troubles: [String]
  /// When each of these was found, in seconds since 1970-01-01 UTC.
  package var troubleTimes: [Double]?

  package init(
    door: String, first: UInt64, last: UInt64, records: [RecordAnswer], end: SeenHead, troubles: [String],
    troubleTimes: [Double]? = nil
  ) {
    self.door = door
    self.first = first
    self.last = last
    self.records = records
    self.end = end
    self.troubles = troubles
    self.troubleTimes = troubleTimes
  }
}
