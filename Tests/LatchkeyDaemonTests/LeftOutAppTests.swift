import AppLink
import BluetoothSystem
import Foundation
import Testing

@testable import LatchkeyDaemon

@Suite("An app whose Info.plist is refused")
struct LeftOutAppTests {
  private static let app = "org.example.collector"

  private func registry() throws -> AppRegistry {
    let folder = try TemporaryFolder()
    try folder.write(
      TemporaryFolder.plist(
        "<key>CFBundleIdentifier</key><string>\(Self.app)</string>"
          + "<key>CFBundleExecutable</key><string>no-such-program</string>"), to: "Collector/Info.plist")
    try folder.write("no plist", to: "Broken/Info.plist")
    return try AppRegistry(folder: folder.path, programFolder: "/bin")
  }

  private func refusal(of request: ControlRequest) throws -> AppLinkError? {
    var system = BluetoothSystem(apps: [], leftOut: try registry().leftOut, stored: StoredState(), seed: 1)
    let effects = system.handle(.started, at: .zero) + system.handle(.control(request, AnswerToken(1)), at: .zero)
    return effects.lazy.compactMap { effect -> AppLinkError? in
      if case .controlReply(_, .failure(let error)) = effect { error } else { nil }
    }.first
  }

  @Test("H6: a refused app is known by its identifier or its folder's name, and opening it says what is wrong")
  func open() throws {
    let error = try #require(try refusal(of: .openApp(bundleIdentifier: Self.app)))
    #expect(error.code == .appLeftOut)
    #expect(error.message.contains("no-such-program") && error.message.contains("Collector/Info.plist"))
    #expect(error.message.contains("restart latchkeyd"))
    let broken = try #require(try refusal(of: .allowApp(bundleIdentifier: "Broken", isAllowed: true)))
    #expect(broken.message.contains("Broken/Info.plist is not a property list"))
  }

  @Test("H6: a refused app is in the list that comes with the refusal to open an app that does not exist")
  func others() throws {
    let error = try #require(try refusal(of: .openApp(bundleIdentifier: "org.example.colector")))
    #expect(error.code == .unknownApp)
    #expect(error.message.contains("there are: none; left out: Broken, \(Self.app)"))
  }

  @Test("H6: a refused app that was started by hand is told why it is refused")
  func attach() throws {
    var system = BluetoothSystem(apps: [], leftOut: try registry().leftOut, stored: StoredState(), seed: 1)
    let attachment = Attachment(bundleIdentifier: Self.app, lastEvent: nil)
    let effects = system.handle(
      .attach(AppLinkIdentifier(1), ProcessIdentity(processIdentifier: 7), attachment, AnswerToken(2)), at: .zero)
    let error = effects.lazy.compactMap { effect -> AppLinkError? in
      if case .attachReply(_, .failure(let error)) = effect { error } else { nil }
    }.first
    #expect(error?.code == .appLeftOut && error?.message.contains("no-such-program") == true)
  }
}
