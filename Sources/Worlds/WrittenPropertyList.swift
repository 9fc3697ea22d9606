import Foundation

/// Writes property lists with `PropertyListEncoder`. `PropertyListSerialization` can read them everywhere, but it can't
/// write in a program into which Foundation is linked statically, as in the packages: it takes every Swift value for an
/// object "of type 'Not A Type'" (Swift 6.3).
package enum WrittenPropertyList {
  /// - Parameter keys: as `PropertyListSerialization.propertyList` returns them: texts, numbers, truth values, dates, data,
  ///   and arrays and dictionaries of these.
  /// - Throws: `Unwritable` for anything else.
  package static func data(_ keys: [String: Any]) throws -> Data {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .xml
    return try encoder.encode(Value(keys, "the property list"))
  }

  package struct Unwritable: Error, Equatable, CustomStringConvertible { package let description: String }

  private indirect enum Value: Encodable {
    case text(String)
    case truth(Bool)
    case integer(Int64)
    case number(Double)
    case date(Date)
    case data(Data)
    case array([Value])
    case dictionary([String: Value])

    init(_ value: Any, _ place: String) throws {
      switch value {
      case let text as String: self = .text(text)
      // A number that came from a property list may also be read as a truth value, and a truth value as a number.
      case let truth as Bool where type(of: value) == Bool.self: self = .truth(truth)
      case let integer as Int64: self = .integer(integer)
      case let integer as Int: self = .integer(Int64(integer))
      case let number as Double: self = .number(number)
      case let date as Date: self = .date(date)
      case let data as Data: self = .data(data)
      case let array as [Any]: self = .array(try array.map { try Value($0, place) })
      case let keys as [String: Any]:
        self = .dictionary(
          try Dictionary(uniqueKeysWithValues: keys.map { ($0.key, try Value($0.value, "'\($0.key)'")) }))
      default: throw Unwritable(description: "\(place) has a value that no property list can have")
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .text(let text): try container.encode(text)
      case .truth(let truth): try container.encode(truth)
      case .integer(let integer): try container.encode(integer)
      case .number(let number): try container.encode(number)
      case .date(let date): try container.encode(date)
      case .data(let data): try container.encode(data)
      case .array(let array): try container.encode(array)
      case .dictionary(let keys): try container.encode(keys)
      }
    }
  }
}
