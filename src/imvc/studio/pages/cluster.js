// Cluster: how, into how many, start; the runs that are kept.
import {
  about, alarm, announce, ask, button, bytes, copyable, count, date, doneRuns, duration, element, EVIDENCE, field, folded, get, later, link, patch, percent,
  select, send, sentence, warnings,
} from "./api.js";

const START = { method: "bridge", suggest: true, k: 3, random_state: 0, n_refits: 4, time: "", event: "", batch: "", adjust: "", name: "" };

let root, state, turn = 0, methods = [], metadata = [], texts = null, latest = null;
let counts = "", blocked = "", wrong = "", starting = false;
let form = { ...START };

export async function show(place, given) {
  root = place;
  state = given;
  const mine = ++turn;
  wrong = "";
  document.addEventListener("project", changed);
  draw();
  await Promise.all([readTables(mine), readMethods().then(readCommand), readLatest()]);
}

export function leave() {
  turn++;
  document.removeEventListener("project", changed);
}

function changed() {
  draw();
  readLatest();
}

// ---- what is asked of the server

async function readTables(mine) {
  blocked = "";
  if (!state.project.files.some((file) => file.role === "view")) blocked = "There are no tables yet.";
  else {
    try {
      const found = await get("/api/reading");
      if (mine !== turn) return;
      metadata = found.metadata ?? [];
      blocked = found.error ?? "";
      counts = found.inspection ? `${count(found.inspection.n_samples, "sample")} in ${count(found.inspection.views.length, "table")}` : "";
    } catch (error) {
      blocked = error.message;
    }
  }
  if (mine === turn) draw();
}

const troubles = new Map();
const fresh = (action) => {  // only the last answer counts
  let asked = 0;
  return async () => {
    const mine = ++asked, here = turn;
    const result = await action().catch((error) => ({ take: () => troubles.set(action, error.message) }));
    if (mine !== asked || here !== turn) return;
    troubles.delete(action);
    result.take?.();
    draw();
  };
};

const readMethods = fresh(async () => {
  const found = await get(`/api/methods${form.suggest ? "" : `?k=${form.k}`}`);
  return { take: () => { methods = found; } };
});
const readCommand = fresh(async () => {
  const found = await get(`/api/command?request=${encodeURIComponent(JSON.stringify(request()))}`);
  return { take: () => { texts = found; } };
});
const readLatest = fresh(async () => {  // the newest of the last runs that suggested a number
  const last = doneRuns(state.project).sort((a, b) => (a.created < b.created ? 1 : -1)).slice(0, 5);
  for (const { id } of last) {
    const found = await get(`/api/runs/${id}`);
    if (found.candidates?.length) return { take: () => { latest = found; } };
  }
  return { take: () => { latest = null; } };
});
const soon = later(() => { readCommand(); });
const soonMethods = later(() => { readMethods(); });

const needsK = () => methods.find((one) => one.name === form.method)?.needs_k ?? false;
const suggesting = () => form.suggest && !needsK();

function request(extra = {}) {
  const { name, method, random_state, n_refits, time, event, batch, adjust } = form;
  return {
    name: name.trim() || null, method, n_clusters: suggesting() ? null : form.k, random_state, n_refits,
    survival: time && event ? [time, event] : null, batch: batch || null, adjust: adjust || null, parameters: {}, ...extra,
  };
}

function set(values) {
  form = { ...form, ...values };
  draw();
  soon();
  if ("k" in values || "suggest" in values) soonMethods();
}

async function start(extra = {}) {
  if (starting) return;
  wrong = "";
  starting = true;
  draw();
  try {
    const job = await send("POST", "/api/runs", extra.again ? extra : request(extra));
    announce(`${job.name} was started.`);
    state.follow(job);
    form.name = "";
  } catch (error) {
    wrong = error.message;
  }
  starting = false;
  draw();
}

async function act(method, path, body) {
  try {
    state.project = await send(method, path, body);
    await state.refresh();
    changed();
  } catch (error) {
    wrong = error.message;
    draw();
  }
}

