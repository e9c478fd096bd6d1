// Routes, steps, the job bar, and the state that every screen gets:
//   state.project      as GET /api/project gave it last
//   state.refresh()    asks again, and draws steps and job bar anew
//   state.args         what follows the screen's name in the address: #/explore/r1 -> ["r1"]
//   state.run          the run that was looked at last, or the newest one
//   state.follow(job)  draws its progress; resolves to the job when it is done, failed or cancelled
// A screen exports show(root, state) and leave(); `root` is empty when it is called.
import { about, alarm, announce, button, doneRuns, duration, element, get, link, patch, percent, send } from "./api.js";

const STEPS = [
  ["files", "Tables", () => import("./files.js")],
  ["missing", "What is missing", () => import("./missing.js")],
  ["cluster", "Cluster", () => import("./cluster.js")],
  ["explore", "Explore", () => import("./explore.js"), 1],
  ["compare", "Compare", () => import("./compare.js"), 2],
  ["predict", "New samples", () => import("./predict.js"), 1],
  ["take", "Take away", () => import("./takeaway.js"), 1],
];
const SHOWN_BY = { cluster: "explore", split: "explore", predict: "predict" };
const ACTIVE = ["waiting", "running"];

const main = document.getElementById("main"), bar = document.getElementById("jobs");
const seen = new Map(), awaited = new Map(), ended = new Set();
let screen = null, here = "", turn = 0, polling = false;

const state = { project: null, args: [], run: null, refresh, follow };

async function refresh() {
  state.project = await get("/api/project");
  const done = runs();
  if (!done.some((run) => run.id === state.run)) state.run = newest()?.id ?? null;
  drawFrame();
  told(state.project.jobs);
  if (state.project.jobs.some((job) => ACTIVE.includes(job.state))) poll();
  return state.project;
}

const runs = () => (state.project ? doneRuns(state.project) : []);
const newest = () => runs().reduce((best, run) => (!best || run.created > best.created ? run : best), null);

// ---- steps and routes

function address(name, needs) {
  if (!needs || !state.run) return `#/${name}`;
  if (needs === 1) return `#/${name}/${state.run}`;
  const other = runs().filter((run) => run.id !== state.run).at(-1);
  return other ? `#/${name}/${other.id}/${state.run}` : `#/${name}`;
}

function drawFrame() {
  const { folder } = state.project;
  patch(document.getElementById("folder"), element("span", { class: "unseen" }, "Project folder: "), element("bdi", { title: folder }, folder));
  patch(document.getElementById("steps"), element("ol", {}, STEPS.map(([name, title, , needs = 0]) => element("li", {},
    element("a", {
      href: address(name, needs), "aria-current": name === here ? "page" : null,
      class: runs().length < needs ? "later" : null,
    }, title)))));
  const list = document.querySelector("#steps ol"), current = list.querySelector("[aria-current]");
  if (current) list.scrollLeft = current.offsetLeft - list.offsetLeft - (list.clientWidth - current.offsetWidth) / 2;
}

async function route() {
  if (location.hash === "#main") return;
  const [name, ...args] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const step = STEPS.find(([own]) => own === name);
  if (!step) return location.replace("#/files");
  const mine = ++turn;
  screen?.leave?.();
  screen = null;
  const moved = here !== "";
  here = name;
  state.args = args.filter(Boolean);
  document.title = `${step[1]} – imvc studio`;
  main.className = `screen-${name}`;
  try {
    if (!state.project) await refresh();
    const needs = step[3] ?? 0;
    if (needs && !state.args.length && runs().length >= needs) return location.replace(address(name, needs));
    if (needs === 1 && runs().some((run) => run.id === state.args[0])) state.run = state.args[0];
    drawFrame();
    const root = element("div", { class: "screen" });
    main.replaceChildren(root);
    if (moved) main.focus({ preventScroll: true });
    scrollTo(0, 0);
    if (runs().length < needs) return root.append(nothingYet(step[1], needs));
    const module = await step[2]();
    if (mine !== turn) return module;
    screen = module;
    await module.show(root, state);
  } catch (error) {
    if (mine === turn) main.replaceChildren(element("h1", {}, step[1]), alarm(error.message));
    if (!error.status && error.name !== "ApiError") console.warn(error);
  }
}

function nothingYet(title, needs) {
  const own = runs().length;
  return element("div", { class: "nothing" }, element("h1", {}, title),
    element("p", { class: "lead" }, needs === 1 ? "There is no finished run yet."
      : `Two runs are compared here, and there ${own ? "is one" : "is none"} yet.`),
    element("p", {}, link(own ? "Make another run" : "Cluster your tables", "#/cluster")));
}

// ---- jobs

