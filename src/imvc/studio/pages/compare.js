// Compare: where the samples of one run went in another.
import { alarm, button, count, doneRuns, element, field, folded, get, number, patch, percent, select } from "./api.js";
import { clusterColumn, clusterKey, mapPanel, sampleTable, vector } from "./map_panel.js";
import { short } from "./map_looks.js";

const ROW = 15, GAP = 10, BAR = 12;
let on = null;

export async function show(root, state) {
  const [a, b] = state.args, here = on = { root, state, maps: [] };
  const runs = doneRuns(state.project).map((run) => [run.id, run.name]);
  const chooser = (label, value, to) => field(label, select(`run-${label}`, runs, value, to));
  patch(root, element("h1", {}, "Compare"),
    element("p", { class: "lead" }, "Two runs side by side: which clusters stay together, and which samples move."),
    element("div", { class: "controls" }, chooser("First run", a, (id) => go(id, b)), chooser("Second run", b, (id) => go(a, id)),
      button("Swap", () => go(b, a))));
  if (!b) return;
  if (a === b) { root.append(element("p", {}, "Choose two different runs.")); return; }
  const waiting = element("p", { class: "summary", role: "status" }, "Comparing…");
  root.append(waiting);
  try {
    const [flow, ...loaded] = await Promise.all([get(`/api/compare?${new URLSearchParams({ a, b })}`), ...[a, b].flatMap((id) => [get(`/api/runs/${id}`), get(`/api/runs/${id}/map`)])]);
    if (on !== here) return;
    waiting.remove();
    Object.assign(here, { flow, runs: [loaded[0], loaded[2]], places: [loaded[1], loaded[3]] });
    build();
  } catch (error) {
    if (on === here) waiting.replaceWith(alarm(error.message));
  }
}

export function leave() {
  on?.maps.forEach((panel) => panel.map.close());
  on?.watch?.disconnect();
  on = null;
}

const go = (a, b) => { location.hash = `#/compare/${a}/${b}`; };

/** Clusters of the second run take the colour of their partner in the first. */
function styles() {
  const { a, b, match } = on.flow, first = a.clusters.map((one, i) => one.id >= 0 ? one.id : i);
  const partner = new Map(a.clusters.map((one, i) => [match[one.id], first[i]]));
  let free = 0;
  return [first, b.clusters.map((one) => {
    if (partner.has(one.id)) return partner.get(one.id);
    while (first.includes(free)) free += 1;
    return free++;
  })];
}

