// What all screens share: calls to the server, elements, texts, small dialogs.
// Names and texts from files only ever become text nodes.

// ---- calls

export class ApiError extends Error {
  constructor(text, status) {
    super(text);
    this.status = status;
  }
}

const ENDED = "This page belongs to a studio that was ended. Open the address that the terminal shows now.";
const LOST = "The studio does not answer. Is it still running in the terminal?";

async function answer(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    throw error.name === "AbortError" ? error : new ApiError(LOST, 0);
  }
  if (!response.ok) {
    const text = await response.text();
    throw new ApiError(errorText(text, response.status), response.status);
  }
  return response;
}

function errorText(text, status) {
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return status === 403 ? ENDED : `The studio answered ${status}.`;
  }
}

export const get = async (path, signal) => (await answer(path, { signal })).json();
export const getText = async (path) => (await answer(path)).text();

export async function send(method, path, body) {
  const json = { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await answer(path, { method, ...(body === undefined ? {} : json) });
  return response.status === 204 ? null : response.json();
}

// Send a file as the raw body; `told` hears the share that is done. Returns {promise, cancel}.
export function upload(file, told) {
  const request = new XMLHttpRequest();
  const promise = new Promise((resolve, reject) => {
    request.open("PUT", `/api/files?name=${encodeURIComponent(file.name)}`);
    request.upload.onprogress = (event) => told(event.lengthComputable ? event.loaded / event.total : null);
    request.onload = () => (request.status < 300
      ? resolve(JSON.parse(request.responseText))
      : reject(new ApiError(errorText(request.responseText, request.status), request.status)));
    request.onerror = () => reject(new ApiError(LOST, 0));
    request.onabort = () => resolve(null);
    request.send(file);
  });
  return { promise, cancel: () => request.abort() };
}

// Save what the server sends; an error is thrown, not saved.
export async function download(path) {
  const name = path.split("/").pop();
  const url = URL.createObjectURL(await (await answer(path)).blob());
  const link = element("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
  announce(`${name} is saved.`);
}

// A link that saves a file, and tells below it if that fails.
export function saveLink(path, extra = "") {
  const save = async (event) => {
    event.preventDefault();
    const link = event.currentTarget, place = link.parentElement;
    if (link.getAttribute("aria-busy")) return;
    place.querySelector(".alarm")?.remove();
    link.setAttribute("aria-busy", "true");
    await download(path).catch((error) => place.append(alarm(error.message)));
    link.removeAttribute("aria-busy");
  };
  return element("a", { class: `button ${extra}`, href: path, download: "", onclick: save }, path.split("/").pop());
}

// ---- texts

export function number(x, digits = 3) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (Number.isInteger(x)) return Math.abs(x) < 10000 ? String(x) : x.toLocaleString("en").replaceAll(",", "\u202f");
  const text = Math.abs(x) >= 1e-4 && Math.abs(x) < 1e6 ? String(Number(x.toPrecision(digits))) : x.toExponential(digits - 1);
  return text.replace("-", "−");
}

export const percent = (x) => (x === null || x === undefined ? "–" : `${Math.round(100 * x)} %`);
export const count = (n, word, many = `${word}s`) => `${number(n)} ${n === 1 ? word : many}`;

export function bytes(n) {
  if (n === null || n === undefined) return "–";
  const step = n < 1e3 ? 0 : Math.min(4, Math.floor(Math.log10(n) / 3));
  return `${Number((n / 1000 ** step).toPrecision(step ? 2 : 3))} ${["bytes", "kB", "MB", "GB", "TB"][step]}`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return "less than a second";
  if (seconds < 90) return count(Math.round(seconds), "second");
  if (seconds < 5400) return count(Math.round(seconds / 60), "minute");
  return `${number(seconds / 3600, 2)} hours`;
}

export const about = (seconds) => `${seconds < 1 ? "" : "about "}${duration(seconds)}`;

export function date(text) {
  const when = new Date(text);
  return Number.isNaN(when.getTime()) ? "" : when.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

// ---- elements

// Attributes named on... are handlers; value, checked and the like are properties; style is an object.
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made[name] = value;
    else if (name === "style") for (const [key, one] of Object.entries(value)) made.style.setProperty(key, one);
    else if (["value", "checked", "selected", "disabled", "indeterminate"].includes(name)) made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  return made;
}

// Make the children of `parent` like `fresh`, keeping the elements that stay: focus, what is
// being typed and what is unfolded are not lost. Elements are the same if they have the same
// data-key, or none and the same first class.
export function patch(parent, ...fresh) {
  const wanted = fresh.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(child)));
  const own = new Map([...parent.children].filter((child) => child.dataset.key).map((child) => [mark(child), child]));
  const left = new Map();
  for (const next of wanted) left.set(mark(next), (left.get(mark(next)) ?? 0) + 1);
  let at = parent.firstChild;
  const pass = () => {
    const node = at;
    at = at.nextSibling;
    return node;
  };
  for (const next of wanted) {
    const sign = mark(next);
    while (at && !left.get(mark(at))) pass().remove();
    left.set(sign, left.get(sign) - 1);
    const old = at && mark(at) === sign ? pass() : own.get(sign);
    own.delete(sign);
    if (!old) parent.insertBefore(next, at);
    else if (old.nextSibling !== at) parent.insertBefore(old, at);
    if (old && old !== next) become(old, next);
  }
  while (at) pass().remove();
}

