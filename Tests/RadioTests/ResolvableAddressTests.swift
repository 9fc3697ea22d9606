import BluetoothTypes
import Radio
import Testing
import TimeTypes

@Suite("Resolvable private addresses")
struct ResolvableAddressTests {
  private let keys = (0..<20).map { IdentityResolvingKey(high: 0xABCD, low: UInt64($0)) }

  @Test("An address stays for 15 minutes, changes, and its key alone knows it")
  func rotation() {
    for key in keys {
      let change = ResolvableAddress.nextChange(of: key, after: .zero)
      #expect(change > .zero && change <= .zero + .seconds(900))
      #expect(ResolvableAddress.nextChange(of: key, after: change) == change + .seconds(900))
      let nanosecond = Duration.nanoseconds(1)
      let (first, second) = (
        ResolvableAddress.address(of: key, at: .zero), ResolvableAddress.address(of: key, at: change)
      )
      #expect(first == ResolvableAddress.address(of: key, at: change - nanosecond))
      #expect(first != second)
      #expect(second == ResolvableAddress.address(of: key, at: change + .seconds(900) - nanosecond))
      for address in [first, second] {
        #expect(address.isResolvablePrivate)
        #expect(keys.filter { ResolvableAddress.resolves(address, with: $0) } == [key])
      }
    }
  }

  @Test("Keys change their addresses at different moments, and no address comes twice in a month")
  func spread() {
    #expect(Set(keys.map { ResolvableAddress.nextChange(of: $0, after: .zero) }).count > 15)
    let month = (0..<2880).map { ResolvableAddress.address(of: keys[0], at: .zero + .seconds(900 * $0)) }
    // 22 random bits: one pair of equal addresses in a month is about as likely as not, three pairs are unlikely.
    #expect(Set(month).count > 2870)
  }

  @Test("Other kinds of addresses resolve with no key")
  func others() {
    for key in keys {
      let address = ResolvableAddress.address(of: key, at: .zero)
      #expect(!ResolvableAddress.resolves(DeviceAddress(bits: address.bits, kind: .public), with: key))
      #expect(
        !ResolvableAddress.resolves(DeviceAddress(bits: address.bits | 0x8000_0000_0000, kind: .random), with: key))
      #expect(!ResolvableAddress.resolves(DeviceAddress(bits: address.bits ^ 1, kind: .random), with: key))
    }
  }
}