function build() {
  const { flow, runs, places } = on, n = flow.n_shared;
  on.styles = styles();
  on.to = [new Int32Array(places[0].ids.length).fill(-1), new Int32Array(places[1].ids.length).fill(-1)];
  flow.rows_a.forEach((row, s) => { on.to[0][row] = flow.rows_b[s]; on.to[1][flow.rows_b[s]] = row; });
  const columns = on.columns = runs.map((run, r) => clusterColumn({ labels: run.labels, clusters: [flow.a, flow.b][r].clusters }, on.styles[r]));
  const nameIn = (r, i) => i < 0 ? "not in this run" : columns[r].codes[i] < 0 ? "none" : columns[r].levels[columns[r].codes[i]];
  on.maps = runs.map((run, r) => mapPanel({
    title: run.name, ids: places[r].ids, help: r === 0, legendAbove: false,
    about: (i) => [[run.name, nameIn(r, i)], [runs[1 - r].name, nameIn(1 - r, on.to[r][i])]],
    onSelect: (map) => follow(r, map), onHover: (i) => {
      const other = on?.maps[1 - r]?.map, twin = i < 0 ? -1 : on.to[r][i];
      if (other && (other.rings[0] ?? -1) !== twin) { other.rings = twin < 0 ? [] : [twin]; other.redraw(false); }
    },
  }));
  const moved = flow.moved;
  on.table = sampleTable({
    label: "Samples that moved", file: `moved between ${runs[0].name} and ${runs[1].name}`,
    chosen: (i) => on.maps[0].map.chosen[i] === 1, toggle: (i) => on.maps[0].map.toggle(i),
    go: on.maps[0].go,
  });
  on.picture = element("div", { class: "flow" });
  on.told = element("p", { class: "hint", role: "status" });
  const verdict = flow.ari >= 0.9 ? "The two runs are nearly the same." : flow.ari >= 0.65 ? "The two runs largely agree."
    : flow.ari >= 0.3 ? "The two runs agree in part." : "The two runs have little in common.";
  const facts = [[percent(1 - moved.length / Math.max(1, n)), "stay together"], [number(moved.length), "samples moved"],
    [number(flow.ari, 2), "adjusted Rand index"], [number(flow.nmi, 2), "mutual information"]];
  on.root.append(
    element("p", { class: "verdict" }, element("strong", {}, verdict), ` ${count(n, "sample")} ${n === 1 ? "is" : "are"} in both`,
      flow.only_a || flow.only_b ? `; ${number(flow.only_a)} only in the first, ${number(flow.only_b)} only in the second.` : "."),
    element("ul", { class: "facts" }, facts.map(([value, text]) => element("li", {}, element("strong", {}, value), text))),
    element("p", { class: "hint" }, "Both indices are 1 when the clusters are the same, and the first is 0 when they agree no more than by chance. ",
      "Clusters are paired one to one, so that as many samples as possible stay; a sample has moved if it is not in the partner of its old cluster."),
    element("section", { "aria-labelledby": "h-flow" }, element("h2", { id: "h-flow" }, "Where the samples went"),
      element("p", { class: "hint" }, "Choose a ribbon or a cluster to see its samples in both maps: click, or go with the arrow keys and press Enter."),
      on.picture, on.told, folded("The same as a table", crossTable())),
    element("section", { "aria-label": "Two maps" }, element("h2", {}, "Both maps"),
      element("p", { class: "hint" }, "What you select in one is selected in the other. Clusters of the second run have the colour of their partner in the first."),
      element("div", { class: "two" }, on.maps.map((panel, r) => element("div", {}, element("h3", {}, runs[r].name), panel.node)))),
    element("section", { "aria-labelledby": "h-moved" }, element("div", { class: "head" }, element("h2", { id: "h-moved" }, `Samples that moved (${number(moved.length)})`),
      moved.length > 0 && button("Select all of them", () => on.maps[0].map.select(moved), "small")),
    moved.length ? on.table.node : element("p", {}, "None.")));
  on.maps.forEach((panel, r) => { panel.map.setPlane(places[r].planes[0]); panel.setColumn(columns[r]); });
  on.table.set([{ title: "Sample", text: (i) => places[0].ids[i] }, { title: runs[0].name, text: (i) => nameIn(0, i) }, { title: runs[1].name, text: (i) => nameIn(1, on.to[0][i]) }], moved);
  on.watch = new ResizeObserver(() => drawFlow());
  on.watch.observe(on.picture);
}

/** The other map shows the same samples; so do ribbons and table. */
function follow(r, map) {
  const rows = map.rows.map((i) => on.to[r][i]).filter((i) => i >= 0), other = on.maps[1 - r];
  other.map.select(rows, "replace", true);
  other.tell();
  on.table.draw();
  drawFlow();
  on.told.textContent = map.count ? `${count(map.count, "sample")} selected.` : "";
}

function rowsOf(i, j) {
  const { rows_a: a, rows_b: b } = on.flow, [first, second] = on.columns;
  return a.filter((row, s) => (i === null || first.codes[row] === i) && (j === null || second.codes[b[s]] === j));
}

const words = (i, j) => `${count(on.flow.table[i][j], "sample")} from ${on.flow.a.clusters[i].name} to ${on.flow.b.clusters[j].name}`;

const pickFlow = (i, j) => on.maps[0].map.select(rowsOf(i, j));

function crossTable() {
  const { a, b, table } = on.flow, most = Math.max(1, ...table.flat());
  const named = (r, k, one, extra) => element("th", extra, clusterKey(on.styles[r][k]), " ", one.name);
  const cell = (i) => (n, j) => element("td", { class: "n heat", style: { "--s": n / most } }, n ? button(number(n), () => pickFlow(i, j), "link", words(i, j)) : "–");
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Samples by their clusters in both runs" }, element("table", { class: "cross" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "first ↓ second →"), b.clusters.map((one, j) => named(1, j, one, { scope: "col", class: "n" })))),
    element("tbody", {}, a.clusters.map((one, i) => element("tr", {}, named(0, i, one, { scope: "row", class: "name" }), table[i].map(cell(i)))))));
}

/** With the arrow keys from ribbon to ribbon. */
function step(event) {
  const way = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (!way) return false;
  const all = [...on.picture.querySelectorAll("[role=button]")], next = all[(all.indexOf(event.currentTarget) + way + all.length) % all.length];
  on.stop = next.dataset.stop;
  all.forEach((one) => one.setAttribute("tabindex", one === next ? 0 : -1));
  next.focus();
  return true;
}