async function remove(run) {
  if (!(await ask(`Remove the run “${run.name}” with all its files?`, "Remove"))) return;
  await act("DELETE", `/api/runs/${run.id}`);
  announce(`${run.name} removed.`);
  root.querySelector(".runs")?.focus();
}

// ---- drawing

function draw() {
  if (!root?.isConnected) return;
  const submit = (event) => {
    event.preventDefault();
    start();
  };
  patch(root, element("h1", {}, "Cluster"),
    element("p", { class: "lead" }, counts && `${counts} will be grouped. `, "Nothing is decided for good: every run is kept, and runs can be compared."),
    element("div", { class: "beside" },
      element("form", { onsubmit: submit }, methodPart(), numberPart(), morePart(), startPart(),
        texts && folded("The same without the studio", copyable("In a terminal", texts.command), copyable("In Python", texts.script))),
      element("section", { class: "runs", tabindex: -1, "aria-label": "Runs" }, element("h2", {}, "Runs"), runList(), candidates())));
}

function startPart() {
  const name = (event) => {
    form.name = event.target.value;
    soon();
  };
  return element("section", { class: "start" },
    blocked && alarm(blocked, link("Back to the tables", "#/files", "small")), alarm(wrong),
    field("Name of the run", element("input", { "data-key": "name", value: form.name, placeholder: "optional", maxlength: 80, oninput: name })),
    element("button", { class: "main", disabled: Boolean(blocked) }, starting ? "Starting…" : "Start"));
}

function methodPart() {
  const card = (one) => element("label", { class: "radio", "data-key": one.name },
    element("input", { type: "radio", name: "method", value: one.name, checked: one.name === form.method, onchange: () => set({ method: one.name }) }),
    element("span", {}, element("strong", {}, one.class_name), element("span", { class: "about" }, one.about),
      element("span", { class: `hint${one.too_large ? " bad" : ""}` }, cost(one))));
  const [first, ...others] = methods;
  const chosen = others.find((one) => one.name === form.method);
  const none = troubles.size ? alarm([...troubles.values()][0]) : element("p", { class: "hint", role: "status" }, "Estimating times…");
  return element("fieldset", {}, element("legend", {}, "Method"), first ? card(first) : none,
    others.length > 0 && folded(`Other methods${chosen ? `: ${chosen.class_name}` : ` (${others.length})`}`, others.map(card)));
}

function cost({ too_large: large, seconds, bytes: memory, needs_k: needs, predicts }) {
  if (large) return typeof large === "string" ? large : "Too large for the memory of this machine.";
  return [typeof seconds === "number" && about(seconds), memory && `${bytes(memory)} of memory`, needs && "needs a number of clusters",
    predicts === false && "cannot place new samples"].filter(Boolean).join(" · ");
}

function numberPart() {
  const must = needsK();
  const radio = (own, text, hint, extra) => element("label", { class: "radio slim" },
    element("input", { type: "radio", name: "number", "data-key": `number-${own}`, checked: suggesting() === own, disabled: own && must, onchange: () => set({ suggest: own }) }),
    element("span", {}, element("strong", {}, text), extra, element("span", { class: "hint" }, hint)));
  const typed = (event) => Number(event.target.value) >= 2 && set({ k: Math.round(Number(event.target.value)), suggest: false });
  return element("fieldset", {}, element("legend", {}, "Number of clusters"),
    radio(true, "Let the data suggest it", must ? "This method needs a number." : "Give or take one, with the evidence for it and other numbers worth a look."),
    radio(false, "This many: ", "",
      element("input", { type: "number", min: 2, step: 1, class: "short", "data-key": "k", "aria-label": "Number of clusters", value: form.k, oninput: typed })));
}