const mark = (node) => `${node.nodeName} ${node.dataset?.key ? `#${node.dataset.key}` : node.classList?.[0] ?? ""}`;

const HANDLERS = ["onclick", "onchange", "oninput", "onkeydown", "onsubmit", "ontoggle", "ondragover", "ondragleave", "ondrop", "onblur"];

function become(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && name !== "open" && name !== "style") old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
  for (const name of HANDLERS) if (old[name] !== next[name]) old[name] = next[name];
  if (old.tagName !== "TEXTAREA") patch(old, ...next.childNodes);
  if ("disabled" in next && old.disabled !== next.disabled) old.disabled = next.disabled;
  if (["INPUT", "SELECT", "TEXTAREA", "PROGRESS"].includes(old.tagName)) {
    const typing = old === document.activeElement && old.matches("input:not([type=checkbox], [type=radio]), textarea");
    if (old.tagName === "PROGRESS" && !next.hasAttribute("value")) old.removeAttribute("value");
    else if (!typing && old.type !== "file" && old.value !== next.value) old.value = next.value;
    if (old.checked !== next.checked) old.checked = next.checked;
  }
}

// `spoken` tells what is meant where the text alone does not.
export function button(text, onclick, look = null, spoken = null, extra = {}) {
  return element("button", { type: "button", class: look, "aria-label": spoken, onclick, ...extra }, text);
}

export const link = (text, href, look = "", spoken = null) => element("a", { class: `button ${look}`, href, "aria-label": spoken }, text);

let unique = 0;

// A labelled control: field("Sample ids", select, "why").
export function field(label, control, hint) {
  control.id ||= control.dataset.key ? `f-${control.dataset.key}` : `f${++unique}`;
  if (hint) control.setAttribute("aria-describedby", `${control.id}-hint`);
  return element("div", { class: "field" }, element("label", { for: control.id }, label), control,
    hint && element("p", { class: "hint", id: `${control.id}-hint` }, hint));
}

export function choice(key, label, checked, onchange, extra = {}) {
  return element("label", { class: "choice" },
    element("input", { type: "checkbox", "data-key": key, checked, onchange: (event) => onchange(event.target.checked), ...extra }),
    element("span", {}, label));
}

// options: [value, text] pairs
export function select(key, options, value, onchange, extra = {}) {
  const made = element("select", { "data-key": key, onchange: (event) => onchange(event.target.value), ...extra },
    options.map(([own, text]) => element("option", { value: own }, text)));
  made.value = value;
  return made;
}

export const alarm = (text, ...more) => (text ? element("div", { class: "alarm", role: "alert" }, element("p", {}, text), ...more) : null);
export const notes = (texts) => element("ul", { class: "notes" }, texts.map((text) => element("li", {}, text)));

