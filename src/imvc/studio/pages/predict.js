// New samples: put the rows of new files into the clusters of a run.
import {
  alarm, announce, ask, button, bytes, count, element, field, folded, get, notes, number, patch, percent, runChooser, saveLink, select, send, table, warnings,
} from "./api.js";
import { dropZone, sendFiles } from "./files.js";
import { clusterKey, sampleTable } from "./map_panel.js";

let root, state, run, turn = 0, reading, sending = [], left, chosen, result, listed, wrong, working;

export async function show(place, given) {
  root = place;
  state = given;
  const mine = ++turn;
  [reading, left, chosen, result, wrong, working] = [null, new Set(), null, null, "", false];
  patch(root, head(), element("p", { class: "summary", role: "status" }, "Opening the run…"));
  run = await get(`/api/runs/${state.args[0]}`);
  if (mine !== turn) return;
  draw();
  const made = run.predictions ?? [];
  await Promise.all([readFiles(mine), made.length ? open(made.at(-1)) : null]);
}

export function leave() {
  turn++;
}

const head = () => [element("h1", {}, "New samples"),
  element("p", { class: "lead" }, "Samples that came later get the clusters of a run that is finished. Nothing of the run changes."),
  element("div", { class: "fields" }, runChooser(state, "predict"))];
const files = () => state.project.files.filter((file) => file.role === "new");

async function readFiles(mine = turn) {
  if (!files().length) return;
  const found = await get("/api/reading").catch(() => null);
  if (mine !== turn) return;
  reading = found;
  draw();
}

async function open(id) {
  const mine = turn;
  try {
    const found = await get(`/api/runs/${run.id}/predictions/${id}`);
    if (mine !== turn) return;
    [result, chosen] = [found, id];
    list();
  } catch (error) {
    wrong = error.message;
  }
  draw();
}

async function start() {
  if (working) return null;
  const mine = turn;
  [wrong, working] = ["", true];
  draw();
  try {
    const wanted = files().map((file) => file.id).filter((id) => !left.has(id));
    const job = await state.follow(await send("POST", `/api/runs/${run.id}/predict`, { files: wanted }));
    if (mine !== turn) return;
    working = false;
    if (job.state === "failed") wrong = job.error;
    if (job.state !== "done") return draw();
    run = await get(`/api/runs/${run.id}`);
    await open(job.result.prediction);
    announce("The new samples have their clusters.");
    root.querySelector("#placed")?.scrollIntoView({ block: "start" });
  } catch (error) {
    [wrong, working] = [error.message, false];
  }
  return draw();
}

async function change(file, body, method = "PATCH") {
  try {
    state.project = await send(method, `/api/files/${file.id}`, body);
    wrong = "";
  } catch (error) {
    wrong = error.message;
  }
  draw();
  readFiles();
}

// ---- drawing

function draw() {
  if (!root?.isConnected) return;
  if (!run.can_predict) {
    patch(root, head(), alarm("This run cannot place new samples. Choose another run, or make one with AnchorBridge."));
    return;
  }
  const own = files(), used = own.filter((file) => !left.has(file.id));
  const add = (given) => sendFiles(state, sending, given, "new", draw).then(() => readFiles());
  const place = used.length ? `Place the samples of ${count(used.length, "file")}` : "Place the samples";
  const drop = (event) => {
    drag(event);
    add(event.dataTransfer.files);
  };
  patch(root, head(),
    element("section", {}, element("h2", {}, "Files of the new samples"),
      element("p", {}, "They need the columns of the tables of the run, in any order; any one of the tables is enough."),
      element("div", { class: "slim", ondragover: drag, ondragleave: drag, ondrop: drop }, dropZone(sending, "Any of the formats that Tables takes.", add, draw)),
      own.length > 0 && element("ul", { class: "list" }, own.map(fileRow)),
      alarm(wrong),
      element("p", {}, button(working ? "Placing them…" : place, start, "main", null, { disabled: !used.length }))),
    result && placed());
}

