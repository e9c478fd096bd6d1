// A map with its tools, card, legend and status line, and the table that tells the same.
import { button, count, element, folded, number, patch } from "./api.js";
import { MARKS, short } from "./map_looks.js";
import { PointMap } from "./point_map.js";

const PAGE = 25;

/** An element of an SVG. */
export function vector(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made[name] = value;
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** The mark of a level as it is in the map. */
export function key(colour, shape) {
  const mark = vector("svg", { class: "key", viewBox: "-1.5 -1.5 3 3", "aria-hidden": "true" }, vector("path", { d: MARKS[shape] }));
  mark.style.fill = `var(${colour})`;
  return mark;
}

export const clusterKey = (style) => key(`--c${style % 8}`, Math.floor(style / 8) % MARKS.length);

/** The clusters of a run as a column; `styles` say which colour and mark each has. */
export function clusterColumn({ labels, clusters }, styles = clusters.map((one, i) => one.id >= 0 ? one.id : i)) {
  const place = new Map(clusters.map((one, i) => [one.id, i]));
  return { title: "Cluster", kind: "levels", styles, levels: clusters.map((one) => one.name),
    codes: Array.from(labels, (label) => place.get(label) ?? -1) };
}

const ofDate = (days) => new Date(Math.floor(days) * 864e5).toISOString().slice(0, 10);

export const plainNumber = (column, x) => column.is_date ? ofDate(x) : number(x);

export function valueText(column, i) {
  if (column.kind === "levels") return column.codes[i] < 0 ? "not known" : column.levels[column.codes[i]];
  return column.values[i] === null ? "not known" : plainNumber(column, column.values[i]);
}

export function endsOf(column) {
  if (column.kind !== "number") return ["", ""];
  const beyond = (test) => column.values.some((x) => x !== null && test(x));
  return [(beyond((x) => x < column.low) ? "≤ " : "") + plainNumber(column, column.low),
    (beyond((x) => x > column.high) ? "≥ " : "") + plainNumber(column, column.high)];
}

export function save(name, parts, type) {
  const address = URL.createObjectURL(parts instanceof Blob ? parts : new Blob([parts], { type }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const cell = (x) => /[",\r\n]/.test(x) ? `"${String(x).replaceAll('"', '""')}"` : String(x);
export const csv = (rows) => rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";

/** What a click on a list of samples does to the selection. */
export const howOf = (event) => event.altKey ? "remove" : event.shiftKey || event.ctrlKey ? "add" : "replace";

const howTo = [
  ["Move", "drag; or two fingers"],
  ["Zoom", "+ and − (0 shows the whole map), two fingers, Ctrl and the wheel, or the wheel alone after a click on the map"],
  ["Select", "choose Lasso and draw around samples; or hold Shift and drag, which adds to the selection; with Alt or Ctrl it takes away"],
  ["One sample", "point at it; click or tap to keep its card open; Shift and click takes it into the selection"],
  ["Keyboard", "arrow keys go from sample to sample, Enter takes one in or out, A selects all in sight, Escape clears"],
];

/** `about(i)` gives the lines of the card of a sample: [name, text] pairs. */
export function mapPanel({ title, ids, about, onSelect = () => {}, onHover = () => {}, help = true, legendAbove = true }) {
  const spokenTitle = `${title}: ${count(ids.length, "sample")}. Arrow keys go from sample to sample, Enter selects. The table of samples tells the same.`;
  const canvas = element("canvas", { tabindex: 0, role: "application", "aria-roledescription": "map of samples", "aria-label": spokenTitle });
  const tip = element("div", { class: "tip", hidden: true });
  const status = element("p", { class: "map-status", role: "status" });
  const more = element("span", { hidden: true });  // what a screen offers for a selection
  const legend = element("div", { class: "legend", role: "group", "aria-label": "Legend" });
  let column = null, spoken = "";

  const map = new PointMap(canvas, {
    onHover(i, pinned) {
      const before = tip.dataset.sample;
      tip.hidden = i < 0;
      tip.dataset.sample = i;
      if (i >= 0) {
        if (before !== String(i)) fill(i);
        place(i);
      }
      const now = pinned && i >= 0 ? [ids[i], ...about(i).slice(0, 2).map((line) => line.join(": "))].map((text) => short(text, 60)).join(", ") : "";
      if (now !== spoken) { spoken = now; tell(); }
      onHover(i, pinned);
    },
    onSelect() { tell(); drawLegend(); onSelect(map); },
  });

  function fill(i) {
    tip.replaceChildren(element("strong", {}, short(ids[i], 90)),
      ...about(i).map(([name, text]) => element("div", {}, element("span", {}, `${short(name, 40)}: `), short(text, 90))));
  }

  function place(i) {
    const p = map.position(i), gap = 14, wide = tip.offsetWidth, high = tip.offsetHeight;
    const left = p.x + gap + wide > map.width ? p.x - gap - wide : p.x + gap;
    tip.style.left = `${Math.max(4, Math.min(left, map.width - wide - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(p.y + gap, map.height - high - 4))}px`;
  }

  function tell() {
    const chosen = map.count ? `${count(map.count, "sample")} selected` : "Nothing selected";
    status.textContent = [spoken && (map.chosen[map.current] ? `${spoken} (selected)` : spoken), chosen].filter(Boolean).join(" · ");
    more.hidden = !map.count;
  }

  function drawLegend() {
    if (!column || legend.hidden) return;
    const chosen = new Array(map.looks.length).fill(0);
    if (map.count) for (let i = 0; i < map.n; i++) if (map.chosen[i]) chosen[map.look[i]] += 1;
    const ends = element("div", { class: "ends" }, endsOf(column).map((end) => element("span", {}, end)));
    const level = (one, k) => one.name !== null && one.many > 0 && element("button", {
      type: "button", class: "level", "data-key": `l${k}`, title: "Select these samples", "aria-label": `${one.name}, ${count(one.many, "sample")}`,
      "aria-pressed": String(chosen[k] === one.many), onclick: (event) => map.selectLook(k, howOf(event)),
    }, key(one.colour, one.shape), element("span", { class: "level-name" }, one.name),
    element("span", { class: "many" }, chosen[k] ? `${number(chosen[k])} of ${number(one.many)}` : number(one.many)));
    patch(legend, element("h3", {}, column.title),
      column.kind === "number" && element("div", { class: "scale" }, element("div", { class: "ramp" }), ends),
      element("div", { class: "levels" }, map.looks.map(level)));
  }

  const small = (text, label, act) => button(text, act, "small", label, { title: label });
  const tool = (name, text) => button(text, () => use(name), "small", null, { "aria-pressed": String(name === "move") });
  const tools = { move: tool("move", "Move"), lasso: tool("lasso", "Lasso") };
  const how = element("select", { "aria-label": "What the lasso does", hidden: true, onchange: (event) => { map.how = event.target.value; } },
    [["replace", "selects anew"], ["add", "adds"], ["remove", "takes away"]].map(([value, text]) => element("option", { value }, text)));

  function use(name) {
    map.use(name);
    for (const [own, one] of Object.entries(tools)) one.setAttribute("aria-pressed", String(own === name));
    how.hidden = name !== "lasso";
    if (how.hidden) map.how = how.value = "replace";
  }

  const switchNames = () => {
    map.names = !map.names;
    names.setAttribute("aria-pressed", String(map.names));
    map.redraw(false);
  };
  const names = button("Names", switchNames, "small", null, { "aria-pressed": "true", title: "Show the names of clusters in the map" });
  const figure = async (kind) => {
    const name = `${title} ${column.title}`.replace(/[^\w.-]+/g, "_").slice(0, 80);
    if (kind === "svg") save(`${name}.svg`, map.toSVG(column.title, endsOf(column)), "image/svg+xml");
    else save(`${name}.png`, await map.toPNG(column.title, endsOf(column)));
  };

  const node = element("div", { class: "map-panel" },
    element("div", { class: "card-map" },
      element("div", { class: "map-tools", role: "toolbar", "aria-label": "Map" },
        element("div", { class: "joined" }, tools.move, tools.lasso), how, element("span", { class: "gap" }),
        element("div", { class: "joined" }, small("+", "Zoom in", () => map.zoomBy(1.5)), small("−", "Zoom out", () => map.zoomBy(1 / 1.5)),
          small("Whole", "Show the whole map", () => map.reset())), names,
        element("div", { class: "joined" }, small("SVG", "Save the map as SVG", () => figure("svg")), small("PNG", "Save the map as PNG", () => figure("png")))),
      legendAbove && legend, element("div", { class: "stage" }, canvas, tip), element("div", { class: "map-foot" }, status, more)),
    !legendAbove && legend,
    help && folded("How to use the map", element("dl", { class: "how" }, howTo.map(([name, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, text))))));

  return {
    node, map, more, tell() { tell(); drawLegend(); },
    go(i) {
      map.show(i, true);
      map.reveal(i);
      node.scrollIntoView({ block: "nearest" });
    },
    setColumn(next, withLegend = true) {
      column = next;
      map.setColumn(next);
      legend.hidden = !withLegend;
      names.hidden = !map.middles.length;
      drawLegend();
      if (map.current >= 0) fill(map.current);
      tell();
    },
  };
}

/** Rows of samples: sorted by a click on a column, in pages, as CSV.
 *  columns: [{title, text(i), sort?: i -> number or text, n?: right-aligned}], the first one is the id;
 *  raw(i) is what a CSV gets, node(i) what the page shows where that is more than text.
 *  `go(i)` shows a sample in the map, `chosen(i)` and `toggle(i)` are the selection; without them it is a list. */
export function sampleTable({ label, file, go, chosen, toggle }) {
  const node = element("div", { class: "samples" });
  let columns = [], rows = [], page = 0, by = -1, down = false;

  function sorted() {
    if (by < 0) return;
    const value = columns[by].sort ?? columns[by].text, keys = new Map();
    for (const i of rows) keys.set(i, value(i));
    const collator = rows.length < 20000 ? new Intl.Collator("en", { numeric: true }) : null;
    const compare = (a, b) => {
      if (a === null || b === null) return (a === null) - (b === null) || 0;  // unknown ones last
      const order = collator && typeof a === "string" ? collator.compare(a, b) : a < b ? -1 : a > b ? 1 : 0;
      return down ? -order : order;
    };
    rows = rows.slice().sort((i, j) => compare(keys.get(i), keys.get(j)) || i - j);
  }

  function sortBy(c) {
    down = by === c && !down;
    by = c;
    page = 0;
    sorted();
    draw();
  }

  function heading(one, c) {
    const order = by !== c ? null : down ? "descending" : "ascending";
    return element("th", { scope: "col", class: one.n ? "n" : null, "aria-sort": order }, button(one.title, () => sortBy(c), "link"));
  }

  function row(i) {
    const [first, ...others] = columns, id = first.text(i);
    return element("tr", {},
      toggle && element("td", { class: "box" }, element("input", { type: "checkbox", checked: chosen(i), "aria-label": `Select ${id}`, onchange: () => toggle(i) })),
      element("th", { scope: "row", class: "name" }, go ? button(id, () => go(i), "link", null, { title: "Show it in the map" }) : id),
      others.map((one) => element("td", { class: one.n ? "n" : null }, one.node ? one.node(i) : one.text(i))));
  }

  function saveRows() {
    const values = rows.map((i) => columns.map((one) => (one.raw ?? one.text)(i)));
    save(`${file}.csv`, csv([columns.map((one) => one.title), ...values]), "text/csv");
  }

  function draw() {
    const last = Math.max(0, Math.ceil(rows.length / PAGE) - 1);
    page = Math.min(page, last);
    const from = page * PAGE, to = Math.min(rows.length, from + PAGE);
    const turn = (text, way, disabled) => button(text, () => { page += way; draw(); }, "small", null, { disabled });
    patch(node,
      element("div", { class: "scroll", "data-key": "rows", tabindex: 0, role: "region", "aria-label": label }, element("table", { class: "sorted" },
        element("thead", {}, element("tr", {}, toggle && element("th", { scope: "col", class: "box" }, element("span", { class: "unseen" }, "Selected")), columns.map(heading))),
        element("tbody", {}, rows.slice(from, to).map(row)))),
      element("div", { class: "pager", "data-key": "pager" }, turn("Previous", -1, page === 0),
        element("span", {}, rows.length ? `${number(from + 1)} to ${number(to)} of ${number(rows.length)}` : "none"),
        turn("Next", 1, page === last), element("span", { class: "gap" }),
        button("Save these as CSV", saveRows, "small", null, { disabled: !rows.length })));
  }

  return {
    node, draw,
    set(nextColumns, nextRows) {
      if (nextColumns.length <= by) by = -1;
      columns = nextColumns;
      rows = nextRows;
      sorted();
      draw();
    },
  };
}
