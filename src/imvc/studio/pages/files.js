// Tables: drop them, see how each was read, correct it.
import {
  alarm, announce, ask, button, bytes, choice, count, element, field, folded, get, link, notes, number, patch, percent, plainly, select, send, upload,
  warnings,
} from "./api.js";

const ROLES = [
  ["view", "measurements to cluster by"], ["metadata", "describes the samples"], ["new", "new samples, for later"], ["off", "leave out"],
];
const KINDS = [["number", "number"], ["category", "category"], ["ordinal", "ordered"], ["date", "date"], ["metadata", "only to look at"]];
const WORDS = { ...Object.fromEntries(KINDS), "yes-no": "yes/no" };
const MANY = { number: "numbers", category: "categories", date: "dates" };
const SHOWN = 200;
// What a warning of the reader proposes, as a button.
const REMEDIES = [
  [/--log1p/, "Take logarithms", { log1p: true }],
  [/--scale/, "Bring the columns to one scale", { scale: "standard" }],
  [/--transpose/, "Samples are in columns", { transpose: true }],
];

const open = new Set();
let root, state, reading, asked = 0, trouble = "", filters, busy, errors, sending;

export async function show(place, given) {
  root = place;
  state = given;
  [filters, busy, errors] = [new Map(), new Set(), new Map()];
  sending ??= [];
  trouble = "";
  document.addEventListener("dragover", hover);
  document.addEventListener("dragleave", hover);
  document.addEventListener("drop", dropped);
  draw();
  if (state.project.files.length) await read(state.project.files.map((file) => file.id));
}

export function leave() {
  asked++;
  document.removeEventListener("dragover", hover);
  document.removeEventListener("dragleave", hover);
  document.removeEventListener("drop", dropped);
}

// ---- reading and changing

async function read(ids) {
  const mine = ++asked;
  for (const id of ids) busy.add(id);
  draw();
  try {
    const found = await get("/api/reading");
    if (mine !== asked) return;
    reading = found;
    trouble = "";
    if (ids.length === 1 && found.files[ids[0]]) announce(`${nameOf(ids[0])} was read again.`);
  } catch (error) {
    if (mine !== asked) return;
    trouble = error.message;
  }
  busy.clear();
  draw();
}

const nameOf = (id) => state.project.files.find((file) => file.id === id)?.name ?? "";

async function change(id, body) {
  errors.delete(id);
  busy.add(id);
  draw();
  try {
    state.project = await send("PATCH", `/api/files/${id}`, body);
    await read([id]);
  } catch (error) {
    errors.set(id, error.message);
    busy.delete(id);
    draw();
  }
}

const option = (file, options) => change(file.id, { options: { ...file.options, ...options } });

async function remove(file) {
  const whole = file.uploaded ? "The copy in the project folder is deleted." : "The file itself stays where it is.";
  if (!(await ask(`Remove “${file.name}”? ${whole}`, "Remove"))) return;
  try {
    state.project = await send("DELETE", `/api/files/${file.id}`);
    announce(`${file.name} removed.`);
    document.getElementById("choose")?.focus();
    await read([]);
  } catch (error) {
    errors.set(file.id, error.message);
    draw();
  }
}

async function loose() {
  try {
    state.project = await send("PATCH", "/api/joint", { match_ids: state.project.joint.match_ids === "loose" ? "exact" : "loose" });
    await read(state.project.files.map((file) => file.id));
  } catch (error) {
    trouble = error.message;
    draw();
  }
}

// ---- sending files

function hover(event) {
  event.preventDefault();
  root.querySelector(".drop")?.classList.toggle("over", event.type === "dragover");
}

function dropped(event) {
  hover(event);
  sendAll(event.dataTransfer.files);
}

const sendAll = (files) => sendFiles(state, sending, files, null, draw).then((sent) => sent.length && root.isConnected && read(sent));

const drop = (list, entry) => list.includes(entry) && list.splice(list.indexOf(entry), 1);

// One after the other; `list` holds what is shown of them. Resolves to the ids of those that arrived.
export async function sendFiles(state, list, files, role, draw) {
  const { limits } = state.project;
  const entries = [...files].map((file) => ({ file, share: 0 }));
  for (const entry of entries) {
    if (entry.file.size > limits.upload_bytes) entry.error = `is larger than ${bytes(limits.upload_bytes)}; start the studio with its path instead.`;
  }
  list.push(...entries);
  const sent = [];
  for (const entry of entries) {
    if (entry.error || entry.gone) continue;
    draw();
    const { promise, cancel } = upload(entry.file, (share) => { entry.share = share; draw(); });
    entry.cancel = cancel;
    try {
      const made = await promise;
      if (made && role) await send("PATCH", `/api/files/${made.id}`, { role });
      if (made) sent.push(made.id);
      drop(list, entry);
    } catch (error) {
      entry.error = error.message;
      announce(`${entry.file.name}: ${error.message}`);
    }
  }
  if (sent.length) {
    await state.refresh();
    announce(`${count(sent.length, "file")} added.`);
  }
  draw();
  return sent;
}

