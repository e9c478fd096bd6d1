"use strict";
// The leaderboard: every number is computed here from the runs in the page, so that all
// tables and pictures follow the filters. Names only ever become text nodes.
(function () {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("board").textContent);
  const FIELDS = ["dataset", "method", "protocol", "reason", "status", "rate", "draw",
    "missing", "complete", "seconds", "processor", "memory", "leakage"];
  const runs = data.runs.map((row) => {
    const run = Object.fromEntries(FIELDS.map((name, i) => [name, row[i]]));
    return { ...run, scores: row.slice(FIELDS.length) };
  });
  const SIGNS = { timeout: "time", memory: "memory", failed: "error" };
  const FILTERS = ["protocol", "rate", "kind", "score"];
  const START = { protocol: "", rate: "", kind: "", score: data.metrics[0]?.name ?? "",
    first: "", second: "", sort: "", down: "", cost: "", costdown: "" };
  let state, view, computed;

  // ---- small tools

  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const mean = (values) => (values.length ? sum(values) / values.length : null);
  const known = (values) => values.filter((value) => value !== null && value !== undefined);
  const rounded = (value, digits) => Math.round(value * 10 ** digits) / 10 ** digits;
  const fixed = (value, digits) => (value === null ? "–" : value.toFixed(digits).replace("-", "−"));
  const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  const isolated = (name) => `\u2068${name}\u2069`;  // a name of another direction stays apart
  const cut = (name, most) => ([...name].length > most ? [...name].slice(0, most - 1).join("") + "…" : name);

  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `12.5px ${getComputedStyle(document.body).fontFamily}`;
  const widthOf = (text) => pen.measureText(text).width;

  function median(values) {
    const sorted = Float64Array.from(values).sort(), n = sorted.length;
    return n ? (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2 : null;
  }

  function deviation(values) {
    if (values.length < 2) return null;
    const centre = mean(values);
    return Math.sqrt(sum(values.map((value) => (value - centre) ** 2)) / (values.length - 1));
  }

  function digits3(value) {
    if (value === null) return "–";
    return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
  }

  function span(values, text) {
    if (!values.length) return "not known";
    const ends = [Math.min(...values), Math.max(...values)].map(text);
    return ends[0] === ends[1] ? ends[0] : `${ends[0]}–${ends[1]}`;
  }

  const percents = (values) => span(values, (share) => (100 * share).toFixed(1)) + " %";

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    return filled(element, attributes, children);
  }

  function draw(tag, attributes, ...children) {
    return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  }

  function filled(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  const named = (name) => make("bdi", { class: "long", title: name }, name);

  // ---- statistics; the same as imvc.experiments

  function cellOf(own, metric) {
    const draws = new Map(), ok = [];
    for (const run of own) {
      const value = run.status === "ok" ? run.scores[metric] : null;
      if (value === null || value === undefined) continue;
      ok.push(value);
      draws.set(run.draw, [...(draws.get(run.draw) ?? []), value]);
    }
    const parts = [...draws.values()];
    const whole = parts.every((part) => part.length === parts[0].length);
    const bad = own.filter((run) => run.status !== "ok");
    return {
      n: own.length, ok: ok.length, bad, mean: mean(ok),
      sd: whole ? deviation(parts.map(mean)) : null,
      counted: ok.length ? rounded(sum(ok) / own.length, 8) : -1,
      why: ok.length ? "" : SIGNS[bad[0]?.status] ?? "score",
      seconds: median(known(own.filter((run) => run.status === "ok").map((run) => run.processor))),
    };
  }

  function ranksOf(values) {
    return values.map((own) => {
      const above = values.filter((value) => value > own).length;
      const equal = values.filter((value) => value === own).length;
      return above + (equal + 1) / 2;
    });
  }

  function friedman(ranks, k) {
    const n = ranks.length;
    let tied = 0;
    for (const row of ranks) {
      for (const rank of new Set(row)) {
        const t = row.filter((other) => other === rank).length;
        tied += t ** 3 - t;
      }
    }
    const correction = 1 - tied / (k * (k * k - 1) * n);
    if (correction <= 0) return 1;
    const squares = Array.from({ length: k }, (_, j) => sum(ranks.map((row) => row[j])) ** 2);
    const statistic = ((12 / (k * n * (k + 1))) * sum(squares) - 3 * n * (k + 1)) / correction;
    return chiSquareAbove(statistic, k - 1);
  }

  // The series of the incomplete gamma function; half-integer gammas by recurrence.
  function chiSquareAbove(x, df) {
    if (x <= 0) return 1;
    const a = df / 2;
    let logGamma = df % 2 ? Math.log(Math.PI) / 2 : 0;
    for (let b = df % 2 ? 0.5 : 1; b < a + 0.5; b++) logGamma += Math.log(b);
    let term = Math.exp(a * Math.log(x / 2) - x / 2 - logGamma), total = 0;
    for (let i = 1; i < 5000 && term > 1e-17 * total; i++) {
      total += term;
      term *= x / 2 / (a + i);
    }
    return Math.max(0, 1 - total);
  }

  const kept = new Map();
  function weightsOf(size) {
    if (kept.has(size)) return kept.get(size);
    const rows = [];
    let a = data.test.seed;
    const uniform = () => {
      a = (a + 0x6d2b79f5) >>> 0;
      let t = Math.imul(a ^ (a >>> 15), a | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 2 ** 32;
    };
    for (let s = 0; s < data.test.draws; s++) {
      const row = new Float64Array(size);
      row[0] = -Math.log(uniform()) * Math.cos(2 * Math.PI * uniform()) ** 2;
      for (let i = 1; i < size; i++) row[i] = -Math.log(uniform());
      rows.push(row);
    }
    kept.set(size, rows);
    return rows;
  }

  function signedRank(differences) {
    const { rope, draws } = data.test, size = differences.length + 1;
    const z = [0, ...differences], order = z.map((_, i) => i).sort((i, j) => z[i] - z[j]);
    // In ascending order the partners whose mean with i is above the rope come last.
    const meanOf = (i, j) => rounded((z[order[i]] + z[order[j]]) / 2, 10);
    const above = order.map((_, i) => order.filter((__, j) => meanOf(i, j) <= rope).length);
    const below = order.map((_, i) => order.filter((__, j) => meanOf(i, j) < -rope).length);
    const before = new Float64Array(size + 1);
    let better = 0, worse = 0;
    for (const weights of weightsOf(size)) {
      for (let i = 0; i < size; i++) before[i + 1] = before[i] + weights[order[i]];
      const total = before[size];
      let up = 0, down = 0;
      for (let i = 0; i < size; i++) {
        const weight = weights[order[i]];
        up += weight * (total - before[above[i]]);
        down += weight * before[below[i]];
      }
      const within = total * total - up - down;
      if (up > within && up > down) better++;
      else if (down > within && down >= up) worse++;
    }
    return { better: better / draws, equal: 1 - (better + worse) / draws, worse: worse / draws };
  }

  function pairOf(values, i, j) {
    const differences = values.map((row) => rounded(row[i] - row[j], 10));
    const wins = differences.filter((d) => d > data.test.rope).length;
    const losses = differences.filter((d) => d < -data.test.rope).length;
    return { wins, losses, ties: differences.length - wins - losses, ...signedRank(differences) };
  }

  const mirrored = (pair) => ({ wins: pair.losses, ties: pair.ties, losses: pair.wins,
    better: pair.worse, equal: pair.equal, worse: pair.better });

  const maskOf = (run) => [run.dataset, run.protocol, run.rate, run.draw].join(" ");

  // ---- from the filters to all numbers

  function compute() {
    const metric = data.metrics.findIndex((one) => one.name === state.score);
    const chosen = runs.filter((run) =>
      (state.protocol === "" || data.protocols[run.protocol].name === state.protocol) &&
      (state.rate === "" || String(run.rate) === state.rate) &&
      (state.kind === "" || data.datasets[run.dataset].kind === state.kind) &&
      !state.datasets.has(data.datasets[run.dataset].name) &&
      !state.methods.has(data.methods[run.method]));
    const places = new Map();
    for (const run of chosen) {
      const place = run.dataset * data.methods.length + run.method;
      if (!places.has(place)) places.set(place, []);
      places.get(place).push(run);
    }
    const there = (name, all) => all.map((_, i) => i).filter((i) => chosen.some((run) => run[name] === i));
    const datasets = there("dataset", data.datasets), methods = there("method", data.methods);
    const at = (d, m) => places.get(d * data.methods.length + m) ?? [];
    const cells = datasets.map((d) => {
      const row = methods.map((m) => (at(d, m).length ? cellOf(at(d, m), metric) : null));
      const full = Math.max(...row.map((cell) => cell?.n ?? 0));
      return row.map((cell) => cell && { ...cell, part: cell.ok < full });
    });
    // Only masks that all methods were run on can be compared.
    const ran = new Map();
    for (const run of chosen) {
      if (!ran.has(maskOf(run))) ran.set(maskOf(run), new Set());
      ran.get(maskOf(run)).add(run.method);
    }
    const shared = (run) => ran.get(maskOf(run)).size === methods.length;
    const common = datasets.map((_, i) => i).filter((i) => at(datasets[i], methods[0]).some(shared));
    const values = common.map((i) => methods.map((m) => cellOf(at(datasets[i], m).filter(shared), metric).counted));
    const ranks = values.map(ranksOf), k = methods.length, n = values.length;
    const rank = methods.map((_, j) => mean(ranks.map((row) => row[j])));
    const pairs = methods.map(() => []);
    for (let i = 0; i < k && n; i++) {
      for (let j = i + 1; j < k; j++) {
        pairs[i][j] = pairOf(values, i, j);
        pairs[j][i] = mirrored(pairs[i][j]);
      }
    }
    return {
      chosen, datasets, methods, cells, common, values, rank, pairs, n, k,
      order: methods.map((_, j) => j).sort((a, b) => rank[a] - rank[b]),
      p: k > 2 && n > 1 ? friedman(ranks, k) : null,
      difference: k > 1 && n > 1 ? data.nemenyi[k - 2] * Math.sqrt((k * (k + 1)) / (6 * n)) : null,
      rows: methods.map((m, j) => rowOf(m, j, chosen, cells, rank, datasets)),
    };
  }

  function rowOf(m, j, chosen, cells, rank, datasets) {
    const own = chosen.filter((run) => run.method === m), ok = own.filter((run) => run.status === "ok");
    const column = cells.map((row) => row[j]), full = column.filter((cell) => cell?.ok);
    const spreads = column.map((cell) => cell?.sd ?? null), times = known(full.map((cell) => cell.seconds));
    const worst = Math.max(...known(spreads));
    return {
      name: data.methods[m], index: j, rank: rank[j], mean: mean(full.map((cell) => cell.mean)),
      cells: column, lacks: full.length < datasets.length,
      processor: median(known(ok.map((run) => run.processor))),
      seconds: median(known(ok.map((run) => run.seconds))),
      memory: median(known(ok.map((run) => run.memory)).filter((bytes) => bytes > 0)),
      pace: times.length ? Math.exp(mean(times.map((time) => Math.log(Math.max(time, 1e-3))))) : null,
      sd: mean(known(spreads)), worst: Number.isFinite(worst) ? worst : null,
      where: Number.isFinite(worst) ? data.datasets[datasets[spreads.indexOf(worst)]].name : "",
      leakage: mean(known(ok.map((run) => run.leakage))), failed: own.length - ok.length, n: own.length,
    };
  }

  // ---- tables

  // Rows in the order of a column; what has no value comes last either way.
  function sorted(rows, column, down) {
    const weight = (row) => { const value = column.value(row); return value === "" ? null : value; };
    return [...rows].sort((a, b) => {
      const [x, y] = [weight(a), weight(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      const side = typeof x === "string" ? (x < y ? -1 : x > y ? 1 : 0) : x - y;
      return down ? -side : side;
    });
  }

  function sortable(id, columns, keys) {
    const table = $(id), active = document.activeElement?.closest(`#${id} button`)?.dataset.key;
    const chosen = columns.find((column) => column.key === state[keys[0]]) ?? columns[1];
    const down = state[keys[1]] === "" ? chosen.down : state[keys[1]] === "1";
    const heads = columns.map((column) => {
      const button = make("button", { type: "button", "data-key": column.key, title: column.title ?? column.name }, column.name);
      button.addEventListener("click", () => {
        const again = column === chosen;
        change({ [keys[0]]: column.key, [keys[1]]: (again ? !down : column.down) ? "1" : "0" });
      });
      const sort = column === chosen ? (down ? "descending" : "ascending") : null;
      return make("th", { scope: "col", class: column.text ? null : "n", "aria-sort": sort }, button);
    });
    const body = sorted(view.rows, chosen, down).map((row) => make("tr", {}, ...columns.map((column) => column.cell(row))));
    table.replaceChildren(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body));
    if (active !== undefined) [...table.querySelectorAll("button")].find((b) => b.dataset.key === active)?.focus();
  }

  function column(key, name, value, text, options = {}) {
    const cell = (row) => {
      const best = options.best !== undefined && value(row) !== null && value(row) === options.best;
      const end = best ? [make("span", { class: "hidden" }, " best")] : [];
      return make("td", { class: best ? "n best" : "n" }, ...[text(row)].flat(), ...end);
    };
    return { key, name, value, cell, down: false, ...options };
  }

  const most = (values) => (known(values).length ? Math.max(...known(values)) : undefined);
  const least = (values) => (known(values).length ? Math.min(...known(values)) : undefined);
  const methodColumn = () => ({ key: "method", name: "Method", text: true, down: false,
    value: (row) => row.name, cell: (row) => make("th", { scope: "row" }, named(row.name)) });

  function scoreTable() {
    const metric = data.metrics.find((one) => one.name === state.score)?.title ?? "score";
    const ofDatasets = view.datasets.map((d, i) => datasetColumn(data.datasets[d], i));
    const whole = view.rows.filter((row) => !row.lacks).map((row) => row.mean);
    sortable("scores", [
      methodColumn(),
      column("rank", "Mean rank", (row) => row.rank, (row) => fixed(row.rank, 2), { best: least(view.rows.map((row) => row.rank)) }),
      column("mean", `Mean ${metric}`, (row) => row.mean,
        (row) => (row.mean === null ? "–" : fixed(100 * row.mean, 1) + (row.lacks ? "*" : "")), { down: true, best: most(whole) }),
      column("processor", "Processor s", (row) => row.processor, (row) => digits3(row.processor), { title: "Median processor seconds" }),
      column("failed", "No result", (row) => row.failed, (row) => (row.failed ? `${row.failed} of ${row.n}` : "0"), { down: true, title: "Runs without a result" }),
      ...ofDatasets,
    ], ["sort", "down"]);
  }

  function datasetColumn(dataset, i) {
    const best = most(view.rows.map((row) => row.cells[i]?.mean));
    const plain = column(`= ${dataset.name}`, dataset.name, (row) => row.cells[i]?.mean ?? null, (row) => {
      const cell = row.cells[i];
      const spread = cell.sd === null ? [] : [make("span", { class: "sd" }, ` ± ${fixed(100 * cell.sd, 1)}`)];
      return [fixed(100 * cell.mean, 1), ...spread, cell.part ? "*" : ""];
    }, { down: true, best, title: `${dataset.name} (${dataset.kind})` });
    const cell = (row) => {
      const found = row.cells[i];
      if (found?.ok) return plain.cell(row);
      const why = found ? [...new Set(found.bad.map((run) => data.reasons[run.reason]))].join("\n") : "not run";
      return make("td", { class: "n out", title: why }, found ? `– ${found.why}` : "");
    };
    return { ...plain, cell };
  }

  function costTable() {
    const bar = (value, top, text) => [value === null || !top ? "" : make("span", { class: "amount", style: `--w:${(46 * Math.max(0, value)) / top}` }), text];
    const points = (value) => (value === null ? "–" : fixed(100 * value, 1));
    const top = most(view.rows.map((row) => row.worst)), leak = most(view.rows.map((row) => row.leakage));
    const of = (name) => (row) => row[name];
    sortable("cost", [
      methodColumn(),
      column("processor", "Processor s", of("processor"), (row) => digits3(row.processor)),
      column("seconds", "Wall s", of("seconds"), (row) => digits3(row.seconds)),
      column("memory", "Peak MB", of("memory"), (row) => digits3(row.memory === null ? null : row.memory / 1e6)),
      column("sd", "Mean sd", of("sd"), (row) => bar(row.sd, top, points(row.sd))),
      column("worst", "Worst sd", of("worst"), (row) => bar(row.worst, top, points(row.worst))),
      column("where", "where", of("where"), (row) => named(row.where)),
      column("leakage", "Leakage", of("leakage"), (row) => bar(row.leakage, leak, fixed(row.leakage, 3))),
    ], ["cost", "costdown"]);
  }

  function plainTable(table, heads, rows) {
    const side = (text) => (typeof text === "string" && /^[+−–\d]/.test(text) ? "n" : null);
    const head = heads.map((name, i) => make("th", { scope: "col", class: side(rows[0]?.[i]) }, name));
    const cell = (text, i) => make(i ? "td" : "th", { class: side(text), scope: i ? null : "row" }, text);
    table.replaceChildren(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))));
  }

  function failureTable() {
    const found = new Map();
    for (const run of view.chosen.filter((one) => one.status !== "ok")) {
      const key = [run.method, run.dataset, run.status, run.reason].join(" ");
      found.set(key, { run, n: (found.get(key)?.n ?? 0) + 1 });
    }
    const total = sum([...found.values()].map((one) => one.n));
    $("failures").hidden = !total;
    $("failures").querySelector("summary").textContent = `${count(total, "run")} without a result, and why`;
    plainTable($("failures").querySelector("table"), ["Method", "Dataset", "Runs", "Status", "Reason"],
      [...found.values()].map(({ run, n }) => [named(data.methods[run.method]), named(data.datasets[run.dataset].name),
        String(n), run.status, make("bdi", {}, cut(data.reasons[run.reason], 600))]));
  }

  function maskTable() {
    const found = new Map();
    for (const run of view.chosen) {
      const key = `${run.protocol} ${run.rate}`;
      found.set(key, [...(found.get(key) ?? []), run]);
    }
    const rows = [...found.values()].sort((a, b) => a[0].protocol - b[0].protocol || a[0].rate - b[0].rate);
    plainTable($("masks"), ["Protocol", "Nominal rate", "Missing entries", "Complete samples", "Runs"], rows.map((own) => [
      named(data.protocols[own[0].protocol].name), own[0].rate ? String(own[0].rate) : "–",
      percents(known(own.map((run) => run.missing))), percents(known(own.map((run) => run.complete))), String(own.length)]));
    const protocols = [...new Set(rows.map((own) => own[0].protocol))].map((i) => data.protocols[i]);
    $("definitions").replaceChildren(...protocols.flatMap((one) => [make("dt", {}, one.name), make("dd", {}, one.definition)]));
  }

  // ---- words

  function words() {
    const { chosen, n, k, rank, order, difference } = view;
    const bad = chosen.filter((run) => run.status !== "ok").length;
    const facts = [[String(view.datasets.length), "datasets"], [String(k), "methods"], [String(chosen.length), `runs, ${bad} without a result`],
      [percents(known(chosen.map((run) => run.missing))), `of the entries missing${state.rate ? ` (nominal rate ${state.rate})` : ""}`],
      [percents(known(chosen.map((run) => run.complete))), "of the samples complete"]];
    if (n && k > 1) facts.unshift([cut(data.methods[view.methods[order[0]]], 40), `best mean rank: ${fixed(rank[order[0]], 2)}`]);
    $("chosen").replaceChildren(...(chosen.length ? facts.map(([value, name]) => make("li", {}, make("strong", {}, named(value)), name)) : [make("li", {}, "No run is left by these filters.")]));
    const told = [];
    if (n && k > 1) {
      const best = order[0], name = (j) => isolated(data.methods[view.methods[j]]);
      told.push(`${name(best)} has the best mean rank, ${fixed(rank[best], 2)} of ${k} on ${count(n, "dataset")}.`);
      if (difference !== null) {
        const near = order.slice(1).filter((j) => rank[j] - rank[best] < difference);
        told.push(near.length ? `By rank alone it cannot be told apart from ${near.map(name).join(", ")}.` : "All others are worse by more than the critical difference.");
      }
      const likely = order.slice(1).filter((j) => view.pairs[best][j].better >= 0.95);
      told.push(`With a probability of 0.95 or more it is better than ${likely.length} of the ${k - 1} others by over a point.`);
    }
    if (n < view.datasets.length) told.push(`Ranks and pairs leave out ${count(view.datasets.length - n, "dataset")} without a mask that all of these methods were run on.`);
    else if (view.cells.some((row) => row.some((cell) => !cell || cell.n < Math.max(...row.map((one) => one?.n ?? 0))))) told.push("Ranks and pairs use only the masks that all of these methods were run on.");
    $("words").textContent = told.join(" ");
    $("friedman").textContent = difference === null ? "Tests over datasets need two of them at least." :
      `Critical difference ${fixed(difference, 2)} with ${count(k, "method")} on ${count(n, "dataset")}.` +
      (view.p === null ? "" : ` Probability of such ranks if all were equally good (Friedman): ${view.p < 0.0001 ? "below 0.0001" : fixed(view.p, 4)}.`);
  }

  // ---- pictures

  function picture(id, height, label, marks) {
    const width = pictureWidth(id);
    $(id).replaceChildren(draw("svg", { role: "img", "aria-label": label, width, height, viewBox: `0 0 ${width} ${height}` }, ...marks));
  }

  const pictureWidth = (id) => Math.max(280, Math.min(860, $(id).clientWidth || 720));
  const text = (x, y, anchor, content, kind) => draw("text", { x, y, "text-anchor": anchor, class: kind ?? null }, content);
  const line = (x1, y1, x2, y2, kind) => draw("line", { x1, y1, x2, y2, class: kind ?? null });

  function groups() {
    const { order, rank, difference } = view, found = [];
    order.forEach((j, i) => {
      let end = i;
      while (end + 1 < order.length && rank[order[end + 1]] - rank[j] < difference) end++;
      if (end > i && (!found.length || end > found[found.length - 1][1])) found.push([i, end]);
    });
    return found;
  }

  function rankPicture() {
    const { order, rank, difference, k } = view;
    if (difference === null) return void $("ranks").replaceChildren();
    const width = pictureWidth("ranks"), names = order.map((j) => data.methods[view.methods[j]]);
    // On a narrow screen all names stand on one side, and the axis has the rest.
    const narrow = width < 560, half = narrow ? k : Math.ceil(k / 2), shown = names.map((name) => cut(name, narrow ? 18 : width < 700 ? 17 : 26));
    const margin = Math.max(...shown.map((name) => widthOf(`${name}  00.00`))) + 14;
    const right = narrow ? width - 12 : width - margin;
    const at = (value) => margin + ((value - 1) / (k - 1)) * (right - margin);
    const joined = groups(), axis = 58, first = axis + 16 + 9 * joined.length;
    const marks = [line(at(1), axis, at(k), axis)];
    const every = Math.ceil((k - 1) / Math.max(1, (right - margin) / 26));
    for (let value = 1; value <= k; value += every) {
      marks.push(line(at(value), axis - 6, at(value), axis), text(at(value), axis - 10, "middle", String(value), "quiet"));
    }
    const end = Math.min(at(1 + difference), width - 2);
    marks.push(line(at(1), 12, end, 12, "difference"), line(at(1), 7, at(1), 17, "difference"), line(end, 7, end, 17, "difference"),
      text(at(1), 29, "start", `critical difference ${fixed(difference, 2)}`, "quiet"));
    order.forEach((j, i) => {
      const left = i < half, y = first + 18 * (left ? i : k - 1 - i) + 8, x = at(rank[j]);
      const edge = left ? margin - 6 : right + 6, label = isolated(shown[i]);
      const told = left ? `${label}  ${fixed(rank[j], 2)}` : `${fixed(rank[j], 2)}  ${label}`;
      marks.push(draw("path", { d: `M${x} ${axis}V${y}H${edge}` }), filled(text(edge + (left ? -4 : 4), y + 4, left ? "end" : "start", told), {}, [draw("title", {}, names[i])]));
    });
    joined.forEach(([a, b], i) => marks.push(line(at(rank[order[a]]) - 3, axis + 9 + 9 * i, at(rank[order[b]]) + 3, axis + 9 + 9 * i, "joined")));
    const told = names.map((name, i) => `${name} ${fixed(rank[order[i]], 2)}`).join(", ");
    picture("ranks", first + 18 * half + 14, `Mean ranks: ${told}. Critical difference ${fixed(difference, 2)}.`, marks);
  }

  function logTicks(low, high) {
    const steps = Math.log10(high / low) < 2 ? [1, 2, 5] : [1], ticks = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) ticks.push(...steps.map((s) => s * 10 ** e));
    return ticks.filter((tick) => tick >= low && tick <= high);
  }

  function linearTicks(low, high) {
    const step = [1, 2, 5, 10, 20, 50].find((s) => (high - low) / s <= 7), ticks = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick);
    return ticks;
  }

  // The first place around a mark where its name covers no other name and no mark.
  function placed(spots, x, y, width, bounds) {
    const tries = [[8, 4, "start"], [-8, 4, "end"], [0, -9, "middle"], [0, 17, "middle"], [8, -7, "start"], [8, 15, "start"], [-8, -7, "end"], [-8, 15, "end"], [10, -18, "start"], [10, 27, "start"], [-10, -18, "end"], [-10, 27, "end"]];
    let best = null;
    for (const [dx, dy, anchor] of tries) {
      const left = x + dx - (anchor === "end" ? width : anchor === "middle" ? width / 2 : 0);
      const box = [left, y + dy - 10, left + width, y + dy + 3];
      const hits = spots.filter((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3]).length +
        (box[0] < bounds[0] || box[2] > bounds[2] || box[1] < bounds[1] || box[3] > bounds[3] ? 5 : 0);
      if (!best || hits < best.hits) best = { hits, box, x: x + dx, y: y + dy, anchor };
    }
    spots.push(best.box);
    return best;
  }

  function timePicture() {
    const shown = view.rows.filter((row) => row.mean !== null && row.pace !== null);
    if (!shown.length) return void $("time").replaceChildren(make("p", {}, "No run that ended well is left by these filters."));
    const width = pictureWidth("time"), height = Math.max(300, Math.min(440, 0.6 * width));
    const times = shown.map((row) => row.pace), scores = shown.map((row) => 100 * row.mean);
    const low = Math.min(...times) / 1.5, high = Math.max(...times) * 1.5;
    const foot = Math.max(-100, Math.min(...scores) - 3), top = Math.max(...scores) + 3;
    const bounds = [46, 8, width - 8, height - 42];
    const atX = (t) => bounds[0] + (Math.log(t / low) / Math.log(high / low)) * (bounds[2] - bounds[0]);
    const atY = (s) => bounds[3] - ((s - foot) / (top - foot)) * (bounds[3] - bounds[1]);
    const marks = linearTicks(foot, top).flatMap((tick) => [line(bounds[0], atY(tick), bounds[2], atY(tick), "grid"), text(bounds[0] - 7, atY(tick) + 4, "end", String(tick), "quiet")]);
    marks.push(...logTicks(low, high).flatMap((tick) => [line(atX(tick), bounds[1], atX(tick), bounds[3], "grid"), text(atX(tick), bounds[3] + 17, "middle", String(Number(tick.toPrecision(1))), "quiet")]));
    marks.push(text((bounds[0] + bounds[2]) / 2, height - 6, "middle", "processor seconds of a fit", "quiet"), text(bounds[0] + 4, bounds[1] + 12, "start", `${data.metrics.find((one) => one.name === state.score).title} (%)`, "quiet"));
    const front = frontOf(shown);
    if (front.length > 1) marks.push(draw("path", { class: "front", d: front.map((row, i) => `${i ? "L" : "M"}${atX(row.pace)} ${atY(100 * row.mean)}`).join("") }));
    const spots = shown.map((row) => [atX(row.pace) - 5, atY(100 * row.mean) - 5, atX(row.pace) + 5, atY(100 * row.mean) + 5]);
    for (const row of [...shown].sort((a, b) => front.includes(b) - front.includes(a) || b.mean - a.mean)) {
      const x = atX(row.pace), y = atY(100 * row.mean), label = cut(row.name, 20);
      const kind = row.lacks ? "part" : front.includes(row) ? "first" : null;
      const about = `${isolated(row.name)}: ${fixed(100 * row.mean, 1)} %, ${digits3(row.pace)} s${row.lacks ? ", without some datasets" : ""}`;
      const spot = placed(spots, x, y, widthOf(label) + 2, bounds);
      marks.push(draw("circle", { cx: x, cy: y, r: 5, class: kind }, draw("title", {}, about)), text(spot.x, spot.y, spot.anchor, label));
    }
    picture("time", height, `Score against processor seconds. Not beaten in both: ${front.map((row) => row.name).join(", ") || "none"}.`, marks);
  }

  function frontOf(shown) {
    const front = [];
    for (const row of shown.filter((one) => !one.lacks).sort((a, b) => a.pace - b.pace || b.mean - a.mean)) {
      if (!front.length || row.mean > front[front.length - 1].mean) front.push(row);
    }
    return front;
  }

  // ---- pairs

  function pairTable() {
    const { order, methods, pairs, n } = view, [first, second] = pairChosen();
    const name = (j) => data.methods[methods[j]];
    if (!n || order.length < 2) {
      $("pair").textContent = "A pair needs two methods that were run on the same dataset.";
      return void [$("pairs"), $("pair-datasets")].forEach((table) => table.replaceChildren());
    }
    const heads = order.map((j) => make("th", { scope: "col" }, make("span", { title: name(j) }, named(cut(name(j), 24)))));
    const body = order.map((i) => make("tr", {}, make("th", { scope: "row", class: "name" }, named(name(i))), ...order.map((j) => pairCell(i, j, i === first && j === second))));
    $("pairs").replaceChildren(make("thead", {}, make("tr", {}, make("td", {}), ...heads)), make("tbody", {}, ...body));
    $("pair").textContent = pairWords(pairs[first][second], isolated(name(first)), isolated(name(second)));
    const percent = (cell) => (cell.ok ? fixed(100 * cell.mean, 1) : `– ${cell.why}`);
    plainTable($("pair-datasets"), ["Dataset", cut(name(first), 30), cut(name(second), 30), "Difference"], view.common.map((d, row) => {
      const [a, b] = [view.cells[d][first], view.cells[d][second]], gap = 100 * (view.values[row][first] - view.values[row][second]);
      return [named(data.datasets[view.datasets[d]].name), percent(a), percent(b), a.ok && b.ok ? (gap > 0 ? "+" : "") + fixed(gap, 1) : "–"];
    }));
  }

  function pairCell(i, j, here) {
    if (i === j) return make("td", { class: "self" });
    const pair = view.pairs[i][j], lead = pair.better - pair.worse, [a, b] = [i, j].map((one) => data.methods[view.methods[one]]);
    const cell = make("td", {
      class: `${lead >= 0 ? "cold" : "hot"}${here ? " here" : ""}`, style: `--s:${Math.abs(lead).toFixed(2)}`,
      title: pairWords(pair, isolated(a), isolated(b)),
    }, `${pair.wins}/${pair.ties}/${pair.losses}`);
    cell.addEventListener("click", () => change({ first: a, second: b }));
    return cell;
  }

  function pairWords(pair, a, b) {
    return `${a} against ${b} on ${count(view.n, "dataset")}: better on ${pair.wins}, equal within a point on ${pair.ties}, worse on ${pair.losses}. ` +
      `Probability that it is better ${fixed(pair.better, 2)}, practically equal ${fixed(pair.equal, 2)}, worse ${fixed(pair.worse, 2)}.`;
  }

  function pairChosen() {
    const find = (name) => view.order.find((j) => data.methods[view.methods[j]] === name);
    const first = find(state.first) ?? view.order[0];
    const second = find(state.second);
    return [first, second === undefined || second === first ? view.order.find((j) => j !== first) : second];
  }

  // ---- filters, and the address that keeps them

  function read() {
    const hash = new URLSearchParams(location.hash.slice(1));
    state = { ...START, datasets: new Set(hash.getAll("without")), methods: new Set(hash.getAll("hide")) };
    for (const name of Object.keys(START)) if (hash.has(name)) state[name] = hash.get(name);
    if (!data.metrics.some((one) => one.name === state.score)) state.score = START.score;
  }

  function write() {
    const hash = new URLSearchParams();
    for (const [name, usual] of Object.entries(START)) if (state[name] !== usual) hash.set(name, state[name]);
    for (const name of state.datasets) hash.append("without", name);
    for (const name of state.methods) hash.append("hide", name);
    history.replaceState(null, "", `#${hash}`);
  }

  function change(changes) {
    Object.assign(state, changes);
    write();
    render();
  }

  function options(id, pairs, value) {
    const found = pairs.map(([key, name]) => make("option", { value: key }, cut(name, 60)));
    $(id).replaceChildren(...found);
    $(id).value = value;
  }

  function boxes(id, names, off) {
    const active = document.activeElement?.closest(`#${id} input`)?.value;
    $(id).replaceChildren(...names.map((name) => {
      const box = make("input", { type: "checkbox", value: name });
      box.checked = !off.has(name);
      box.addEventListener("change", () => {
        if (box.checked) off.delete(name);
        else off.add(name);
        change({});
      });
      return make("label", {}, box, named(name));
    }));
    if (active !== undefined) [...$(id).querySelectorAll("input")].find((box) => box.value === active)?.focus();
  }

  function controls() {
    const unique = (values) => [...new Set(values)].map((value) => [value, value]);
    const rates = [...new Set(runs.map((run) => run.rate))].filter((rate) => rate > 0).sort((a, b) => a - b);
    options("protocol", [["", "all"], ...unique(data.protocols.map((one) => one.name))], state.protocol);
    options("rate", [["", "all"], ...unique(rates.map(String))], state.rate);
    options("kind", [["", "all"], ...unique(data.datasets.map((one) => one.kind))], state.kind);
    options("score", data.metrics.map((one) => [one.name, one.title]), state.score);
    const names = view.order.map((j) => data.methods[view.methods[j]]), [first, second] = pairChosen();
    options("first", unique(names), data.methods[view.methods[first]]);
    options("second", unique(names), data.methods[view.methods[second]]);
    boxes("pick-datasets", data.datasets.map((one) => one.name), state.datasets);
    boxes("pick-methods", data.methods, state.methods);
  }

  function pictures() {
    rankPicture();
    timePicture();
  }

  function render() {
    const key = JSON.stringify([...FILTERS.map((name) => state[name]), [...state.datasets], [...state.methods]]);
    if (key !== computed) view = compute();  // not for another order or another pair
    computed = key;
    controls();
    words();
    scoreTable();
    failureTable();
    pairTable();
    costTable();
    maskTable();
    pictures();
  }

  for (const name of [...FILTERS, "first", "second"]) $(name).addEventListener("change", () => change({ [name]: $(name).value }));
  $("reset").addEventListener("click", () => change({ ...START, datasets: new Set(), methods: new Set() }));
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => { read(); render(); });
  addEventListener("resize", pictures);
  plainTable($("datasets"), ["Dataset", "Kind", "Samples", "Views", "Clusters", ""], data.datasets.map((one) =>
    [named(one.name), one.kind, ...one.shape.map((size) => (size === null ? "–" : size.toLocaleString("en"))), one.stands_for ? `samples of ${one.stands_for}, other features` : ""]));
  read();
  render();
  // For tests, and for those who want the numbers: everything that is shown.
  window.imvcBoard = { get view() { return view; } };
})();
