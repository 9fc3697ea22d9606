import Glibc

/// How a process ended.
package enum ProcessEnd: Sendable, Equatable, CustomStringConvertible {
  case exited(Int32)
  case signal(Int32)

  package var description: String {
    switch self {
    case .exited(let code): "exit status \(code)"
    case .signal(let number): "signal \(number) (\(String(cString: strsignal(number))))"
    }
  }
}

/// What a new process gets.
package struct ProcessStart: Sendable {
  package var executable: String
  package var arguments: [String] = []
  package var environment: [String: String] = [:]
  /// Descriptors that become its 0, 1 and 2; `nil` is /dev/null.
  package var standardInput: Int32?
  package var standardOutput: Int32?
  package var standardError: Int32?
  /// In a session of its own, so that no terminal's signals reach it; else in a process group of its own.
  package var ownsSession = false

  package init(
    executable: String, arguments: [String] = [], environment: [String: String] = [:], standardInput: Int32? = nil,
    standardOutput: Int32? = nil, standardError: Int32? = nil, ownsSession: Bool = false
  ) {
    self.executable = executable
    self.arguments = arguments
    self.environment = environment
    self.standardInput = standardInput
    self.standardOutput = standardOutput
    self.standardError = standardError
    self.ownsSession = ownsSession
  }

  /// The same program, which is killed when its standard input ends: a shell beside it sees to that, for programs that
  /// do not look. Their own input is empty.
  package var endingWithInput: ProcessStart {
    var start = self
    start.executable = "/bin/sh"
    start.arguments =
      [
        "-c", "exec 3<&0; \"$@\" </dev/null 3<&- & child=$!; cat <&3 >/dev/null; kill -9 $child", "sh", executable,
      ] + arguments
    return start
  }
}