function follow(job) {
  const promise = new Promise((resolve) => awaited.set(job.id, resolve));
  told([job, ...(state.project?.jobs ?? []).filter((one) => one.id !== job.id)]);
  poll();
  return promise;
}

// Every half second while something runs; when the studio is gone, less and less often.
async function poll() {
  if (polling) return;
  polling = true;
  for (let wait = 500; ;) {
    await new Promise((resolve) => { setTimeout(resolve, wait); });
    try {
      const jobs = await get("/api/jobs");
      wait = 500;
      told(jobs);
      if (!jobs.some((job) => ACTIVE.includes(job.state))) break;
    } catch (error) {
      wait = Math.min(2 * wait, 10000);
      drawBar(error.message);
    }
  }
  polling = false;
}

function told(jobs) {
  if (state.project) state.project.jobs = jobs;
  let changed = false;
  for (const job of jobs) {
    const before = seen.get(job.id);
    seen.set(job.id, job.state);
    if (ACTIVE.includes(job.state)) continue;
    if (before && ACTIVE.includes(before)) {
      changed = true;
      ended.add(job.id);
      announce(job.state === "failed" ? `${job.name}: ${job.error}` : `${job.name} ${job.state === "done" ? "is ready" : "was cancelled"}.`);
    }
  }
  drawBar();
  if (changed) settle(jobs);
}

// The run of a job that ended is in the project before anybody is told.
async function settle(jobs) {
  try {
    state.project = await get("/api/project");
    const done = jobs.find((job) => job.kind === "cluster" && job.state === "done" && ended.has(job.id));
    if (done?.run) state.run = done.run;
    drawFrame();
  } catch { /* the bar tells when the studio is gone */ }
  for (const job of jobs) {
    if (ACTIVE.includes(job.state)) continue;
    if (here === SHOWN_BY[job.kind] && awaited.has(job.id) && job.state === "done") ended.delete(job.id);  // the screen shows it
    awaited.get(job.id)?.(job);
    awaited.delete(job.id);
  }
  drawBar();
  document.dispatchEvent(new CustomEvent("project"));
}

function drawBar(trouble) {
  const jobs = state.project?.jobs ?? [];
  const active = jobs.filter((job) => ACTIVE.includes(job.state)).reverse();
  const over = jobs.filter((job) => job.state === "failed" || (ended.has(job.id) && job.state === "done"));
  bar.hidden = !trouble && !active.length && !over.length;
  document.body.classList.toggle("with-jobs", !bar.hidden);
  const inside = bar.contains(document.activeElement);
  patch(bar, trouble && element("p", { class: "bad", "data-key": "trouble" }, trouble), over.slice(0, 2).map(endedRow), active.map(activeRow));
  if (inside && !bar.contains(document.activeElement)) main.focus({ preventScroll: true });
}

function activeRow(job) {
  const parts = [job.state === "waiting" ? "waits for its turn" : job.stage,
    job.total > 1 && `${job.done} of ${job.total}`,
    job.share !== null && percent(job.share),
    job.left !== null && job.state === "running" && `${about(job.left)} left`].filter(Boolean);
  return element("div", { class: "job", "data-key": job.id },
    element("p", {}, element("strong", {}, job.name), element("span", {}, parts.join(" · "))),
    element("progress", { "aria-label": `Progress of ${job.name}`, max: 1, value: job.state === "running" ? job.share : null }),
    button("Cancel", () => act("POST", `/api/jobs/${job.id}/cancel`), "small", `Cancel ${job.name}`));
}

function endedRow(job) {
  const bad = job.state === "failed";
  return element("div", { class: `job ${bad ? "bad" : "good"}`, "data-key": job.id },
    element("p", {}, element("strong", {}, job.name),
      element("span", {}, bad ? job.error : `is ready, after ${duration(job.seconds)}`)),
    !bad && job.run && element("a", { class: "button small", href: `#/${SHOWN_BY[job.kind]}/${job.run}`, onclick: () => forget(job) }, "Look at it"),
    button("Close", () => forget(job), "small quiet", `Close the message about ${job.name}`));
}

function forget(job) {
  ended.delete(job.id);
  if (job.state === "failed") act("DELETE", `/api/jobs/${job.id}`);
  else drawBar();
}

async function act(method, path) {
  try {
    told(await send(method, path));
  } catch (error) {
    drawBar(error.message);
  }
}

document.querySelector(".skip").onclick = (event) => {
  event.preventDefault();
  main.focus();
};
for (const type of ["dragover", "drop"]) addEventListener(type, (event) => event.preventDefault());  // a file dropped beside is not opened
addEventListener("hashchange", route);
if (!STEPS.some(([name]) => location.hash.startsWith(`#/${name}`))) history.replaceState(null, "", "#/files");
route();
