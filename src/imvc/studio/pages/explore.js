// Explore: the map of a run, its clusters, and what is special about any selection.
import {
  alarm, announce, button, count, element, EVIDENCE, field, get, later, notes, number, patch, percent, picture, plainly, runChooser, select, send,
  sentence, warnings,
} from "./api.js";
import { clusterColumn, clusterKey, howOf, mapPanel, sampleTable, valueText } from "./map_panel.js";

const SHOWN = 10;  // features before "all"
const NOTHING = "Draw around samples with the lasso (or hold Shift and drag), choose a cluster, or walk through the map with the arrow keys "
  + "and press Enter. Here you will see what sets these samples apart from all others.";
const kept = new Map();  // the selection of each run, while the page is open
let on = null;  // everything about the run on the screen

export async function show(root, state) {
  const id = state.args[0], here = on = { root, state, id, columns: new Map(), checked: new Set() };
  patch(root, element("h1", {}, "Explore"), element("p", { class: "summary", role: "status" }, "Loading the map…"));
  const [run, map] = await Promise.all([get(`/api/runs/${id}`), get(`/api/runs/${id}/map`)]);
  if (on !== here) return;
  Object.assign(here, { run, ids: map.ids, planes: map.planes, colour: { kind: "cluster" }, survival: run.survival, column: clusterColumn(run), described: null, all: false });
  build();
  here.panel.map.setPlane(map.planes[0]);
  recolour();
  drawClusters();
  drawHistory();
  const rows = (kept.get(id) ?? []).filter((i) => i < map.ids.length);
  if (rows.length) here.panel.map.select(rows);
  else selected();
  for (const kind of ["confidence", "pattern"]) {
    if (!run.colours.some((one) => one.kind === kind)) continue;
    try {
      const column = await load({ kind });
      if (on !== here) return;
      here[kind] = column;
      listSamples();
    } catch { /* the table has a column less */ }
  }
}

export function leave() {
  if (on?.panel) {
    kept.set(on.id, on.panel.map.rows);
    on.panel.map.close();
  }
  on = null;
}

// ---- the frame

function build() {
  const { run, ids, planes } = on;
  on.panel = mapPanel({ title: run.name, ids, about, onSelect: selected });
  on.table = sampleTable({
    label: "Samples", file: `${run.name} samples`, go: on.panel.go, chosen: (i) => on.panel.map.chosen[i] === 1,
    toggle: (i) => { on.staying = true; on.panel.map.toggle(i); on.staying = false; },
  });
  for (const name of ["clusters", "history", "about", "actions", "feature", "mapTrouble", "clusterTrouble", "trouble", "listed"]) on[name] = element("div", { class: `x-${name}` });
  on.heading = element("h2", { id: "h-selection", tabindex: -1 });
  on.chooserBox = element("div", {}, runChooser(on.state, "explore"));
  on.clustersHeading = element("h2", { id: "h-clusters" });
  on.panel.more.append(button("What is special?", () => {
    on.heading.scrollIntoView({ block: "start", behavior: "smooth" });
    on.heading.focus({ preventScroll: true });
  }, "small"));
  on.found = element("output", { class: "hint" });
  const plane = element("select", { onchange: (event) => on.panel.map.setPlane(planes[event.target.value]) }, planes.map((one, i) => element("option", { value: i }, one.name)));
  patch(on.root,
    element("div", { class: "head" }, element("div", {}, element("h1", {}, run.name), element("p", { class: "lead" }, facts(run))), on.chooserBox),
    evidence(run), remarks(run),
    element("div", { class: "explore" },
      element("section", { class: "map-side", "aria-label": "Map" },
        element("div", { class: "controls" }, field("Colour by", colourChoice()), on.feature, planes.length > 1 && field("Layout", plane), finder()),
        !run.has_data && element("p", { class: "hint" }, `Features and metadata cannot be shown: ${run.no_data_reason}`),
        on.mapTrouble, on.panel.node),
      element("aside", { "aria-labelledby": "h-clusters" }, on.clustersHeading, on.clusterTrouble, on.clusters, on.history)),
    element("section", { class: "selection", "aria-labelledby": "h-selection" }, on.heading, on.trouble, on.actions, on.about),
    element("section", { "aria-labelledby": "h-samples" }, element("div", { class: "head" }, element("h2", { id: "h-samples" }, "Samples"), on.listed), on.table.node));
}

const facts = (run) => `${count(run.n_samples, "sample")} in ${count(run.clusters.length, "cluster")}, by ${run.method}.`;

