import Foundation

/// Finds out from the program's symbol table whether a class declares a method.
///
/// `DelegateCall` finds this out by a call. For a method that must not be called, the symbol table can say it: it
/// contains the method's name, unless the program was stripped or the class comes from a library. So a yes is certain,
/// and a no is not.
enum DeclaredMethods {
  /// - Parameters:
  ///   - name: the method's name before the parenthesis.
  ///   - label: the label of its last parameter.
  static func declares(_ type: AnyClass, _ name: String, label: String) -> Bool {
    let key = "\(ObjectIdentifier(type)) \(label) \(name)"
    if let known = locked({ answers[key] }) { return known }
    var found = false
    var above: AnyClass? = type
    while let type = above, type != NSObject.self, !found {
      found = isDeclared(in: type, name, label: label)
      above = _getSuperclass(type)
    }
    locked { answers[key] = found }
    return found
  }

  /// Known answers. There are only as many as the app's classes allow.
  nonisolated(unsafe) private static var answers: [String: Bool] = [:]

  private static func isDeclared(in type: AnyClass, _ name: String, label: String) -> Bool {
    guard let mangled = _mangledTypeName(type), let text = demangled("$s" + mangled) else { return false }
    let method = "\(text).\(name)("
    return SymbolNames()?.contains(prefix: "$s" + mangled) { symbol in
      guard let symbol = demangled(symbol), symbol.hasPrefix(method) else { return false }
      return symbol.contains(" \(label): ")
    } ?? false
  }

  private static func demangled(_ symbol: String) -> String? {
    let text = symbol.utf8CString.withUnsafeBufferPointer { name in
      demangle(name.baseAddress, UInt(name.count - 1), nil, nil, 0)
    }
    guard let text else { return nil }
    defer { free(text) }
    return String(cString: text)
  }

  @_silgen_name("swift_demangle")
  private static func demangle(
    _ name: UnsafePointer<CChar>?, _ length: UInt, _ output: UnsafeMutablePointer<CChar>?,
    _ outputSize: UnsafeMutablePointer<UInt>?, _ flags: UInt32
  ) -> UnsafeMutablePointer<CChar>?
}

/// The names in the symbol tables of this process's program, an ELF file with 64 bits.
private struct SymbolNames {
  private let file: Data
  private var tables: [(symbols: Range<Int>, names: Range<Int>)] = []
  private static let symbolSize = 24

  init?() {
    guard let file = try? Data(contentsOf: URL(fileURLWithPath: "/proc/self/exe"), options: .alwaysMapped),
      file.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2])
    else { return nil }
    self.file = file
    findTables()
  }

  /// The table of sections (System V ABI, "Sections"). A symbol table names the section of its strings.
  private mutating func findTables() {
    let (start, size, count) = (number(at: 0x28, 8), number(at: 0x3A, 2), number(at: 0x3C, 2))
    func section(_ index: Int) -> Range<Int>? {
      let (offset, length) = (
        number(at: start + index * size + 0x18, 8), number(at: start + index * size + 0x20, 8)
      )
      guard index < count, offset <= file.count, length <= file.count - offset else { return nil }
      return offset..<(offset + length)
    }
    for index in 0..<count where [2, 11].contains(number(at: start + index * size + 4, 4)) {
      guard let symbols = section(index), let names = section(number(at: start + index * size + 0x28, 4)) else {
        continue
      }
      tables.append((symbols, names))
    }
  }

  private func number(at offset: Int, _ count: Int) -> Int {
    guard offset >= 0, offset <= file.count - count else { return 0 }
    // A number too large for `Int` becomes 0, so that offsets are never negative.
    return max(0, (0..<count).reduce(0) { $0 | Int(truncatingIfNeeded: UInt64(file[offset + $1]) << UInt64(8 * $1)) })
  }

  /// Whether a symbol that begins like this fulfils a condition.
  func contains(prefix: String, where matches: (String) -> Bool) -> Bool {
    let prefix = Array(prefix.utf8)
    return file.withUnsafeBytes { bytes in
      for (symbols, names) in tables {
        let table = UnsafeRawBufferPointer(rebasing: bytes[names])
        for symbol in stride(from: symbols.lowerBound, to: symbols.upperBound, by: Self.symbolSize)
        where symbol <= symbols.upperBound - Self.symbolSize {
          let name = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: symbol, as: UInt32.self)))
          guard let start = table.baseAddress, name <= table.count - prefix.count,
            memcmp(start + name, prefix, prefix.count) == 0
          else { continue }
          if matches(String(decoding: table[name...].prefix { $0 != 0 }, as: UTF8.self)) { return true }
        }
      }
      return false
    }
  }
}
