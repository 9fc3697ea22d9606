/// An invitation to be made. What is missing is not limited.
package struct InviteQuestion: Codable, Equatable, Sendable {
  package var door: String?
  package var name: String
  /// In seconds since 1970-01-01 UTC.
  package var from: Int64?
  package var until: Int64?
  /// Bit 0 is Monday.
  package var weekdays: UInt8?
  /// In minutes after midnight.
  package var start: UInt16?
  package var end: UInt16?
  package var uses: UInt16?
  /// The guest may read the lock's log.
  package var mayReadLog: Bool?
  /// The key of the guest's phone (`guestKey`). Without it, the invitation contains a key, and is secret.
  package var phone: String?
  /// The owner's time zone: minutes east of UTC now, and after its next change.
  package var offset: Int16?
  package var offsetChange: Int64?
  package var laterOffset: Int16?

  package init(door: String?, name: String) {
    self.door = door
    self.name = name
  }
}

package struct InviteAnswer: Codable, Equatable, Sendable {
  package var door: String
  package var name: String
  /// One word, for the guest.
  package var invitation: String
  /// Whoever has the invitation can use it.
  package var isSecret: Bool
  /// What the owner should know before there is no room any more.
  package var advice: String?

  package init(door: String, name: String, invitation: String, isSecret: Bool) {
    self.door = door
    self.name = name
    self.invitation = invitation
    self.isSecret = isSecret
  }
}

/// A guest as the owner invited them.
package struct GuestAnswer: Codable, Equatable, Sendable {
  package var name: String
  package var from: Int64?
  package var until: Int64?
  package var weekdays: UInt8
  package var start: UInt16
  package var end: UInt16
  /// 0 for any number.
  package var uses: UInt16
  package var isRevoked: Bool
  package var isOver: Bool
  /// The guest's public key, in hexadecimal.
  package var key: String

  package init(
    name: String, from: Int64?, until: Int64?, weekdays: UInt8, start: UInt16, end: UInt16, uses: UInt16,
    isRevoked: Bool, isOver: Bool, key: String
  ) {
    self.name = name
    self.from = from
    self.until = until
    self.weekdays = weekdays
    self.start = start
    self.end = end
    self.uses = uses
    self.isRevoked = isRevoked
    self.isOver = isOver
    self.key = key
  }
}

package struct GuestsAnswer: Codable, Equatable, Sendable {
  package var door: String
  package var guests: [GuestAnswer]
  /// How many revocation lists wait for the lock.
  package var undelivered: Int

  package init(door: String, guests: [GuestAnswer], undelivered: Int) {
    self.door = door
    self.guests = guests
    self.undelivered = undelivered
  }
}

/// Whom to revoke: a guest by name, or any phone by its key.
package struct RevokeQuestion: Codable, Equatable, Sendable {
  package var door: String?
  package var name: String?
  package var key: String?

  package init(door: String?, name: String?, key: String?) {
    self.door = door
    self.name = name
    self.key = key
  }
}

package struct RevokeAnswer: Codable, Equatable, Sendable {
  package var door: String
  package var version: UInt64
  /// The lock has the list.
  package var isDelivered: Bool
  /// One word, not secret: any phone that opens the door can bring it to the lock.
  package var list: String
  /// What the owner should know before there is no room any more.
  package var advice: String?

  package init(door: String, version: UInt64, isDelivered: Bool, list: String) {
    self.door = door
    self.version = version
    self.isDelivered = isDelivered
    self.list = list
  }
}

package struct CarryQuestion: Codable, Equatable, Sendable {
  package var door: String?
  package var list: String

  package init(door: String?, list: String) {
    self.door = door
    self.list = list
  }
}

package struct CarryAnswer: Codable, Equatable, Sendable {
  package var door: String
  package var isDelivered: Bool

  package init(door: String, isDelivered: Bool) {
    self.door = door
    self.isDelivered = isDelivered
  }
}

package struct ClockAnswer: Codable, Equatable, Sendable {
  package var door: String
  /// What the lock's clock was set to.
  package var unixSeconds: Int64

  package init(door: String, unixSeconds: Int64) {
    self.door = door
    self.unixSeconds = unixSeconds
  }
}

package struct AcceptQuestion: Codable, Equatable, Sendable {
  package var invitation: String
  /// What the door is called here.
  package var name: String

  package init(invitation: String, name: String) {
    self.invitation = invitation
    self.name = name
  }
}

package struct AcceptAnswer: Codable, Equatable, Sendable {
  package var door: String
  /// What the owner calls the guest.
  package var name: String

  package init(door: String, name: String) {
    self.door = door
    self.name = name
  }
}

/// The key of this phone for which an owner can invite it.
package struct GuestKeyQuestion: Codable, Equatable, Sendable {
  package var door: String?
  /// Draw another key, because an owner has revoked the one that there was.
  package var isNew: Bool?

  package init(door: String?, isNew: Bool?) {
    self.door = door
    self.isNew = isNew
  }
}

package struct GuestKeyAnswer: Codable, Equatable, Sendable {
  /// One word, not secret.
  package var text: String

  package init(text: String) { self.text = text }
}