// Warnings; `fix(text)` gives the button that does what one proposes, if there is one.
export function warnings(texts, fix) {
  const row = (text) => {
    const remedy = fix?.(text);
    return element("li", {}, element("p", {}, remedy || !fix ? plainly(text) : text), remedy);
  };
  return texts?.length ? element("ul", { class: "warnings" }, texts.map(row)) : null;
}

// Without the clauses that name options of the command line: the page has buttons for them.
export function plainly(text) {
  const kept = text.replace(/ \(--?[a-z][\w-]*\)/g, "").split(/(?<=\.) (?=[A-Z0-9])/).map((sentence) => {
    const clauses = sentence.split("; "), option = clauses.findIndex((clause) => /(^|\s)(--[a-z]|-k\b)/.test(clause));
    return option < 0 ? sentence : option > 0 ? `${clauses.slice(0, option).join("; ")}.` : "";
  });
  return kept.filter(Boolean).join(" ") || text;
}

export function folded(title, ...children) {
  return element("details", {}, element("summary", {}, title), ...children);
}

export function table(head, rows, caption) {
  const cell = (tag, text, i, extra) => element(tag, { class: head[i]?.n ? "n" : null, ...extra }, text);
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element("table", {},
      element("thead", {}, element("tr", {}, head.map((one, i) => cell("th", one.text ?? one, i, { scope: "col" })))),
      element("tbody", {}, rows.map((row) => element("tr", {},
        row.map((text, i) => (i ? cell("td", text, i) : cell("th", text, i, { scope: "row" }))))))));
}

// A picture that came as SVG text: an image can run no script.
export function picture(svg, alt) {
  return element("img", { class: "picture", alt, src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}` });
}

// Code to copy, with its button.
export function copyable(title, text) {
  const copy = async (event) => {
    const button = event.currentTarget;
    try {
      await navigator.clipboard.writeText(text);
      announce(`${title} copied.`);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.closest(".code").querySelector("pre"));
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };
  return element("div", { class: "code" },
    element("div", { class: "bar" }, element("h3", {}, title), button("Copy", copy, "small", `Copy: ${title}`)),
    element("pre", { tabindex: 0 }, text.includes("\n") ? text : words(text)));
}

// A command is broken between its words, never within an option.
const words = (text) => text.split(" ").flatMap((word, i) => [i ? " " : "", element("span", { class: "word" }, word)]);

// A question with two answers; resolves to true or false and gives the focus back.
export function ask(question, yes) {
  return new Promise((resolve) => {
    const box = element("dialog", { "aria-label": question },
      element("form", { method: "dialog" },
        element("p", {}, question),
        element("div", { class: "row" },
          element("button", { value: "yes", class: "danger" }, yes),
          element("button", { value: "no", class: "quiet", autofocus: true }, "Keep it"))));
    box.onclose = () => {
      box.remove();
      resolve(box.returnValue === "yes");
    };
    document.body.append(box);
    box.showModal();
  });
}

export function announce(text) {
  const live = document.getElementById("live");
  live.textContent = "";
  setTimeout(() => { live.textContent = text; }, 50);
}

// What a run says of its number of clusters.
export const EVIDENCE = {
  strong: "The evidence for this number of clusters is strong.",
  weak: "The evidence for this number of clusters is weak: try its neighbours, and prefer what makes sense.",
  none: "There is no evidence for any number of clusters.",
};

export const sentence = (text) => (text ? ` ${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}` : "");

export const doneRuns = (project) => project.runs.filter((run) => run.state === "done");

// Which run a screen is about; choosing another one goes there.
export function runChooser(state, screen) {
  const runs = doneRuns(state.project);
  return field("Run", select("run", runs.map((run) => [run.id, `${run.name} (${count(run.n_clusters, "cluster")})`]), state.args[0],
    (id) => { location.hash = `#/${screen}/${id}`; }));
}

// Wait until nothing was asked for a while.
export function later(action, milliseconds = 300) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), milliseconds);
  };
}