export function dropZone(list, text, add, draw) {
  const close = (entry) => {
    entry.gone = true;
    entry.cancel?.();
    drop(list, entry);
    draw();
  };
  const choose = (event) => event.target.closest(".drop").querySelector("input").click();
  const chosen = (event) => {
    add([...event.target.files]);
    event.target.value = "";
  };
  const row = (entry) => element("li", { class: entry.error ? "bad" : null },
    element("span", {}, element("bdi", {}, entry.file.name), ` ${entry.error ?? `${bytes(entry.file.size)} · ${percent(entry.share)}`}`),
    !entry.error && element("progress", { max: 1, value: entry.share ?? 0, "aria-label": `Sending ${entry.file.name}` }),
    button(entry.error ? "Close" : "Cancel", () => close(entry), "small quiet", `${entry.error ? "Close" : "Cancel"} ${entry.file.name}`));
  return element("section", { class: "drop", "aria-label": "Add files" },
    element("p", {}, button("Choose files", choose, "main", null, { id: "choose" }), element("span", {}, " or drop them here")),
    element("p", { class: "hint" }, text),
    element("input", { type: "file", multiple: true, class: "unseen", tabindex: -1, "aria-hidden": "true", onchange: chosen }),
    list.length > 0 && element("ul", { class: "sending" }, list.map(row)));
}

// ---- drawing

function draw() {
  if (!root?.isConnected) return;
  const { files, notes: told } = state.project;
  patch(root,
    element("h1", {}, "Tables"),
    element("p", { class: "lead" }, "One file for each kind of measurement: expression, proteins, blood values. ",
      "Rows are joined by sample id; any file may lack some samples."),
    told.length > 0 && notes(told),
    element("div", { class: files.length ? "slim" : "wide", "data-key": "drop" },
      dropZone(sending, "CSV, TSV, Excel, Parquet, Feather, NumPy, MATLAB, .h5ad, .h5mu. They stay on this machine.", sendAll, draw)),
    element("div", { class: "joint" }, joint(files)),
    element("div", { class: "cards" }, files.map((file) => card(file, reading?.files[file.id]))));
}

function joint(files) {
  if (trouble) return alarm(trouble);
  if (!files.length) return null;
  if (!reading) return element("p", { class: "summary", role: "status" }, "Reading the tables…");
  const { error, inspection: found } = reading;
  const broken = files.find((file) => file.id === reading.error_file);
  const goTo = () => document.getElementById(`card-${broken.id}`)?.focus();
  return [
    error && (broken
      ? alarm(`The tables cannot be read together yet, because of ${broken.name}.`, button("Show it", goTo, "small"))
      : alarm(nearMiss(error) ? plainly(error) : error, nearMiss(error))),
    found && element("div", { class: "summary" },
      element("p", {}, element("strong", {}, [count(found.views.length, "table"), count(found.n_samples, "sample"), `${number(found.n_complete)} complete`].join(", "))),
      link("See what is missing", "#/missing", "main")),
    warnings(reading.warnings.filter((text) => !fileOf(text)), nearMiss),
    state.project.joint.match_ids === "loose" && element("p", { class: "hint" },
      "Ids are compared loosely: case, punctuation and leading zeros are ignored. ", button("Compare them exactly", loose, "link")),
    reading.notes.length > 0 && folded(count(reading.notes.length, "note on all tables", "notes on all tables"), notes(reading.notes)),
  ];
}

// The file whose view a warning is about.
function fileOf(text) {
  const [, , one, other] = /\bview ('([^']*)'|"([^"]*)")/i.exec(text) ?? [];
  return Object.keys(reading.files).find((id) => reading.files[id].view_names?.includes(one ?? other));
}

const nearMiss = (text) => (/match-ids loose/.test(text) && state.project.joint.match_ids !== "loose" ? button("Join these ids", loose, "small") : null);

function remedy(file, text) {
  if (/with a single value/.test(text)) return leaveSingle(file);
  const [, label, options] = REMEDIES.find(([pattern]) => pattern.test(text)) ?? [];
  const done = !options || Object.entries(options).every(([name, value]) => file.options[name] === value);
  return nearMiss(text) ?? (done ? null : button(label, () => option(file, options), "small"));
}