function evidence(run) {
  const words = EVIDENCE[run.evidence];
  return words ? element("p", { class: run.evidence === "none" ? "evidence none" : "evidence" }, element("strong", {}, words), sentence(run.evidence_reason)) : null;
}

/** One line, which unfolds: the map is what this screen is for. */
function remarks({ warnings: all, notes: told, evidence: known }) {
  const warned = all.filter((text) => !known || !text.startsWith("The evidence for this number"));  // said above
  const counts = [warned.length && count(warned.length, "warning"), told.length && count(told.length, "note")].filter(Boolean).join(", ");
  return counts && element("details", { class: `remarks${warned.length ? " warned" : ""}` },
    element("summary", {}, counts, warned.length > 0 && element("span", {}, plainly(warned[0]))), warnings(warned), told.length > 0 && notes(told));
}

function about(i) {
  const lines = [["Cluster", valueText(on.clusterColumn ?? on.column, i)]];
  if (on.column.kind !== "levels" || on.colour.kind !== "cluster") lines.push([on.column.title, valueText(on.column, i)]);
  for (const kind of ["confidence", "pattern"]) if (on[kind] && on.colour.kind !== kind) lines.push([kind === "pattern" ? "Tables" : "Confidence", valueText(on[kind], i)]);
  return lines;
}

// An error is told where it was caused: at the map, the clusters or the selection.
function complain(where, error) {
  patch(on[where], error ? alarm(error.message ?? error) : []);
}

// ---- colours

async function load({ kind, name, view }) {
  const key = JSON.stringify([kind, name || "", view || ""]), query = new URLSearchParams({ kind });
  if (name) query.set("name", name);
  if (view) query.set("view", view);
  if (!on.columns.has(key)) on.columns.set(key, await get(`/api/runs/${on.id}/column?${query}`));
  return on.columns.get(key);
}

function colourChoice() {
  on.chooser = element("select", { onchange: (event) => {
    const value = event.target.value;
    drawFeature(value === "feature");
    if (value !== "feature") colourBy(on.run.colours[value]);
  } });
  return on.chooser;
}

/** What the map can be coloured by; edits add the clusters as they were. */
function listColours() {
  const { run } = on, groups = [["This run", (one) => one.kind !== "metadata"], ["Your metadata", (one) => one.kind === "metadata"]];
  const options = (test) => run.colours.map((one, i) => test(one) && element("option", { value: i }, one.title));
  patch(on.chooser, groups.map(([label, test]) => run.colours.some(test) && element("optgroup", { label }, options(test))),
    element("option", { value: "feature", disabled: !run.has_data }, run.has_data ? "A feature of a table…" : "A feature (tables not there)"));
  const place = run.colours.findIndex((one) => one.kind === on.colour.kind && (one.name ?? "") === (on.colour.name ?? ""));
  on.chooser.value = on.colour.kind === "feature" ? "feature" : String(Math.max(0, place));
}

async function colourBy(colour) {
  const here = on, asked = here.asked = (here.asked ?? 0) + 1;
  try {
    const column = colour.kind === "cluster" ? clusterColumn(on.run) : await load(colour);
    if (on !== here || asked !== here.asked) return;
    Object.assign(on, { colour, column });
    complain("mapTrouble", null);
    recolour();
    listSamples();
    announce(`The map shows ${column.title}.`);
  } catch (error) {
    if (on === here) complain("mapTrouble", error);
  }
}

function recolour() {
  on.clusterColumn = clusterColumn(on.run);
  if (on.colour.kind === "cluster") on.column = on.clusterColumn;
  // The list of clusters beside the map is its legend.
  on.panel.setColumn(on.column, on.colour.kind !== "cluster");
  listColours();
  drawFeature(on.colour.kind === "feature");
}

