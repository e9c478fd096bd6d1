"use strict";
// The map of samples: draws, colours, zooms and finds them. Texts from the user's files
// only ever become text nodes.
(function () {
  const data = JSON.parse(document.getElementById("points").textContent);
  const n = data.ids.length;
  const COLOURS = 8, STEPS = 32, PAGE = 50;
  const $ = (id) => document.getElementById(id);
  const canvas = $("canvas"), tip = $("tip"), context = canvas.getContext("2d");
  const low = new Set(data.low);
  const dark = matchMedia("(prefers-color-scheme: dark)");

  let column = data.columns[0];
  let looks = [];        // what every kind of mark looks like: {name, colour, shape, many}
  let look = [];         // per sample the index of its look
  let pressed = new Set();  // looks that are not faded; empty: all
  let found = [];        // samples that the search box names
  let current = -1;      // the sample whose card is open
  let pinned = false;
  let plane = data.planes[0];
  let view = { zoom: 1, x: 0, y: 0 };  // shift in CSS pixels
  let size = { width: 0, height: 0 };
  let waiting = false;

  // ---- colours

  function css(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function mix(share) {
    const stops = Array.from({ length: 7 }, (_, i) => css("--r" + i));
    const place = Math.min(Math.max(share, 0), 1) * 6;
    const i = Math.min(Math.floor(place), 5);
    const part = (text) => [1, 3, 5].map((j) => parseInt(text.slice(j, j + 2), 16));
    const a = part(stops[i]), b = part(stops[i + 1]);
    return "rgb(" + a.map((v, j) => Math.round(v + (b[j] - v) * (place - i))).join(",") + ")";
  }

  function chooseLooks() {
    const unknown = { name: "not known", colour: css("--muted"), shape: 0, many: column.unknown };
    if (column.kind === "number") {
      const span = column.high - column.low || 1;
      looks = Array.from({ length: STEPS }, (_, i) => (
        { colour: mix((i + 0.5) / STEPS), shape: 0, many: 0, name: null }));
      look = column.values.map((value) => value === null ? STEPS : Math.min(STEPS - 1,
        Math.max(0, Math.floor((value - column.low) / span * STEPS))));
    } else {
      const own = column.many.length - (column.others ? 1 : 0);
      looks = column.levels.slice(0, own).map((name, i) => ({
        name: name, many: column.many[i],
        colour: column.kind === "ordered" ? mix(own > 1 ? i / (own - 1) : 1) : css("--c" + i % COLOURS),
        shape: column.kind === "ordered" ? 0 : Math.floor(i / COLOURS) % 6,
      }));
      if (column.others) {
        looks.push({ name: column.others + " others", colour: css("--muted"), shape: 2, many: column.many[own] });
      }
      look = column.codes.map((code) => code < 0 ? looks.length : Math.min(code, looks.length - 1));
    }
    looks.push(unknown);
  }

  function shown(which, x) {
    // Dates are days since 1970.
    return which.dates ? new Date(Math.floor(x) * 864e5).toISOString().slice(0, 10) : String(x);
  }

  function value(which, i) {
    if (which.kind === "number") return which.values[i] === null ? "not known" : shown(which, which.values[i]);
    return which.codes[i] < 0 ? "not known" : which.levels[which.codes[i]];
  }

  // ---- legend

  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function keyOf(one) {
    const name = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(name, "svg"), use = document.createElementNS(name, "use");
    svg.setAttribute("class", "key");
    svg.setAttribute("aria-hidden", "true");
    svg.style.color = one.colour;
    use.setAttribute("href", "#shape-" + one.shape);
    svg.append(use);
    return svg;
  }

  function drawLegend() {
    $("legend-title").textContent = column.name;
    const box = $("legend");
    box.textContent = "";
    if (column.kind === "number") {
      const ends = element("div", "ends wide");
      const known = column.values.filter((value) => value !== null), short = (x) => shown(column, column.dates ? x : Number(x.toPrecision(4)));
      ends.append(
        element("span", "", (known.some((x) => x < column.low) ? "≤ " : "") + short(column.low)),
        element("span", "", (known.some((x) => x > column.high) ? "≥ " : "") + short(column.high)));
      box.append(element("div", "ramp wide"), ends);
    }
    looks.forEach((one, i) => {
      if (one.name === null || one.many === 0) return;
      const button = element("button");
      button.type = "button";
      button.setAttribute("aria-pressed", pressed.has(i));
      button.append(keyOf(one), element("span", "level", one.name), element("span", "many", one.many));
      button.addEventListener("click", () => {
        if (!pressed.delete(i)) pressed.add(i);
        button.setAttribute("aria-pressed", pressed.has(i));
        draw();
      });
      box.append(button);
    });
  }

  // ---- drawing

  function fit() {
    const width = plane.width, height = plane.height, edge = 18;
    const scale = Math.min((size.width - 2 * edge) / width, (size.height - 2 * edge) / height);
    return {
      scale: scale * view.zoom,
      left: (size.width - width * scale * view.zoom) / 2 + view.x,
      top: (size.height - height * scale * view.zoom) / 2 + view.y,
    };
  }

  function extent() {
    // Math.max(...array) overflows the stack on long arrays in some browsers.
    plane.width = plane.x.reduce((a, b) => Math.max(a, b), 1);
    plane.height = plane.y.reduce((a, b) => Math.max(a, b), 1);
  }

  function radius() {
    const base = n < 300 ? 4.5 : n < 3000 ? 3.4 : n < 10000 ? 2.6 : 2;
    return Math.min(base * Math.pow(view.zoom, 0.35), 8);
  }

  const SHAPES = [
    (c, x, y, r) => { c.moveTo(x + r, y); c.arc(x, y, r, 0, 6.2832); },
    (c, x, y, r) => polygon(c, x, y, r * 1.25, [0, -1, 0.95, 0.8, -0.95, 0.8]),
    (c, x, y, r) => c.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8),
    (c, x, y, r) => polygon(c, x, y, r * 1.3, [0, -1, 1, 0, 0, 1, -1, 0]),
    (c, x, y, r) => polygon(c, x, y, r * 1.25, [0, 1, 0.95, -0.8, -0.95, -0.8]),
    (c, x, y, r) => { c.rect(x - r * 1.2, y - r * 0.4, r * 2.4, r * 0.8); c.rect(x - r * 0.4, y - r * 1.2, r * 0.8, r * 2.4); },
  ];

  function polygon(c, x, y, r, corners) {
    c.moveTo(x + r * corners[0], y + r * corners[1]);
    for (let i = 2; i < corners.length; i += 2) c.lineTo(x + r * corners[i], y + r * corners[i + 1]);
    c.closePath();
  }

  function paint() {
    waiting = false;
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    const at = fit(), r = radius(), inside = css("--bg");
    const groups = looks.map(() => [[], []]);
    for (let i = 0; i < n; i++) groups[look[i]][low.has(i) ? 1 : 0].push(i);
    const faded = (k) => pressed.size > 0 && !pressed.has(k);
    const order = looks.map((_, k) => k).sort((a, b) => faded(b) - faded(a) || b - a);
    for (const k of order) {
      const one = looks[k], shape = SHAPES[one.shape];
      context.globalAlpha = faded(k) ? 0.1 : 0.85;
      groups[k].forEach((samples, hollow) => {
        if (!samples.length) return;
        context.beginPath();
        for (const i of samples) shape(context, at.left + plane.x[i] * at.scale, at.top + plane.y[i] * at.scale, hollow ? r * 0.9 : r);
        context.fillStyle = hollow ? inside : one.colour;
        context.fill();
        if (hollow) {
          context.strokeStyle = one.colour;
          context.lineWidth = Math.max(1, r * 0.35);
          context.stroke();
        }
      });
    }
    context.globalAlpha = 1;
    context.strokeStyle = css("--fg");
    for (const i of current < 0 ? found : found.concat(current)) {
      context.lineWidth = i === current ? 2.5 : 1.5;
      context.beginPath();
      context.arc(at.left + plane.x[i] * at.scale, at.top + plane.y[i] * at.scale, r + 4, 0, 6.2832);
      context.stroke();
    }
  }

  function draw() {
    if (!waiting) { waiting = true; requestAnimationFrame(paint); }
  }

  function resize() {
    const ratio = window.devicePixelRatio || 1;
    size = { width: canvas.clientWidth, height: canvas.clientHeight };
    canvas.width = Math.round(size.width * ratio);
    canvas.height = Math.round(size.height * ratio);
    paint();
    place();
  }

  function recolour() {
    chooseLooks();
    drawLegend();
    draw();
  }

  // ---- the card of one sample

  function position(i) {
    const at = fit();
    return { x: at.left + plane.x[i] * at.scale, y: at.top + plane.y[i] * at.scale };
  }

  function show(i, pin) {
    pinned = Boolean(pin);
    if (i === current) return;
    current = i;
    tip.hidden = i < 0;
    tip.textContent = "";
    if (i >= 0) {
      tip.append(element("strong", "", data.ids[i]));
      line("Views", data.views.levels[data.views.codes[i]]);
      for (const one of data.columns) line(one.name, value(one, i));
      if (low.has(i)) line("Flagged", "its cluster is uncertain");
      place();
    }
    draw();
  }

  function line(name, text) {
    const row = element("div");
    row.append(element("span", "", name + ": "), document.createTextNode(text));
    tip.append(row);
  }

  function place() {
    if (current < 0) return;
    const p = position(current), gap = 14;
    const left = p.x + gap + tip.offsetWidth > size.width ? p.x - gap - tip.offsetWidth : p.x + gap;
    tip.style.left = Math.max(4, Math.min(left, size.width - tip.offsetWidth - 4)) + "px";
    tip.style.top = Math.max(4, Math.min(p.y + gap, size.height - tip.offsetHeight - 4)) + "px";
  }

  function nearest(x, y, reach) {
    const at = fit();
    let best = -1, least = reach * reach;
    for (let i = 0; i < n; i++) {
      if (pressed.size && !pressed.has(look[i])) continue;
      const dx = at.left + plane.x[i] * at.scale - x, dy = at.top + plane.y[i] * at.scale - y;
      const square = dx * dx + dy * dy;
      if (square < least) { least = square; best = i; }
    }
    return best;
  }

  function neighbour(right, down) {
    if (current < 0) return nearest(size.width / 2, size.height / 2, Infinity);
    let best = current, least = Infinity;
    for (let i = 0; i < n; i++) {
      if (pressed.size && !pressed.has(look[i])) continue;
      const dx = plane.x[i] - plane.x[current], dy = plane.y[i] - plane.y[current];
      const along = dx * right + dy * down, across = Math.abs(dx * down - dy * right);
      if (along > 0 && across <= along && along + 2 * across < least) { least = along + 2 * across; best = i; }
    }
    return best;
  }

  // ---- zoom and move

  function zoomTo(zoom, x, y) {
    const next = Math.min(Math.max(zoom, 1), 40), factor = next / view.zoom;
    const dx = x - size.width / 2, dy = y - size.height / 2;
    view = { zoom: next, x: dx - (dx - view.x) * factor, y: dy - (dy - view.y) * factor };
    if (next === 1) { view.x = 0; view.y = 0; }
    moved();
  }

  function moved() {
    canvas.classList.toggle("zoomed", view.zoom > 1);
    draw();
    place();
  }

  function zoomBy(factor) {
    zoomTo(view.zoom * factor, size.width / 2, size.height / 2);
  }

  function reset() {
    view = { zoom: 1, x: 0, y: 0 };
    moved();
  }

  function reveal(i) {
    const p = position(i);
    if (p.x < 0 || p.y < 0 || p.x > size.width || p.y > size.height) {
      view.x += size.width / 2 - p.x;
      view.y += size.height / 2 - p.y;
      moved();
    }
  }

  const fingers = new Map();
  let dragged = false;

  function local(event) {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, local(event));
    dragged = false;
    canvas.setPointerCapture(event.pointerId);
  });

  canvas.addEventListener("pointermove", (event) => {
    const here = local(event), before = fingers.get(event.pointerId);
    if (!before) {
      if (!pinned) show(nearest(here.x, here.y, 14), false);
      return;
    }
    if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const gap = (a) => Math.hypot(a.x - other.x, a.y - other.y) || 1;
      zoomTo(view.zoom * gap(here) / gap(before), (here.x + other.x) / 2, (here.y + other.y) / 2);
      dragged = true;
    } else if (view.zoom > 1 && (dragged || Math.hypot(here.x - before.x, here.y - before.y) > 4)) {
      view.x += here.x - before.x;
      view.y += here.y - before.y;
      dragged = true;
      moved();
    } else {
      return;
    }
    fingers.set(event.pointerId, here);
  });

  canvas.addEventListener("pointerup", (event) => {
    const here = local(event);
    fingers.delete(event.pointerId);
    if (dragged || fingers.size) return;
    const i = nearest(here.x, here.y, event.pointerType === "touch" ? 24 : 14);
    show(i, i >= 0);
  });

  canvas.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => { if (!pinned) show(-1, false); });

  canvas.addEventListener("wheel", (event) => {
    // Unasked, the wheel scrolls the page: a map must not catch a passing reader.
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    const here = local(event);
    zoomTo(view.zoom * Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), here.x, here.y);
  }, { passive: false });

  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (steps[event.key]) {
      const i = neighbour(...steps[event.key]);
      if (i >= 0) { show(i, true); reveal(i); }
    } else if (event.key === "+" || event.key === "=") zoomBy(1.5);
    else if (event.key === "-") zoomBy(1 / 1.5);
    else if (event.key === "0") reset();
    else if (event.key === "Escape") show(-1, false);
    else return;
    event.preventDefault();
  });

  $("zoom-in").addEventListener("click", () => zoomBy(1.5));
  $("zoom-out").addEventListener("click", () => zoomBy(1 / 1.5));
  $("zoom-reset").addEventListener("click", reset);

  $("colour").addEventListener("change", (event) => {
    column = data.columns[Number(event.target.value)];
    pressed = new Set();
    recolour();
  });

  if ($("plane")) $("plane").addEventListener("change", (event) => {
    plane = data.planes[Number(event.target.value)];
    extent();
    show(-1, false);
    reset();
  });

  // ---- search, and the table of samples

  let listed = null, page = 0;

  function search() {
    const text = $("find").value.trim().toLowerCase();
    const exact = [], starting = [], holding = [];
    for (let i = 0; text && i < n; i++) {
      const id = data.ids[i].toLowerCase();
      if (id === text) exact.push(i);
      else if (id.startsWith(text)) starting.push(i);
      else if (id.includes(text)) holding.push(i);
    }
    found = exact.length ? exact : starting.concat(holding);
    const best = [exact, starting, holding].find((some) => some.length) || [];
    $("found").textContent = !text ? "" : found.length === 1 ? "1 sample found"
      : found.length ? found.length + " samples found" : "No such sample" + (n < data.total ? " among those drawn" : "");
    show(best.length === 1 ? best[0] : -1, best.length === 1);
    if (best.length === 1) reveal(best[0]);
    listed = text ? found : null;
    page = 0;
    fillTable();
    draw();
  }

  $("find").addEventListener("input", search);
  $("find").addEventListener("change", search);

  function fillTable() {
    if (!$("samples").open) return;
    const total = listed ? listed.length : n, body = $("sample-rows");
    const last = Math.max(0, Math.ceil(total / PAGE) - 1);
    page = Math.min(page, last);
    body.textContent = "";
    for (let j = page * PAGE; j < Math.min(total, (page + 1) * PAGE); j++) {
      const i = listed ? listed[j] : j, row = element("tr"), head = element("th", "name", data.ids[i]);
      head.scope = "row";
      row.append(head, element("td", "", data.views.levels[data.views.codes[i]]));
      for (const one of data.columns) row.append(element("td", "", value(one, i)));
      body.append(row);
    }
    $("page").textContent = total ? (page * PAGE + 1) + " to " + Math.min(total, (page + 1) * PAGE) + " of " + total : "none";
    $("before").disabled = page === 0;
    $("after").disabled = page === last;
  }

  for (const name of ["Sample", "Views present", ...data.columns.map((one) => one.name)]) {
    const head = element("th", "", name);
    head.scope = "col";
    $("sample-head").append(head);
  }
  $("samples").addEventListener("toggle", fillTable);
  $("before").addEventListener("click", () => { page -= 1; fillTable(); });
  $("after").addEventListener("click", () => { page += 1; fillTable(); });

  // ---- paper, theme and size

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open]):not(.screen)")];
    for (const one of opened) one.open = true;
    document.documentElement.classList.add("paper");
    show(-1, false);
    chooseLooks();
    drawLegend();
    paint();
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("paper");
    for (const one of opened) one.open = false;
    recolour();
  });
  dark.addEventListener("change", recolour);
  new ResizeObserver(resize).observe(canvas);

  extent();
  recolour();
  resize();

  // For scripts of one's own, and for tests: where a sample is drawn in the canvas.
  window.imvcMap = { position: position, ids: data.ids, select: (i) => { show(i, true); reveal(i); } };
})();
