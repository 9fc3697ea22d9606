/// The `Info.plist` of an app that a simulated machine has installed.
enum AppDescription {
  static func propertyList(of app: InstalledApp, executable: String) -> String {
    let mode =
      switch app {
      case .agent: "bluetooth-central"
      case .lock: "bluetooth-peripheral"
      }
    // A lock's system runs its firmware whenever it has power. A phone runs an app when the user opens it.
    let keepAlive = app == .lock
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
        <key>CFBundleIdentifier</key>
        <string>\(app.bundleIdentifier)</string>
        <key>CFBundleExecutable</key>
        <string>\(escaped(executable))</string>
        <key>UIBackgroundModes</key>
        <array>
          <string>\(mode)</string>
        </array>
        <key>LatchkeyArguments</key>
        <array/>
        <key>LatchkeyKeepAlive</key>
        <\(keepAlive)/>
      </dict>
      </plist>

      """
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      default: result.append(character)
      }
    }
    return result
  }
}