/** Two boxes: of which table, and which feature. */
function drawFeature(shown) {
  if (!shown) return patch(on.feature);
  const told = () => { if (on.colour.kind === "feature") { on.featureInput.value = on.colour.name; on.featureView.value = on.colour.view; } };
  if (on.feature.childElementCount) return told();
  const { views } = on.run, here = on;
  const view = element("select", {}, views.map((one) => element("option", { value: one.name }, one.name)));
  const list = element("ul", { class: "suggestions", role: "listbox", id: "features", hidden: true });
  const input = element("input", { type: "search", role: "combobox", autocomplete: "off", "aria-expanded": "false", "aria-controls": "features", placeholder: "part of its name" });
  let place = -1;
  const take = (name) => { input.value = name; close(); colourBy({ kind: "feature", name, view: view.value }); };
  const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); };
  const ask = later(async () => {
    const wanted = input.value, query = new URLSearchParams({ view: view.value, find: wanted });
    const found = await get(`/api/runs/${here.id}/features?${query}`).catch((error) => on === here && complain("mapTrouble", error));
    if (!found || on !== here || wanted !== input.value || document.activeElement !== input) return;
    place = -1;
    patch(list, found.names.map((name, i) => element("li", { role: "option", id: `feature-${i}`, "aria-selected": "false" }, name)),
      !found.names.length && element("li", { class: "hint" }, "no such feature"),
      found.more > 0 && element("li", { class: "hint" }, `and ${number(found.more)} more: type more of the name`));
    list.querySelectorAll("[role=option]").forEach((one, i) => { one.onpointerdown = (event) => { event.preventDefault(); take(found.names[i]); }; });
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }, 150);
  input.oninput = input.onfocus = ask;
  input.onblur = close;
  view.onchange = () => { input.value = ""; input.focus(); };
  input.onkeydown = (event) => {
    const options = [...list.querySelectorAll("[role=option]")];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      place = Math.max(0, Math.min(options.length - 1, place + (event.key === "ArrowDown" ? 1 : -1)));
      options.forEach((one, i) => one.setAttribute("aria-selected", String(i === place)));
      options[place]?.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", `feature-${place}`);
    } else if (event.key === "Enter" && options.length) take(options[Math.max(0, place)].textContent);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  };
  Object.assign(on, { featureInput: input, featureView: view });
  told();
  patch(on.feature, views.length > 1 && field("Table", view), element("div", { class: "combo" }, field("Feature", input), list));
  if (on.colour.kind !== "feature") input.focus();
  return null;
}

function finder() {
  const { ids } = on;
  const input = element("input", { type: "search", placeholder: "id of a sample", oninput: later(() => {
    if (on?.ids !== ids) return;
    const text = input.value.trim().toLowerCase(), { map } = on.panel, best = [];
    let found = [];
    for (let i = 0; text && i < ids.length; i++) {
      const own = ids[i].toLowerCase();
      if (own === text) best.push(i);
      else if (own.includes(text)) found.push(i);
    }
    if (best.length) found = best;
    map.rings = found.slice(0, 2000);
    map.show(found.length === 1 ? found[0] : -1, true);
    if (found.length === 1) map.reveal(found[0]);
    map.redraw(false);
    patch(on.found, !text ? "" : !found.length ? "No such sample." : [`${count(found.length, "sample")} found. `,
      element("button", { type: "button", class: "small", onclick: () => map.select(found) }, found.length === 1 ? "Select it" : "Select them")]);
  }, 120) });
  return element("div", { class: "find" }, field("Find", input), on.found);
}

// ---- clusters

function drawClusters() {
  const { run, panel: { map }, checked } = on, largest = Math.max(1, ...run.clusters.map((one) => one.size));
  const { styles, codes } = on.clusterColumn, inside = run.clusters.map(() => 0);
  if (map.count) for (let i = 0; i < map.n; i++) if (map.chosen[i] && codes[i] >= 0) inside[codes[i]] += 1;
  for (const one of [...checked]) if (!run.clusters.some((cluster) => cluster.id === one)) checked.delete(one);
  on.clustersHeading.textContent = count(run.clusters.length, "cluster");
  const row = (one, c) => element("li", { "data-key": `c${one.id}` }, marking(one), on.renaming === one.id ? renaming(one) : [picking(one, c, inside[c]), renameButton(one)],
    element("div", { class: "size", "aria-hidden": "true", style: {
      "--w": `${100 * one.size / largest}%`, "--in": `${one.size ? 100 * inside[c] / one.size : 0}%`, "--colour": `var(--c${styles[c] % 8})`,
    } }, element("span", {}, element("span", {}))),
    element("p", { class: one.doubtful ? "hint doubt" : "hint" }, doubts(one)));
  patch(on.clusters,
    element("ul", { class: "clusters", "data-key": "list" }, run.clusters.map(row)),
    element("div", { class: "row", "data-key": "acts" },
      button(checked.size > 1 ? `Merge the ${checked.size} marked ones` : "Merge marked ones", merge, "small", null, { disabled: checked.size < 2 }),
      button("Undo", () => edit({ op: "undo" }, "Undone."), "small", null, { disabled: !run.can_undo }),
      button("Redo", () => edit({ op: "redo" }, "Done again."), "small", null, { disabled: !run.can_redo })));
}