// Columns with a single value, which say nothing.
function leaveSingle(file) {
  const { columns: listed } = reading.files[file.id];
  const known = (name) => listed.some((one) => one.n_columns > 1 || one.column === name);  // many numbers share a row
  const own = reading.inspection?.views.filter((view) => reading.files[file.id].view_names.includes(view.name)) ?? [];
  const names = own.flatMap((view) => view.constant).filter((name) => known(name) && !file.options.drop.includes(name));
  const leave = () => option(file, { drop: [...file.options.drop, ...names] });
  return names.length ? button(names.length === 1 ? "Leave it out" : `Leave these ${names.length} out`, leave, "small") : null;
}

function card(file, found) {
  const { id, role } = file;
  const error = errors.get(id) ?? found?.error ?? (reading?.error_file === id ? reading.error : null);
  const rename = (event) => event.target.value.trim() && change(id, { view: event.target.value.trim() });
  const size = found?.n_rows ? ` · ${count(found.n_rows, "row")}, ${count(found.n_columns, "column")}` : "";
  return element("article", {
    class: `card ${role}${error ? " broken" : ""}`, "data-key": id, id: `card-${id}`, tabindex: -1,
    "aria-busy": String(busy.has(id)), "aria-label": file.view || file.name,
  },
  element("div", { class: "head" },
    element("input", { class: "title", "data-key": `view-${id}`, "aria-label": `Name of the table in ${file.name}`, value: file.view ?? "", spellcheck: "false", onchange: rename }),
    select(`role-${id}`, ROLES, role, (value) => change(id, { role: value }), { "aria-label": `What ${file.name} is` }),
    button("Remove", () => remove(file), "small quiet", `Remove ${file.name}`)),
  element("p", { class: "hint" }, element("bdi", {}, file.name), ` · ${bytes(file.bytes)}${role === "off" ? "" : size}`),
  element("p", { class: "reading", hidden: !busy.has(id) }, "Reading…"),
  error && element("div", { class: "alarm" }, element("p", {}, nearMiss(error) ? plainly(error) : error), nearMiss(error)),
  role !== "off" && found && [
    warnings([...found.warnings, ...reading.warnings.filter((text) => fileOf(text) === id)], (text) => remedy(file, text)),
    element("div", { class: "fields" }, idField(file, found), sheetField(file, found)),
    element("div", { class: "folds" },
      found.columns?.length > 0 && columns(file, found),
      role !== "metadata" && preparing(file),
      found.notes?.length > 0 && folded(count(found.notes.length, "note"), notes(found.notes))),
  ]);
}

// Values that are names get a sign in front, so that none is the empty one.
function idField(file, found) {
  const { id_column: chosen } = file.options, own = found.id_candidates ?? [];
  const names = chosen && chosen !== "@row" && !own.includes(chosen) ? [chosen, ...own] : own;
  const shown = (name) => name || "(first column, without a name)";
  const [, told, why] = found.notes?.map((note) => /ids from column '(.*?)'(.*)$/.exec(note)).find(Boolean) ?? [];
  const auto = chosen ? null : found.id_column ?? told;
  const options = [["", auto === null || auto === undefined ? "find it" : `found: ${shown(auto)}`], ...names.map((name) => [`=${name}`, shown(name)]),
    ["=@row", "no column: rows are in the same order in all files"]];
  return field("Sample ids are in",
    select(`id-${file.id}`, options, typeof chosen === "string" ? `=${chosen}` : "", (value) => option(file, { id_column: value ? value.slice(1) : null })),
    why && `Ids from column “${told}”${why}.`);
}

function sheetField(file, found) {
  if (!(found.sheets?.length > 1)) return null;
  const options = [["", "the first table"], ...found.sheets.map((name) => [`=${name}`, name]), ["=all", "all, each a table of its own"]];
  const { sheet } = file.options;
  return field("Sheet", select(`sheet-${file.id}`, options, sheet ? `=${sheet}` : "", (value) => option(file, { sheet: value ? value.slice(1) : null })));
}

function preparing(file) {
  const { options: { transpose, log1p, scale, top_variance: top }, id } = file;
  const set = [transpose && "samples in columns", log1p && "logarithms", scale && "one scale", top && `the ${top} most variable columns`].filter(Boolean);
  const keep = (event) => option(file, { top_variance: event.target.value ? Math.max(1, Math.round(Number(event.target.value))) : null });
  const turned = choice(`transpose-${id}`, "Samples are in columns, not in rows", transpose, (on) => option(file, { transpose: on }));
  if (file.role === "new") return folded("Layout", turned);  // the rest is as in the run
  return folded(`Prepare the numbers${set.length ? `: ${set.join(", ")}` : ""}`,
    element("div", { class: "choices" }, turned,
      choice(`log-${id}`, "Take logarithms, log(1 + x): for counts", log1p, (on) => option(file, { log1p: on })),
      choice(`scale-${id}`, "Bring all columns to one scale (mean 0, standard deviation 1)", scale === "standard",
        (on) => option(file, { scale: on ? "standard" : null }))),
    field("Keep only the most variable columns",
      element("input", { type: "number", min: 1, step: 1, placeholder: "all", "data-key": `top-${id}`, value: top ?? "", onchange: keep }), "How many; empty keeps all."));
}

