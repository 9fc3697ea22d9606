import Glibc

/// What the processes of a simulated world draw in place of chance, so that one seed tells one story.
package enum WorldSeed {
  /// The variable with the world's seed. It counts only in a world.
  package static let variable = "LATCHKEY_SEED"

  /// A number for a machine of the present world; `nil` outside a world, where the kernel's random numbers must be used.
  /// Never for secrets. Machines of one world draw different numbers.
  package static func of(machine: String) -> UInt64? {
    guard let clock = getenv(ProcessClock.variable), clock.pointee != 0, let text = getenv(variable),
      let seed = UInt64(String(cString: text))
    else { return nil }
    return number(of: machine, seed: seed)
  }

  /// A number for a name, the same in each run (FNV-1a, 64 bits, from the seed on).
  package static func number(of name: String, seed: UInt64 = 0) -> UInt64 {
    name.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
