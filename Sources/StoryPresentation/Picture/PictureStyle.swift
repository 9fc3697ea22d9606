/// The style sheet of the page.
enum PictureStyle {
  static let text = """
    :root { --ink: #1b1f24; --paper: #ffffff; --quiet: #5b6470; --line: #d8dde3; --faint: #f2f4f7;
      --kept: #16703a; --broken: #b3261e; --open: #8a5a00; --blue: #2f6fb5; --select: #d63384; }
    @media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --paper: #14171b; --quiet: #9aa4b1;
      --line: #343b44; --faint: #1d2228; --kept: #57c785; --broken: #ff8a80; --open: #e3b341; --blue: #79b0ec;
      --select: #ff7ab8; } }
    * { box-sizing: border-box; }
    body { margin: 0 auto; padding: 1rem; max-width: 100rem; color: var(--ink); background: var(--paper);
      font: 15px/1.45 system-ui, "Liberation Sans", sans-serif; }
    h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .4rem; }
    a { color: var(--blue); }
    .verdict { font-weight: 700; margin: .3rem 0; overflow-wrap: anywhere; }
    .verdict.kept { color: var(--kept); } .verdict.broken, .problem { color: var(--broken); }
    .facts, .hint { color: var(--quiet); margin: .2rem 0; overflow-wrap: anywhere; }
    .picture { display: flex; border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
    .names { flex: 0 0 13rem; margin: 0; padding: 30px 0 0; list-style: none; border-right: 1px solid var(--line);
      background: var(--faint); font-size: 13px; }
    .names li { height: 26px; line-height: 26px; padding: 0 .5rem; text-align: right; white-space: nowrap;
      overflow: hidden; text-overflow: ellipsis; border-top: 1px solid transparent; }
    .names li.first { border-top-color: var(--quiet); } .names b { float: left; }
    .window { flex: 1 1 auto; min-width: 0; overflow-x: auto; position: relative; }
    .window.live { overflow-x: hidden; cursor: grab; touch-action: pan-y; }
    .window:focus-visible { outline: 2px solid var(--select); outline-offset: -2px; }
    svg { display: block; } svg text { font-size: 11px; fill: var(--ink); pointer-events: none; }
    .chapter rect { fill: none; stroke: var(--line); } .chapter text { font-weight: 700; }
    .tick line { stroke: var(--line); } .tick text { fill: var(--quiet); }
    line.lane { stroke: var(--line); } line.machine { stroke: var(--quiet); }
    .band rect { fill: var(--quiet); fill-opacity: .35; }
    .near rect { fill: #4aa3a2; fill-opacity: .3; } .linked rect { fill: #2f6fb5; fill-opacity: .75; }
    .on rect { fill: #4aa3a2; fill-opacity: .3; } .off rect { fill: #b3261e; fill-opacity: .35; }
    .running rect { fill: #3f9142; fill-opacity: .6; } .suspended rect { fill: #3f9142; fill-opacity: .18; }
    .hung rect { fill: #e0862d; fill-opacity: .8; } .down rect { fill: #666; fill-opacity: .7; }
    .locked rect { fill: #6b5bb5; fill-opacity: .45; } .unlocked rect { fill: #e0a92d; fill-opacity: .85; }
    .jammed rect { fill: #b3261e; fill-opacity: .8; } .open rect { fill: #e0a92d; fill-opacity: .5; }
    .mark ellipse { fill: var(--ink); stroke: var(--paper); }
    .mark.person ellipse { fill: var(--blue); } .mark.door ellipse { fill: var(--select); }
    .mark.trouble ellipse { fill: var(--broken); } .mark:hover ellipse { stroke: var(--select); stroke-width: 3; }
    .cursor { stroke: var(--select); stroke-width: 2; }
    .tools { display: flex; flex-wrap: wrap; gap: .4rem; align-items: center; margin: .4rem 0; }
    .tools button { font: inherit; color: inherit; background: var(--faint); border: 1px solid var(--line);
      border-radius: 4px; padding: .1rem .7rem; }
    .tools output { flex: 1 1 20rem; min-height: 1.5em; }
    .promises { list-style: none; padding: 0; margin: 0; } .promises li { padding: .25rem 0; }
    .promises .scope { font-weight: 700; padding-top: .8rem; }
    .word { display: inline-block; min-width: 6.5rem; font-weight: 700; }
    .promises .kept .word { color: var(--kept); } .promises .broken .word { color: var(--broken); }
    .promises .open .word { color: var(--open); } .promises b { font-weight: 500; }
    .reason { color: var(--quiet); overflow-wrap: anywhere; } .moment { white-space: nowrap; }
    table.story { border-collapse: collapse; width: 100%; margin-top: .4rem; } td { padding: .1rem .6rem .1rem 0;
      vertical-align: top; overflow-wrap: anywhere; }
    td.time, td.place { white-space: nowrap; color: var(--quiet); font-variant-numeric: tabular-nums; }
    tr.chapter td { font-weight: 700; padding-top: 1rem; } tr.person td:last-child { color: var(--blue); }
    tr.door td:last-child { font-weight: 700; } tr.trouble td:last-child { color: var(--broken); }
    tr.raw { display: none; } .detail { display: none; color: var(--quiet); font-size: .85em; }
    #everything:checked ~ table tr.raw, tr.raw:target, tr.raw.selected { display: table-row; }
    #everything:checked ~ table .detail, tr:target .detail { display: block; }
    tr:target, tr.selected { background: color-mix(in srgb, var(--select) 18%, transparent); }
    @media (max-width: 50rem) { .names { flex-basis: 8.2rem; font-size: 11px; } .names b { float: none; }
      .names li { text-align: left; padding: 0 .25rem; } td { display: block; padding: 0; }
      tr { display: block; padding: .2rem 0; } td.time, td.place { display: inline-block; padding-right: .6rem; }
      #everything:checked ~ table tr.raw, tr.raw:target, tr.raw.selected { display: block; } }
    @media print { .tools, #everything, label { display: none; } }
    """
}