function drag(event) {
  event.preventDefault();
  event.currentTarget.firstElementChild.classList.toggle("over", event.type === "dragover");
}

function fileRow(file) {
  const { id, name, view } = file, found = reading?.files[id];
  const names = run.views.map((one) => [one.name, one.name]);
  const options = names.some(([own]) => own === view) ? names : [[view ?? "", "choose a table"], ...names];
  const use = (event) => {
    left[event.target.checked ? "delete" : "add"](id);
    draw();
  };
  const remove = async () => (await ask(`Remove “${name}” from the project?`, "Remove")) && change(file, undefined, "DELETE");
  return element("li", { class: "card", "data-key": id },
    element("div", { class: "head" },
      element("label", { class: "choice" }, element("input", { type: "checkbox", "data-key": `use-${id}`, checked: !left.has(id), onchange: use }),
        element("span", {}, element("bdi", {}, name), element("span", { class: "hint" }, ` ${bytes(file.bytes)}${found?.n_rows ? ` · ${count(found.n_rows, "row")}` : ""}`))),
      field("has the columns of", select(`as-${id}`, options, view ?? "", (value) => change(file, { view: value }))),
      button("Remove", remove, "small quiet", `Remove ${name}`)),
    found?.error && alarm(found.error), warnings(found?.warnings));
}

function list() {
  const { ids, clusters, margin, low, n_views: tables } = result;
  listed = sampleTable({ label: "New samples", file: `${run.name} new samples` });
  listed.set([
    { title: "Sample", text: (i) => ids[i] },
    { title: "Cluster", text: (i) => nameOf(clusters[i]), node: (i) => called(clusters[i]) },
    margin && { title: "Margin", n: true, text: (i) => (margin[i] === null ? "–" : margin[i].toFixed(2)), sort: (i) => margin[i], raw: (i) => margin[i] ?? "" },
    { title: "Doubtful", text: (i) => (low[i] ? "doubtful" : ""), node: (i) => element("span", { class: "doubt" }, low[i] ? "doubtful" : "") },
    tables && { title: "Tables", n: true, text: (i) => number(tables[i]), sort: (i) => tables[i] },
  ].filter(Boolean), Array.from(ids, (_, i) => i));
}

const nameOf = (id) => result.cluster_names?.[id] ?? run.clusters.find((one) => one.id === id)?.name ?? `cluster ${id}`;
const called = (id) => [clusterKey(id), ` ${nameOf(id)}`];

function placed() {
  const { ids, clusters, counts = {}, drift, low } = result;
  const all = [...new Set([...run.clusters.map((one) => one.id), ...clusters])].sort((a, b) => a - b);
  const amount = (id) => counts[id] ?? clusters.filter((one) => one === id).length;
  const most = Math.max(1, ...all.map(amount));
  const bar = (id) => element("span", {}, element("span", { class: "amount", style: { "--w": amount(id) / most } }), `${number(amount(id))} (${percent(amount(id) / ids.length)})`);
  const made = run.predictions ?? [];
  return element("section", { id: "placed" },
    element("h2", {}, `${count(ids.length, "new sample")}, ${number(low.filter(Boolean).length)} of them doubtful`),
    made.length > 1 && field("Shown", select("shown", made.map((one) => [one, `Result ${one.slice(1)}`]).reverse(), chosen, open)),
    drift && element("p", {}, drift.text),
    warnings(result.warnings),
    table(["Cluster", "New samples"], all.map((id) => [called(id), bar(id)]), "New samples by cluster"),
    element("p", { class: "row" }, ["csv", "xlsx", "parquet"].map((end) => saveLink(`/api/runs/${run.id}/predictions/${chosen}/download/labels.${end}`, end === "csv" ? "main" : ""))),
    listed.node, element("p", { class: "hint" }, "Margin: 0 between two clusters, 1 at the centre of its own."),
    result.notes?.length > 0 && folded(count(result.notes.length, "note"), notes(result.notes)));
}