/** Ribbons between two columns of clusters, as wide as the samples they carry. */
function drawFlow() {
  const { a, b, table, n_shared: n } = on.flow, width = on.picture.clientWidth;
  if (!width || !n) return;
  const sums = [table.map((row) => row.reduce((x, y) => x + y, 0)), b.clusters.map((_, j) => table.reduce((sum, row) => sum + row[j], 0))];
  const most = Math.max(a.clusters.length, b.clusters.length), label = Math.min(190, width * 0.26);
  const height = Math.max(220, Math.min(560, most * 46)), unit = (height - GAP * (most - 1)) / n;
  const stack = (values) => {
    let y = (height - unit * n - GAP * (values.length - 1)) / 2;
    return values.map((value) => { const top = y; y += value * unit + GAP; return top; });
  };
  // The second column in the order of where most of the samples come from, so that broad ribbons run straight.
  const from = (j) => table.reduce((best, row, i) => row[j] > table[best][j] ? i : best, 0);
  const order = [a.clusters.map((_, i) => i), b.clusters.map((_, j) => j).sort((x, y) => from(x) - from(y) || sums[1][y] - sums[1][x])];
  const tops = order.map((ranks, r) => { const found = [], y = stack(ranks.map((k) => sums[r][k])); ranks.forEach((k, p) => { found[k] = y[p]; }); return found; });
  const used = [tops[0].slice(), tops[1].slice()], left = label + BAR, right = width - label - BAR, middle = (left + right) / 2;
  const chosen = on.maps[0]?.map, inside = table.map((row) => row.map(() => 0)), { codes: first } = on.columns[0], { codes: second } = on.columns[1];
  if (chosen?.count) on.flow.rows_a.forEach((row, s) => { if (chosen.chosen[row] && first[row] >= 0) inside[first[row]][second[on.flow.rows_b[s]]] += 1; });
  const parts = [];
  const stop = (name, attributes, pick, ...children) => {
    const { "aria-label": label, "data-stop": place } = attributes;
    const onkeydown = (event) => {
      if (event.key === "Enter" || event.key === " ") pick();
      else if (event.key === "Escape") on.maps[0].map.select([]);
      else if (!step(event)) return;
      event.preventDefault();
    };
    parts.push(vector(name, {
      ...attributes, role: "button", tabindex: -1, onkeydown, onclick: () => { on.stop = place; pick(); }, onfocus: () => { on.told.textContent = label; },
    }, vector("title", {}, label), ...children));
  };
  for (const i of order[0]) for (const j of order[1]) {
    const thick = table[i][j] * unit;
    if (!table[i][j]) continue;
    const y0 = used[0][i] + thick / 2, y1 = used[1][j] + thick / 2;
    used[0][i] += thick;
    used[1][j] += thick;
    stop("path", {
      d: `M${left} ${y0}C${middle} ${y0} ${middle} ${y1} ${right} ${y1}`, class: inside[i][j] ? "ribbon on" : chosen?.count ? "ribbon off" : "ribbon",
      stroke: `var(--c${on.styles[0][i] % 8})`, "stroke-width": Math.max(0.7, thick),
      "aria-label": words(i, j), "aria-pressed": String(inside[i][j] === table[i][j]), "data-stop": `${i}-${j}`,
    }, () => pickFlow(i, j));
  }
  [a, b].forEach((run, r) => run.clusters.forEach((one, k) => {
    const high = Math.max(2, sums[r][k] * unit), x = r ? right : left - BAR, text = Math.floor((label - 8) / 8);
    const told = `${one.name} of ${run.name}, ${count(sums[r][k], "sample")}`;
    stop("g", { class: "node", "aria-label": told, "data-stop": `${r}:${k}` }, () => (r ? pickFlow(null, k) : pickFlow(k, null)),
      vector("rect", { x, y: tops[r][k], width: BAR, height: high, rx: 2, fill: `var(--c${on.styles[r][k] % 8})` }),
      vector("text", { x: r ? right + BAR + 8 : left - BAR - 8, y: tops[r][k] + high / 2 + 4, "text-anchor": r ? "start" : "end" }, short(one.name, text)));
  }));
  const held = on.picture.contains(document.activeElement);
  on.picture.replaceChildren(vector("svg", {
    width, height: height + ROW, viewBox: `0 ${-ROW / 2} ${width} ${height + ROW}`, role: "group", "aria-label": `Flow between the clusters of ${a.name} and ${b.name}`,
  }, ...parts));
  const active = parts.find((one) => one.dataset.stop === on.stop) ?? parts[0];
  active?.setAttribute("tabindex", 0);
  if (held) active?.focus();
}
