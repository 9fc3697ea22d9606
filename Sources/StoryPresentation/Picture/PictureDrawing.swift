import TimeTypes

/// The drawing of a scene as SVG, on folded time. Every shape carries its times (`data-a`, `data-b`, in milliseconds), so
/// that the page's script can move it to another scale.
struct PictureDrawing {
  static let width = 1000.0
  static let rowHeight = 26.0
  static let headHeight = 30.0

  private let scene: PictureScene
  private let time: FoldedTime

  init(_ scene: PictureScene, _ time: FoldedTime) {
    self.scene = scene
    self.time = time
  }

  /// The moments that must be at different places on the scale.
  static func moments(_ scene: PictureScene) -> [Instant] {
    [.zero, scene.end] + scene.chapters.map(\.from)
      + scene.lanes.flatMap { $0.bands.flatMap { [$0.from, $0.to] } + $0.marks.map(\.at) }
  }

  private var height: Double { Self.headHeight + Double(scene.lanes.count) * Self.rowHeight }

  /// The names of the lanes, beside the drawing.
  var names: String {
    var machine: String?
    let items = scene.lanes.map { lane in
      let isFirst = lane.machine != machine
      machine = lane.machine
      let place = isFirst ? "<b>\(Markup.escaped(lane.machine))</b> " : ""
      return "<li\(isFirst ? " class=\"first\"" : "")>\(place)<span>\(Markup.escaped(lane.name))</span></li>"
    }
    return "<ul class=\"names\" aria-hidden=\"true\">\(items.joined(separator: "\n"))</ul>"
  }

  var svg: String {
    var lines = [
      """
      <svg id="picture" role="img" aria-label="The story as lanes over time" width="\(Markup.number(Self.width))" \
      height="\(Markup.number(height))">
      """
    ]
    lines.append("<g id=\"ticks\">\(ticks)</g>")
    for (index, chapter) in scene.chapters.enumerated() {
      let next = index + 1 < scene.chapters.count ? scene.chapters[index + 1].from : scene.end
      lines.append(
        "<g class=\"chapter\"><rect \(span(chapter.from, next)) y=\"0\" height=\"\(Markup.number(height))\"/>"
          + "<text \(at(chapter.from, attribute: "x")) y=\"12\">\(Markup.escaped(chapter.name))</text></g>")
    }
    var machine = scene.lanes.first?.machine
    for (index, lane) in scene.lanes.enumerated() {
      let top = Self.headHeight + Double(index) * Self.rowHeight
      let isFirst = lane.machine != machine
      machine = lane.machine
      lines.append(
        "<line class=\"\(isFirst ? "machine" : "lane")\" x1=\"0\" x2=\"\(Markup.number(Self.width))\" "
          + "y1=\"\(Markup.number(top))\" y2=\"\(Markup.number(top))\"/>")
      lines += lane.bands.map { band($0, top) }
      lines += lane.marks.map { mark($0, top) }
    }
    lines.append("</svg>")
    return lines.joined(separator: "\n")
  }

  /// Times at even distances. The page's script draws them again for the part that it shows.
  private var ticks: String {
    stride(from: 0.0025, to: 1, by: 0.125).map { place in
      let x = Markup.number(place * Self.width)
      let text = StoryScreen.time(time.instant(at: place))
      return "<g class=\"tick\"><line x1=\"\(x)\" x2=\"\(x)\" y1=\"16\" y2=\"\(Markup.number(height))\"/>"
        + "<text x=\"\(Markup.number(place * Self.width + 3))\" y=\"26\">\(text)</text></g>"
    }.joined(separator: "\n")
  }

  private func band(_ band: PictureScene.Band, _ top: Double) -> String {
    let title = "\(band.label), from \(band.from) to \(band.to)"
    let label =
      band.label.isEmpty
      ? ""
      : "<text \(at(band.from, attribute: "x")) y=\"\(Markup.number(top + 17))\">\(Markup.escaped(band.label))</text>"
    return "<g class=\"band \(band.state.rawValue)\"><rect \(span(band.from, band.to)) y=\"\(Markup.number(top + 4))\" "
      + "height=\"\(Markup.number(Self.rowHeight - 8))\"><title>\(Markup.escaped(title))</title></rect>\(label)</g>"
  }

  private func mark(_ mark: PictureScene.Mark, _ top: Double) -> String {
    "<a class=\"mark \(mark.kind.rawValue)\" href=\"#e\(mark.entry)\"><ellipse \(at(mark.at, attribute: "cx")) "
      + "cy=\"\(Markup.number(top + Self.rowHeight / 2))\" rx=\"4\" ry=\"4\">"
      + "<title>\(Markup.escaped("\(mark.at): \(mark.text)"))</title></ellipse></a>"
  }

  private func span(_ from: Instant, _ to: Instant) -> String {
    let left = time.place(from) * Self.width
    let right = time.place(to) * Self.width
    return "data-a=\"\(Self.milliseconds(from))\" data-b=\"\(Self.milliseconds(to))\" x=\"\(Markup.number(left))\" "
      + "width=\"\(Markup.number(max(1, right - left)))\""
  }

  private func at(_ instant: Instant, attribute: String) -> String {
    "data-a=\"\(Self.milliseconds(instant))\" \(attribute)=\"\(Markup.number(time.place(instant) * Self.width))\""
  }

  static func milliseconds(_ instant: Instant) -> String { Markup.number(Double(instant.nanoseconds) / 1e6) }
}