function morePart() {
  const names = [["", "none"], ...metadata.map((name) => [name, name])];
  const column = (key, label, hint) => field(label, select(key, names, form[key], (value) => set({ [key]: value })), hint);
  const whole = (key, label, hint) => {
    const typed = (event) => event.target.value !== "" && set({ [key]: Math.max(0, Math.round(Number(event.target.value))) });
    return field(label, element("input", { type: "number", min: 0, step: 1, class: "short", "data-key": key, value: form[key], oninput: typed }), hint);
  };
  return folded("More settings", element("div", { class: "fields" },
    whole("n_refits", "Repeats", "Fits with other seeds, to tell how sure each cluster is; 0 is fastest."),
    whole("random_state", "Seed", "The same seed gives the same clusters."),
    metadata.length ? [
      column("time", "Survival: time", "Compare survival between the clusters."),
      column("event", "Survival: event", "1 or 0, dead or alive, yes or no."),
      column("batch", "Tell whether clusters follow", "Such as site, plate or day."),
      column("adjust", "Remove the effect of", "What it explains and the clusters do not.")]
      : element("p", { class: "hint" }, "A table that describes the samples would add survival and batches here.")));
}

function runList() {
  const { runs } = state.project;
  if (!runs.length) return element("p", { class: "hint" }, "None yet.");
  const rename = (run) => (event) => event.target.value.trim() && act("PATCH", `/api/runs/${run.id}`, { name: event.target.value.trim() });
  const newest = [...runs].sort((a, b) => (a.created < b.created ? 1 : -1));
  return element("ul", { class: "list" }, newest.map((run) => element("li", { class: "card", "data-key": run.id },
    element("input", { class: "title", "data-key": `name-${run.id}`, value: run.name, "aria-label": "Name of the run", onchange: rename(run) }),
    run.state === "done" ? doneRun(run) : brokenRun(run))));
}

function doneRun(run) {
  const other = doneRuns(state.project).filter((one) => one.id !== run.id).at(-1);
  const method = methods.find((one) => one.name === run.method)?.class_name ?? run.method;
  const parts = [method, count(run.n_clusters, "cluster"), count(run.n_samples, "sample"), run.edited && "edited by you", date(run.created), run.seconds && duration(run.seconds)];
  return [element("p", { class: "hint" }, parts.filter(Boolean).join(" · ")),
    run.warning && warnings([run.warning]),
    element("div", { class: "row" },
      link("Look", `#/explore/${run.id}`, "small main", `Look at ${run.name}`),
      other && link("Compare", `#/compare/${other.id}/${run.id}`, "small", `Compare ${run.name}`),
      button("Remove", () => remove(run), "small quiet", `Remove ${run.name}`))];
}

function brokenRun(run) {
  return [element("p", { class: "hint" }, "Was interrupted before it was finished."),
    element("div", { class: "row" },
      button("Run again", () => start({ again: run.id }), "small", `Run ${run.name} again`),
      button("Remove", () => remove(run), "small quiet", `Remove ${run.name}`))];
}

// Samples at the borders of clusters against those at their centres, in words.
function apart(v) {
  if (typeof v !== "number") return "";
  return v < 0.5 ? "; they are set apart" : v < 1 ? "; they touch" : "; their borders are arbitrary";
}

// The numbers of clusters that a run found worth a look.
function candidates() {
  if (!latest?.candidates?.length) return null;
  const { id, name, evidence, evidence_reason: reason } = latest;
  const { method } = state.project.runs.find((run) => run.id === id) ?? form;
  const action = (k) => {
    const own = k === latest.clusters.length ? id : doneRuns(state.project).find((run) => run.id !== id && run.n_clusters === k)?.id;
    if (own) return link(own === id ? "Taken: look at it" : `Look at k = ${k}`, `#/explore/${own}`, "small");
    return button(`Look at k = ${k}`, () => start({ method, n_clusters: k, name: `${k} clusters` }), "small", null, { disabled: Boolean(blocked) });
  };
  return element("section", { class: "candidates" }, element("h2", {}, "How many clusters?"),
    element("p", {}, element("strong", {}, EVIDENCE[evidence] ?? ""), sentence(reason)),
    element("p", { class: "hint" }, `Numbers worth a look, from “${name}”:`),
    element("ul", { class: "list" }, latest.candidates.map(({ k, r, v, reason: why }) => element("li", { class: "card" },
      element("p", {}, element("strong", {}, count(k, "cluster")), element("span", { class: "hint" }, ` its worst cluster comes back in ${percent(r)}${apart(v)}`)),
      element("p", { class: "hint" }, why), action(k)))));
}
