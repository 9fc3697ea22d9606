/// The script of the page: it moves the drawing's shapes to another part of the time, or to another scale. Without it the
/// whole drawing is shown on folded time.
enum PictureScript {
  static func text(_ time: FoldedTime) -> String {
    let moments = time.milliseconds.map(Markup.number).joined(separator: ",")
    // The places have many digits, because in a picture of days two neighbours may be a millisecond apart.
    let places = time.places.map { "\($0)" }.joined(separator: ",")
    return "const MOMENTS = [\(moments)];\nconst PLACES = [\(places)];\n\(program)"
  }

  private static let program = #"""
    (() => {
      "use strict";
      const pane = document.getElementById("window");
      const svg = document.getElementById("picture");
      const hint = document.getElementById("hint");
      const end = MOMENTS[MOMENTS.length - 1] || 1;
      const leastMilliseconds = 4;
      let folded = true, low = 0, high = 1, selected = null;

      // Between two neighbours in a table, the scale is linear.
      const lookUp = (from, to, value) => {
        let below = 0, above = from.length - 1;
        if (above < 1 || value <= from[0]) return to[0];
        if (value >= from[above]) return to[above];
        while (above - below > 1) {
          const middle = (below + above) >> 1;
          if (from[middle] <= value) below = middle; else above = middle;
        }
        return to[below] + (to[above] - to[below]) * (value - from[below]) / (from[above] - from[below]);
      };
      const place = (moment) => folded ? lookUp(MOMENTS, PLACES, moment) : moment / end;
      const moment = (place) => folded ? lookUp(PLACES, MOMENTS, place) : place * end;

      const shapes = [...svg.querySelectorAll("[data-a]")].map((element) => ({
        element, from: +element.dataset.a, to: +(element.dataset.b ?? element.dataset.a), kind: element.tagName,
        room: element.tagName === "text" && element.previousElementSibling || null,
        length: element.textContent.length * 6.2 + 14,
      }));
      const marks = [...svg.querySelectorAll("a.mark")];
      const ticks = document.getElementById("ticks");
      const make = (name, attributes, text) => {
        const element = document.createElementNS("http://www.w3.org/2000/svg", name);
        for (const key in attributes) element.setAttribute(key, attributes[key]);
        if (text) element.textContent = text;
        return element;
      };
      const cursor = svg.appendChild(make("line", { class: "cursor", y1: 0, y2: svg.getAttribute("height") }));

      const two = (number) => String(Math.floor(number)).padStart(2, "0");
      const clock = (milliseconds, step) => {
        const seconds = milliseconds / 1000, day = Math.floor(seconds / 86400);
        const text = `${day}d ${two(seconds / 3600 % 24)}:${two(seconds / 60 % 60)}:${two(seconds % 60)}`;
        return step >= 1000 ? text : `${text}.${String(Math.floor(milliseconds % 1000)).padStart(3, "0")}`;
      };

      const draw = () => {
        const width = pane.clientWidth;
        const at = (time) => (place(time) - low) / (high - low) * width;
        const clamp = (x) => Math.max(-50, Math.min(width + 50, x));
        svg.setAttribute("width", width);
        svg.setAttribute("viewBox", `0 0 ${width} ${svg.getAttribute("height")}`);
        for (const shape of shapes) {
          const x = at(shape.from);
          if (shape.kind === "rect") {
            const left = clamp(x), right = clamp(at(shape.to));
            shape.element.setAttribute("x", left);
            shape.element.setAttribute("width", Math.max(1, right - left));
            shape.element.parentNode.style.display = at(shape.to) < -1 || x > width + 1 ? "none" : "";
          } else if (shape.kind === "ellipse") {
            shape.element.setAttribute("cx", clamp(x));
          } else {
            const left = Math.max(0, x), right = Math.min(width, at(+shape.room.dataset.b));
            shape.element.setAttribute("x", left + 8);
            shape.element.style.display = right - left > shape.length ? "" : "none";
          }
        }
        for (const line of svg.querySelectorAll("line.lane, line.machine")) line.setAttribute("x2", width);
        const count = Math.max(2, Math.floor(width / 130));
        const step = (moment(high) - moment(low)) / count;
        ticks.replaceChildren(...Array.from({ length: count }, (_, index) => {
          const x = width * (index + 0.02) / count;
          const now = moment(low + (high - low) * x / width);
          const next = moment(low + (high - low) * (x + width / count) / width);
          const group = make("g", { class: "tick" });
          group.append(make("line", { x1: x, x2: x, y1: 16, y2: svg.getAttribute("height") }),
            make("text", { x: x + 3, y: 26 }, clock(now, folded ? next - now : step)));
          return group;
        }));
        const x = selected ? at(+selected.dataset.a) : -100;
        cursor.setAttribute("x1", x);
        cursor.setAttribute("x2", x);
      };

      const show = (from, to) => {
        const span = Math.min(1, Math.max(1e-12, to - from));
        low = Math.min(1 - span, Math.max(0, (from + to) / 2 - span / 2));
        high = low + span;
        draw();
      };
      const zoom = (factor, around = 0.5) => {
        if (factor < 1 && moment(high) - moment(low) <= leastMilliseconds) return;
        const middle = low + (high - low) * around, span = Math.min(1, (high - low) * factor);
        show(middle - span * around, middle + span * (1 - around));
      };
      const pan = (share) => {
        const span = high - low, from = Math.min(1 - span, Math.max(0, low + span * share));
        show(from, from + span);
      };

      const tools = document.createElement("div");
      tools.className = "tools";
      const button = (text, title, act) => {
        const element = document.createElement("button");
        element.type = "button";
        element.textContent = text;
        element.title = title;
        element.addEventListener("click", act);
        tools.append(element);
        return element;
      };
      const all = () => show(0, 1);
      const fold = () => {
        const middle = moment((low + high) / 2), from = moment(low), to = moment(high);
        folded = !folded;
        scale.textContent = folded ? "Real scale" : "Fold quiet hours";
        show(place(from), Math.max(place(to), place(middle)));
      };
      button("−", "Zoom out (-)", () => zoom(2));
      button("+", "Zoom in (+)", () => zoom(0.5));
      button("All", "The whole story (0)", all);
      const scale = button("Real scale", "All hours equally long, or quiet hours short (f)", fold);
      button("‹", "Previous moment (p)", () => step(-1));
      button("›", "Next moment (n)", () => step(1));
      const caption = document.createElement("output");
      tools.append(caption);
      document.querySelector(".picture").after(tools);

      const select = (row, isNear) => {
        if (selected) selected.classList.remove("selected");
        selected = row;
        row.classList.add("selected");
        const cells = row.cells;
        const link = document.createElement("a");
        link.href = `#${row.id}`;
        link.textContent = "in the story";
        caption.replaceChildren(`${clock(+row.dataset.a, 0)} ${cells[1].textContent}: ${cells[2].firstChild.textContent} · `, link);
        const x = place(+row.dataset.a), span = high - low;
        if (isNear && span > 0.2) show(x - 0.05, x + 0.05);
        else if (x < low || x > high) show(x - span / 2, x + span / 2);
        else draw();
      };
      const rows = marks.map((mark) => document.getElementById(mark.getAttribute("href").slice(1)))
        .filter((row) => row).sort((one, other) => one.dataset.a - other.dataset.a || one.rowIndex - other.rowIndex);
      const step = (direction) => {
        if (!rows.length) return;
        const index = selected ? rows.indexOf(selected) : direction > 0 ? -1 : rows.length;
        select(rows[Math.max(0, Math.min(rows.length - 1, index + direction))], false);
      };

      pane.tabIndex = 0;
      pane.classList.add("live");
      pane.setAttribute("role", "group");
      pane.setAttribute("aria-label", "The picture. Arrow keys move, plus and minus zoom, n and p go from moment to moment.");
      hint.textContent += " With the picture selected: ← → move, + − zoom (or drag, and ctrl with the wheel), 0 shows all, "
        + "n and p go from moment to moment, f switches to the real scale.";
      pane.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const act = { ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "+": () => zoom(0.5), "=": () => zoom(0.5),
          "-": () => zoom(2), 0: all, Home: all, n: () => step(1), p: () => step(-1), f: fold }[event.key];
        if (!act) return;
        event.preventDefault();
        act();
      });
      pane.addEventListener("wheel", (event) => {
        const around = (event.clientX - pane.getBoundingClientRect().left) / pane.clientWidth;
        if (event.ctrlKey || event.metaKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, around);
        else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
          pan((event.deltaX || event.deltaY) / pane.clientWidth);
        else return;
        event.preventDefault();
      }, { passive: false });

      let drag = null;
      pane.addEventListener("pointerdown", (event) => { if (event.button === 0) drag = { x: event.clientX, low, far: false }; });
      addEventListener("pointermove", (event) => {
        if (!drag) return;
        const distance = event.clientX - drag.x;
        if (Math.abs(distance) > 4) drag.far = true;
        const span = high - low, from = Math.min(1 - span, Math.max(0, drag.low - distance / pane.clientWidth * span));
        if (drag.far) show(from, from + span);
      });
      let dragged = false;
      addEventListener("pointerup", () => { dragged = drag?.far ?? false; drag = null; });
      svg.addEventListener("dragstart", (event) => event.preventDefault());

      document.addEventListener("click", (event) => {
        const mark = event.target.closest("a.mark"), link = event.target.closest("a.moment");
        if (!mark && !link) return;
        event.preventDefault();
        if (mark && dragged) return;
        const row = document.getElementById((mark ?? link).getAttribute("href").slice(1));
        if (!row) return;
        select(row, !!link);
        if (link) {
          document.getElementById("h-picture").scrollIntoView({ block: "start" });
          pane.focus({ preventScroll: true });
        }
      });
      new ResizeObserver(draw).observe(pane);
      draw();
    })();
    """#
}