// Columns by kind, and the table that changes how one is read.
function columns(file, found) {
  const { id } = file, { drop: dropped = [] } = file.options;
  const known = new Set(found.columns.map((one) => one.column));
  const all = [...found.columns, ...dropped.filter((name) => !known.has(name)).map((column) => ({ column, kind: "left out", why: "you left it out" }))];
  const amount = new Map();
  for (const { kind, n_columns: n = 1 } of all) amount.set(kind, (amount.get(kind) ?? 0) + n);
  const text = [...amount].map(([kind, n]) => `${number(n)} ${(n > 1 && MANY[kind]) || word(kind)}`).join(", ");
  const toggled = (event) => {
    open[event.target.open ? "add" : "delete"](id);
    draw();
  };
  return element("details", { ontoggle: toggled }, element("summary", {}, `Columns: ${text}`),
    open.has(id) && columnTable(file, all));  // thousands of rows are made only where they are looked at
}

const word = (kind) => WORDS[kind] ?? kind;

function columnTable(file, all) {
  const wanted = (filters.get(file.id) ?? "").toLowerCase();
  const hits = all.filter((one) => one.column.toLowerCase().includes(wanted) || word(one.kind).includes(wanted));
  const find = (event) => {
    filters.set(file.id, event.target.value);
    draw();
  };
  const head = (title, look) => element("th", { scope: "col", class: look }, title);
  return [
    all.length > 12 && field("Find a column", element("input", { type: "search", "data-key": `find-${file.id}`, value: filters.get(file.id) ?? "", oninput: find })),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Columns of ${file.view}` }, element("table", { class: "columns" },
      element("thead", {}, element("tr", {}, head("Column"), head("Read as"), head("Why"), head("Empty", "n"), file.role === "view" && head("Leave out"))),
      element("tbody", {}, hits.slice(0, SHOWN).map((one, i) => columnRow(file, one, i))))),
    hits.length > SHOWN && element("p", { class: "hint" }, `${number(hits.length - SHOWN)} more; find them by name.`),
    !hits.length && element("p", { class: "hint" }, "No column is called so."),
    file.role === "view" && all.some((one) => one.n_columns > 1) && leaveByName(file),
  ];
}

// Columns of numbers that share a row of the table have no box of their own.
function leaveByName(file) {
  const leave = (event) => {
    const name = event.target.value.trim();
    event.target.value = "";
    if (name) option(file, { drop: [...file.options.drop, name] });
  };
  return field("Leave out one of many", element("input", { "data-key": `leave-${file.id}`, placeholder: "name of a column", onchange: leave }), "Its name, then Enter.");
}

function columnRow(file, { column, kind, why, n_empty: empty, n_rows: rows, n_columns: many = 1 }, i) {
  const { kinds = {}, drop: dropped = [] } = file.options, said = kinds[column];
  const readAs = (value) => {
    const { [column]: _, ...others } = kinds;
    option(file, { kinds: value === "auto" ? others : { ...others, [column]: value } });
  };
  const leaveOut = (event) => option(file, { drop: event.target.checked ? [...dropped, column] : dropped.filter((name) => name !== column) });
  const box = element("input", { type: "checkbox", "data-key": `drop-${file.id}-${i}`, checked: dropped.includes(column), "aria-label": `Leave out ${column}`, onchange: leaveOut });
  const options = [["", `${word(kind)}${said ? ", as you said" : ""}`], ...(said ? [["auto", "as found"]] : []),
    ...KINDS.filter(([own]) => own !== kind).map(([own, text]) => [own, `read as ${text}`])];
  return element("tr", { "data-key": column },
    element("th", { scope: "row", class: "name" }, element("bdi", {}, column || "(no name)"), many > 1 && element("span", { class: "hint" }, ` ${number(many)} columns`)),
    element("td", {}, many > 1 || file.role !== "view" ? word(kind) : select(`kind-${file.id}-${i}`, options, "", readAs, { "aria-label": `How to read ${column}` })),
    element("td", { class: "why" }, why),
    element("td", { class: "n" }, empty && rows ? percent(empty / rows) : "–"),
    file.role === "view" && element("td", {}, many === 1 && box));
}