const doubts = ({ doubtful, stability, low }) => [doubtful && "doubtful", stability !== null && `${percent(stability)} of it comes back`,
  low > 0 && `${number(low)} uncertain`].filter(Boolean).join(", ");

function marking({ id, name }) {
  const mark = (event) => {
    on.checked[event.target.checked ? "add" : "delete"](id);
    drawClusters();
  };
  return element("input", { type: "checkbox", checked: on.checked.has(id), "aria-label": `Mark ${name} for merging`, title: "Mark for merging", onchange: mark });
}

function picking({ name, size }, c, inside) {
  const many = inside && inside < size ? `${number(inside)} of ${number(size)}` : number(size);
  return element("button", {
    type: "button", class: "cluster", "data-key": "pick", "aria-label": `${name}, ${count(size, "sample")}${inside ? `, ${number(inside)} selected` : ""}`,
    "aria-pressed": String(inside === size && size > 0), title: "Select its samples; with Shift, add them", onclick: (event) => pick(c, event),
  }, clusterKey(on.clusterColumn.styles[c]), element("span", { class: "cluster-name" }, name), element("span", { class: "many" }, many));
}

function renameButton({ id, name }) {
  const begin = () => {
    on.renaming = id;
    drawClusters();
    on.clusters.querySelector(".renaming input").select();
  };
  return button("Rename", begin, "small quiet", `Rename ${name}`, { "data-key": "rename" });
}

function drawHistory() {
  const { history } = on.run;
  const list = element("ol", {}, history.map((text) => element("li", {}, text)));
  patch(on.history, history.length > 0 && element("details", { open: true }, element("summary", {}, `Your changes (${history.length})`), list),
    history.length > 0 && element("p", { class: "hint" }, "The clusters as they were computed stay saved beside yours."));
}

function pick(c, event) {
  const rows = [];
  on.clusterColumn.codes.forEach((code, i) => { if (code === c) rows.push(i); });
  on.panel.map.select(rows, howOf(event));
}

function renaming(cluster) {
  const stop = () => { on.renaming = null; drawClusters(); on.clusters.querySelector(`[data-key="c${cluster.id}"] [data-key=rename]`)?.focus(); };
  const input = element("input", { value: cluster.name, maxlength: 200, "aria-label": `New name of ${cluster.name}`, onkeydown: (event) => { if (event.key === "Escape") stop(); } });
  return element("form", { class: "renaming", "data-key": "form", onsubmit: (event) => {
    event.preventDefault();
    const name = event.target.querySelector("input").value.trim();
    stop();
    if (name && name !== cluster.name) edit({ op: "rename", cluster: cluster.id, name }, `${cluster.name} is now ${name}.`);
  } }, input, element("button", { class: "small" }, "Save"));
}

async function merge() {
  if (await edit({ op: "merge", clusters: [...on.checked] }, "Merged.")) on?.checked.clear();
  if (on) drawClusters();
}

async function edit(body, told, where = "clusterTrouble") {
  const here = on;
  try {
    const run = await send("POST", `/api/runs/${on.id}/edits`, body);
    if (on !== here) return false;
    fresh(run);
    announce(told);
    return true;
  } catch (error) {
    if (on === here) complain(where, error);
    return false;
  }
}

function fresh(run) {
  on.run = run;
  for (const where of ["clusterTrouble", "trouble"]) complain(where, null);
  patch(on.root.querySelector(".lead"), facts(run));
  recolour();
  drawHistory();
  selected();
  const here = on;
  here.state.refresh().then(() => on === here && patch(here.chooserBox, runChooser(here.state, "explore")), () => {});
}

// ---- the selection

function selected() {
  const { map } = on.panel;
  // Who checks samples in the table wants to go on there.
  if (!on.staying || !map.count) on.everything = !map.count;
  on.heading.textContent = map.count ? `${count(map.count, "sample")} selected` : "What is special about a selection";
  drawClusters();
  drawActions();
  listSamples();
  if (map.count) describe();
  else {
    on.described = null;
    patch(on.about, element("p", { class: "hint" }, NOTHING));
  }
}

