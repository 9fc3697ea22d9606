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

/// How to start a process.
package struct ProcessStart: Sendable {
  package var executable: String
  package var arguments: [String] = []
  package var environment: [String: String] = [:]
  /// Descriptors that become its 0, 1 and 2; `nil` means /dev/null.
  package var standardInput: Int32?
  package var standardOutput: Int32?
  package var standardError: Int32?
  /// Whether it gets its own session, so that no terminal's signals reach it; otherwise it gets its own process
  /// group.
  package var ownsSession = false
  /// Whether what is left of its process group is killed when it has ended.
  package var takesGroupAlong = false

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

  /// The same program, killed when its standard input ends. For programs that do not watch their input, a shell
  /// beside it does so. Their own input is empty.
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
