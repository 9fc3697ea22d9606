import CBoard
import LockProtocol
import LockScript

/// Runs the scripts and prints their traces and what they took. Linux prints the same traces (`BoardTests`).
@main struct Board {
  static func main() {
    room()
    if board_has_cryptography() == 1 {
      run("bearssl", LockScript<BoardCryptography>(seed: 1), ends: [50, 100, 200, 400])
    } else {
      say("no cryptography: BearSSL's sources are not there\n")
    }
    let most = UInt64(board_step_count())
    run("stand-in", LockScript<StandInCryptography>(seed: 2), ends: [100, 1_000, 10_000, most])
    number("stack", UInt64(board_stack_peak()), "of", UInt64(board_stack_size()))
    number("arena", UInt64(board_arena_peak()), "of", UInt64(board_arena_size()))
  }

  /// Runs a script, and tells at each of these steps what it has come to.
  private static func run<Cryptography: ScriptCryptography>(
    _ name: StaticString, _ script: consuming LockScript<Cryptography>, ends: [UInt64]
  ) {
    var steps: UInt64 = 0
    var script = script
    for end in ends {
      while steps < end {
        script.step()
        steps += 1
      }
      script.settle()
      say(name)
      say(" ")
      decimal(steps)
      say(" ")
      hexadecimal(script.trace.value)
      say(" ")
      decimal(script.eventCount)
      say(" ")
      decimal(script.answerCount)
      say(" ")
      decimal(script.turnCount)
      say(" cuts ")
      decimal(script.powerCutCount)
      say(" ")
      decimal(script.violationCount)
      say(" arena ")
      decimal(UInt64(board_arena_used()))
      say(" ")
      decimal(UInt64(board_arena_peak()))
      say("\n")
    }
  }

  /// A lock that holds as much as it can, again and again.
  private static func room() {
    var script = RoomScript(seed: 4)
    var rounds: UInt64 = 0
    for end in [1, 2, 20] as [UInt64] {
      while rounds < end {
        script.round()
        rounds += 1
      }
      say("room ")
      decimal(rounds)
      say(" ")
      hexadecimal(script.trace.value)
      for count in [
        script.eventCount, script.answerCount, script.turnCount, script.replyCount, script.refusalCount,
        UInt64(script.longestAccess), UInt64(board_arena_used()), UInt64(board_arena_peak()),
      ] {
        say(" ")
        decimal(count)
      }
      say("\n")
    }
  }

  private static func number(_ name: StaticString, _ value: UInt64, _ of: StaticString, _ whole: UInt64) {
    say(name)
    say(" ")
    decimal(value)
    say(" ")
    say(of)
    say(" ")
    decimal(whole)
    say("\n")
  }

  private static func say(_ text: StaticString) {
    for index in 0..<text.utf8CodeUnitCount { board_write(text.utf8Start[index]) }
  }

  private static func decimal(_ value: UInt64) {
    var digits: [UInt8] = []
    var rest = value
    repeat {
      digits.append(UInt8(truncatingIfNeeded: rest % 10) + 48)
      rest /= 10
    } while rest > 0
    for digit in digits.reversed() { board_write(digit) }
  }

  private static func hexadecimal(_ value: UInt64) {
    for shift in 0..<16 as Range<UInt64> {
      let digit = UInt8(truncatingIfNeeded: value >> (60 - 4 * shift)) & 15
      board_write(digit < 10 ? digit + 48 : digit + 87)
    }
  }
}