// A column of the table of samples.
function listed(title, source, more = {}) {
  const text = (i) => valueText(source, i);
  const own = source.kind === "number" ? { n: true, sort: (i) => source.values[i], raw: (i) => source.is_date ? text(i) : source.values[i] ?? "" }
    : { raw: (i) => source.codes[i] < 0 ? "" : source.levels[source.codes[i]] };
  return { title, text, ...own, ...more };
}

function listSamples() {
  const { map } = on.panel, { ids, column, confidence, pattern, clusterColumn: clusters } = on;
  const everyTable = on.run.views.map((one) => one.name).join(", ");
  const columns = [{ title: "Sample", text: (i) => ids[i] },
    listed("Cluster", clusters, { node: (i) => { const c = clusters.codes[i]; return c < 0 ? "" : [clusterKey(clusters.styles[c]), " ", clusters.levels[c]]; } }),
    confidence && listed("Confidence", confidence, { text: (i) => confidence.values[i]?.toFixed(2) ?? "–" }),
    pattern && listed("Tables", pattern, { node: (i) => { const text = valueText(pattern, i); return text === everyTable ? "all" : text; } }),
    !["cluster", "confidence", "pattern"].includes(on.colour.kind) && listed(column.title, column)].filter(Boolean);
  const listing = (everything, text) => button(text, () => { on.everything = everything; listSamples(); }, "small", null,
    { disabled: !everything && !map.count, "aria-pressed": String(everything === on.everything) });
  patch(on.listed, element("div", { class: "joined", role: "group", "aria-label": "Which samples are listed" },
    listing(false, `Selected (${number(map.count)})`), listing(true, `All (${number(ids.length)})`)));
  on.table.set(columns, on.everything ? Array.from(ids, (_, i) => i) : map.rows);
}

const describe = later(async () => {
  const here = on;
  if (!here?.panel?.map.count) return;
  const rows = here.panel.map.rows, mine = here.describing = (here.describing ?? 0) + 1;
  on.about.setAttribute("aria-busy", "true");
  try {
    const found = await send("POST", `/api/runs/${here.id}/describe`, { rows, survival: here.survival?.every(Boolean) ? here.survival : null });
    if (on !== here || mine !== here.describing || !here.panel.map.count) return;
    here.described = found;
    drawAbout();
  } catch (error) {
    if (on === here && mine === here.describing) patch(on.about, alarm(error.message));
  }
  here.about.removeAttribute("aria-busy");
}, 250);

function drawActions() {
  const { map } = on.panel, { run } = on;
  if (!map.count) return patch(on.actions);
  const name = element("input", { "data-key": "name", placeholder: "name of the new cluster", "aria-label": "Name of the new cluster", maxlength: 200 });
  const numbers = Array.from({ length: 11 }, (_, i) => [i + 2, `into ${i + 2}`]);
  const many = select("many", [["", "as many as suggested"], ...numbers], "", () => {}, { "aria-label": "Into how many clusters" });
  return patch(on.actions,
    element("form", { class: "row", "data-key": "set", onsubmit: async (event) => {
      event.preventDefault();
      const input = event.target.querySelector("input");
      if (!input.value.trim()) return input.focus();
      if (await edit({ op: "set", rows: map.rows, name: input.value.trim() }, "The selection is a cluster now.", "trouble")) input.value = "";
      return null;
    } }, name, element("button", {}, "Make it a cluster")),
    element("form", { class: "row", "data-key": "split", onsubmit: (event) => { event.preventDefault(); split(event.target.querySelector("select").value); } },
      many, element("button", { disabled: Boolean(on.splitting) || !run.has_data, title: run.has_data ? null : run.no_data_reason }, on.splitting ? "Splitting…" : "Split it")),
    element("button", { type: "button", class: "quiet", "data-key": "clear", onclick: () => { map.select([]); map.canvas.focus({ preventScroll: true }); } }, "Clear the selection"));
}

async function split(value) {
  const here = on;
  here.splitting = true;
  drawActions();
  let trouble = null, run = null;
  try {
    const job = await here.state.follow(await send("POST", `/api/runs/${here.id}/split`, { rows: here.panel.map.rows, n_clusters: value ? Number(value) : null }));
    if (job.state === "failed") trouble = job.error;
    else if (job.state === "done") run = await get(`/api/runs/${here.id}`);
  } catch (error) {
    trouble = error;
  }
  here.splitting = false;
  if (on !== here) return;
  if (run) fresh(run);
  drawActions();
  complain("trouble", trouble);
}

function drawAbout() {
  const found = on.described, { styles } = on.clusterColumn, place = new Map(on.run.clusters.map((one, c) => [one.id, c]));
  const shares = found.clusters.filter((one) => one.n).sort((a, b) => b.n - a.n);
  const part = (one, i) => [i ? ", " : "", place.has(one.id) ? clusterKey(styles[place.get(one.id)]) : "",
    ` ${number(one.n)} of ${one.name} (${percent(one.share_of_cluster)} of it)`];
  patch(on.about,
    element("p", { class: "made-of", "data-key": "made" }, `${percent(found.share)} of all samples: `, shares.slice(0, 6).map(part),
      shares.length > 6 ? ` and ${shares.length - 6} more.` : "."),
    found.note && element("p", { class: "hint", "data-key": "note" }, found.note),
    element("div", { class: "special", "data-key": "special" },
      found.features.length > 0 && features(found.features),
      element("div", { "data-key": "other" }, found.metadata.length > 0 && metadata(found.metadata),
        survival(found.survival))));
}

/** Of the selection and all others; which columns tell time and event can be chosen. */
function survival(found) {
  const { metadata: names } = on.run;
  if (!found && names.length < 2) return null;
  const box = (key, text, place) => field(text, element("select", { "data-key": key, onchange: (event) => {
    on.survival = [0, 1].map((k) => k === place ? event.target.value : on.survival?.[k] ?? "");
    if (on.survival.every(Boolean)) describe();
  } }, ["", ...names].map((name) => element("option", { value: name, selected: name === (on.survival?.[place] ?? "") }, name || "choose a column"))));
  return element("section", { "data-key": "survival" }, element("h3", {}, "Survival"),
    found && [element("p", {}, found.text), found.svg && picture(found.svg, found.text)],
    names.length > 1 && element("details", { open: !found && Boolean(on.survival) }, element("summary", {}, found ? "Other columns" : "Compare survival"),
      element("div", { class: "controls" }, box("time", "Time", 0), box("event", "Event (yes or no)", 1))));
}

function features(all) {
  const shown = on.all ? all : all.slice(0, SHOWN), several = on.run.views.length > 1;
  const most = Math.max(...all.map((one) => Math.abs(one.effect))) || 1;
  const head = (text, look = null) => element("th", { scope: "col", class: look }, text);
  const bar = (effect) => element("span", { class: "track" }, element("span", { class: effect < 0 ? "down" : "up", style: { "--w": `${50 * Math.abs(effect) / most}%` } }));
  const row = ({ feature, view, effect, inside, outside }) => element("tr", {},
    element("th", { scope: "row", class: "name" },
      button(feature, () => colourBy({ kind: "feature", name: feature, view }), "link", null, { title: `Colour the map by ${feature}` }),
      several && element("span", { class: "hint slim" }, view)),
    several && element("td", { class: "roomy" }, view),
    element("td", { class: "effect" }, bar(effect), element("span", { class: "value" }, number(effect, 2))),
    element("td", { class: "n" }, number(inside)), element("td", { class: "n" }, number(outside)));
  const more = () => {
    on.all = !on.all;
    drawAbout();
  };
  return element("section", { "data-key": "features" }, element("h3", {}, "Features that differ most from all other samples"),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Features" }, element("table", {},
      element("thead", {}, element("tr", {}, head("Feature"), several && head("Table", "roomy"), head("Difference"), head("Here", "n"), head("Elsewhere", "n"))),
      element("tbody", {}, shown.map(row)))),
    all.length > SHOWN && element("p", {}, button(on.all ? `Only the first ${SHOWN}` : `All ${all.length}`, more, "small")),
    element("p", { class: "hint" }, "The difference is in standard deviations; beyond 0.8 is usually called large. A click on a name colours the map by it."));
}

function metadata(all) {
  return element("section", { "data-key": "metadata" }, element("h3", {}, "Metadata"), all.map((one) => element("div", { class: "meta" },
    element("h4", {}, button(one.name, () => colourBy({ kind: "metadata", name: one.name }), "link", null, { title: "Colour the map by it" })),
    element("p", {}, one.text),
    one.rows?.length > 0 && element("div", { class: "shares" }, one.rows.slice(0, 8).map(([level, inside, outside]) => element("div", {},
      element("span", { class: "level-name" }, level),
      element("span", { class: "pair", "aria-hidden": "true", style: { "--a": `${100 * inside}%`, "--b": `${100 * outside}%` } }, element("i"), element("i")),
      element("span", { class: "many" }, `${percent(inside)} here, ${percent(outside)} elsewhere`)))))));
}
