// The map of samples. Points are written straight into the pixels of one picture, so that
// 100 000 of them move fluently; a path per point would be ten times slower.

import { toPNG, toSVG } from "./map_figure.js";
import { looksOf, MARKS, paper, short } from "./map_looks.js";

const CELLS = 128, REACH = 14, MANY = 20000, NAMED = 30;

export const maps = new Set();  // those on the screen

export class PointMap {
  /** `onHover(sample or -1, pinned)`, `onSelect(map)`; both are told after the fact. */
  constructor(canvas, { onHover = () => {}, onSelect = () => {} } = {}) {
    Object.assign(this, { canvas, onHover, onSelect });
    this.context = canvas.getContext("2d");
    this.n = 0;
    this.view = { zoom: 1, x: 0, y: 0 };  // shift in CSS pixels
    this.width = this.height = 0;
    this.tool = "move";
    this.how = "replace";  // what a lasso does: replace, add, remove
    this.current = -1;
    this.pinned = false;
    this.names = true;     // of levels, in the middle of their samples
    this.rings = [];       // samples that were found, with a ring
    this.path = null;      // the lasso while it is drawn
    this.sprites = new Map();
    this.leaving = new AbortController();
    this.listen();
    maps.add(this);
  }

  close() {
    maps.delete(this);
    this.leaving.abort();
    clearTimeout(this.resting);
    this.resizing.disconnect();
  }

  // ---- what is drawn

  /** Places of the samples; the selection stays when their number does. */
  setPlane({ x, y }) {
    const many = (values) => values.reduce((a, b) => Math.max(a, b), 1);
    if (x.length !== this.n) {
      this.n = x.length;
      this.chosen = new Uint8Array(this.n);
      this.count = 0;
      this.look = new Uint16Array(this.n);
      this.looks = [{ name: null, colour: "--c0", shape: 0, many: this.n }];
      // Drawn in the order of the files, the last cluster would cover the others.
      this.order = Uint32Array.from({ length: this.n }, (_, i) => i);
      for (let i = this.n - 1, seed = 1; i > 0; i--) {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        const j = seed % (i + 1), kept = this.order[i];
        this.order[i] = this.order[j];
        this.order[j] = kept;
      }
    }
    this.x = Float64Array.from(x);
    this.y = Float64Array.from(y);
    this.spanX = many(x);
    this.spanY = many(y);
    this.index();
    this.centre();
    this.show(-1);
    this.reset();
  }

  setColumn(column) {
    Object.assign(this, looksOf(column));
    this.named = Boolean(column.styles);  // clusters lie together; levels of metadata need not
    this.centre();
    this.redraw();
  }

  /** Where the names of levels go: the median of their samples. */
  centre() {
    const own = this.looks.map((one, k) => k).filter((k) => this.looks[k].name !== null && /^--c/.test(this.looks[k].colour));
    this.middles = [];
    if (!this.named || own.length > NAMED) return;
    const median = (values) => values.sort()[values.length >> 1];
    for (const k of own) {
      const rows = [];
      for (let i = 0; i < this.n; i++) if (this.look[i] === k) rows.push(i);
      if (!rows.length) continue;
      this.middles.push({ k, name: short(this.looks[k].name, 24), x: median(Float64Array.from(rows, (i) => this.x[i])), y: median(Float64Array.from(rows, (i) => this.y[i])) });
    }
  }

  /** Samples by cell of a grid, for finding the one under the pointer. */
  index() {
    const cell = this.cell = Math.max(this.spanX, this.spanY, 1) / CELLS;
    const starts = this.starts = new Uint32Array((CELLS + 1) * (CELLS + 1) + 1);
    const at = (i) => Math.floor(this.y[i] / cell) * (CELLS + 1) + Math.floor(this.x[i] / cell);
    for (let i = 0; i < this.n; i++) starts[at(i) + 1] += 1;
    for (let c = 1; c < starts.length; c++) starts[c] += starts[c - 1];
    const next = starts.slice();
    this.members = new Uint32Array(this.n);
    for (let i = 0; i < this.n; i++) this.members[next[at(i)]++] = i;
  }

  radius() {
    const base = this.n < 300 ? 4.6 : this.n < 3000 ? 3.5 : this.n < 10000 ? 2.6 : this.n < 40000 ? 1.9 : 1.4;
    return Math.min(base * Math.pow(this.view.zoom, 0.4), 8) * (this.width < 500 ? 0.85 : 1);
  }

  fit() {
    const edge = Math.min(28, this.width / 16), { zoom, x, y } = this.view;
    const scale = zoom * Math.max(1e-9, Math.min(
      (this.width - 2 * edge) / this.spanX, (this.height - 2 * edge) / this.spanY));
    return { scale, left: (this.width - this.spanX * scale) / 2 + x, top: (this.height - this.spanY * scale) / 2 + y };
  }

  position(i) {
    const at = this.fit();
    return { x: at.left + this.x[i] * at.scale, y: at.top + this.y[i] * at.scale };
  }

  /** [r, g, b] of a look or of a custom property, as the page has it now. */
  palette() {
    const style = getComputedStyle(document.documentElement), seen = new Map();
    const read = (name) => {
      if (!seen.has(name)) {
        this.context.fillStyle = "#000";
        this.context.fillStyle = style.getPropertyValue(name).trim();
        const text = this.context.fillStyle;
        seen.set(name, [1, 3, 5].map((j) => parseInt(text.slice(j, j + 2), 16)));
      }
      return seen.get(name);
    };
    const mix = (a, b, share) => a.map((v, j) => Math.round(v + (b[j] - v) * share));
    const back = read("--bg"), colours = this.looks.map((one) => {
      if (one.share === undefined) return read(one.colour);
      const place = one.share * 6, i = Math.min(5, Math.floor(place));
      return mix(read("--r" + i), read("--r" + (i + 1)), place - i);
    });
    return { back, colours, faded: colours.map((one) => mix(one, back, 0.83)), ink: read("--fg"), accent: read("--accent"), muted: read("--muted") };
  }

  /** The pixels of a mark: where they are from its centre, and how much they cover. */
  sprite(shape, radius, stride, opacity) {
    const r = Math.max(0.6, Math.round(radius * 8) / 8), key = [shape, r, stride, opacity].join();
    if (!this.sprites.has(key)) {
      if (this.sprites.size > 60) this.sprites.clear();
      const half = Math.ceil(r * 1.35) + 1, side = 2 * half + 1;
      const board = new OffscreenCanvas(side, side).getContext("2d", { willReadFrequently: true });
      board.setTransform(r, 0, 0, r, half + 0.5, half + 0.5);
      board.fill(new Path2D(MARKS[shape]));
      const alpha = board.getImageData(0, 0, side, side).data, offsets = [], weights = [];
      for (let p = 0; p < side * side; p++) {
        const weight = Math.round(alpha[4 * p + 3] * opacity * 256 / 255);
        if (weight < 8) continue;
        offsets.push((Math.floor(p / side) - half) * stride + p % side - half);
        weights.push(weight);
      }
      this.sprites.set(key, { offsets: Int32Array.from(offsets), weights: Uint16Array.from(weights) });
    }
    return this.sprites.get(key);
  }

  /** A picture of all points at `ratio` pixels per CSS pixel, with a margin of `pad`. */
  raster(ratio, palette, kept) {
    const pad = Math.ceil(16 * ratio), wide = Math.round(this.width * ratio), high = Math.round(this.height * ratio);
    const stride = wide + 2 * pad, rows = high + 2 * pad;
    const image = kept && kept.width === stride && kept.height === rows ? kept : new ImageData(stride, rows);
    const pixels = new Uint32Array(image.data.buffer);
    const packed = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
    const back = packed(palette.back);
    pixels.fill(back);
    const at = this.fit(), r = this.radius() * ratio, { n, x, y, look, chosen, order } = this;
    const scale = at.scale * ratio, left = at.left * ratio + pad, top = at.top * ratio + pad;
    const few = n <= 5000, shapes = this.looks.map((one) => one.shape);
    const marks = MARKS.map((_, s) => shapes.includes(s) ? this.sprite(s, r, stride, 1) : null);
    // Few points get a rim, so that each is seen where they lie on each other.
    const rims = MARKS.map((_, s) => few && shapes.includes(s) ? this.sprite(s, r + ratio, stride, 0.8) : null);
    const stamp = ({ offsets, weights }, place, colour) => {
      const rb = colour & 0xff00ff, g = colour & 0xff00;
      for (let k = 0; k < offsets.length; k++) {
        const p = place + offsets[k], w = weights[k];
        if (w > 250) { pixels[p] = colour; continue; }
        const old = pixels[p], rest = 256 - w;
        pixels[p] = 0xff000000
          | ((Math.imul(rb, w) + Math.imul(old & 0xff00ff, rest)) >>> 8) & 0xff00ff
          | ((Math.imul(g, w) + Math.imul(old & 0xff00, rest)) >>> 8) & 0xff00;
      }
    };
    const draw = (colours, wanted) => {
      for (let j = 0; j < n; j++) {
        const i = order[j];
        if (wanted >= 0 && chosen[i] !== wanted) continue;
        const px = Math.round(left + x[i] * scale - 0.5), py = Math.round(top + y[i] * scale - 0.5);
        if (px < pad / 2 || py < pad / 2 || px >= stride - pad / 2 || py >= rows - pad / 2) continue;
        const shape = shapes[look[i]], place = py * stride + px;
        if (rims[shape] && wanted !== 0) stamp(rims[shape], place, back);
        stamp(marks[shape], place, colours[look[i]]);
      }
    };
    const colours = Uint32Array.from(palette.colours, packed);
    if (this.count) draw(Uint32Array.from(palette.faded, packed), 0);
    draw(colours, this.count ? 1 : -1);
    return { image, pad };
  }

  paint() {
    this.waiting = false;
    if (!this.n || !this.width) return null;
    if (this.finest() !== this.ratio) return this.resize();
    const { context, ratio } = this;
    if (this.stale) {
      this.colours = this.palette();
      this.picture = this.raster(ratio, this.colours, this.picture && this.picture.image);
      const many = this.looks.map(() => 0);  // names of looks that the selection hardly touches are faded
      if (this.count) for (let i = 0; i < this.n; i++) many[this.look[i]] += this.chosen[i];
      for (const one of this.middles) one.faded = many[one.k] < 0.1 * Math.min(this.looks[one.k].many, this.count);
      this.middles.sort((a, b) => b.faded - a.faded);
      this.stale = false;
    }
    context.putImageData(this.picture.image, -this.picture.pad, -this.picture.pad);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const r = this.radius() + 3.5, colour = (name) => "rgb(" + this.colours[name].join() + ")";
    context.strokeStyle = colour("ink");
    for (const i of this.rings.concat(this.current < 0 ? [] : this.current)) {
      const p = this.position(i);
      context.lineWidth = i === this.current ? 2.4 : 1.3;
      context.beginPath();
      context.arc(p.x, p.y, r, 0, 6.2832);
      context.stroke();
    }
    if (this.names) {
      const at = this.fit();
      Object.assign(context, { font: "600 13px system-ui, sans-serif", textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 4 });
      Object.assign(context, { fillStyle: colour("ink"), strokeStyle: colour("back") });
      for (const { faded, name, x, y } of this.middles) {
        context.globalAlpha = faded ? 0.3 : 0.95;
        context.strokeText(name, at.left + x * at.scale, at.top + y * at.scale);
        context.fillText(name, at.left + x * at.scale, at.top + y * at.scale);
      }
      context.globalAlpha = 1;
    }
    if (this.path) {
      context.strokeStyle = context.fillStyle = colour("accent");
      context.lineWidth = 1.8;
      context.beginPath();
      for (const p of this.path) context.lineTo(p.x, p.y);
      context.closePath();
      context.globalAlpha = 0.12;
      context.fill();
      context.globalAlpha = 1;
      context.stroke();
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    return null;
  }

  redraw(points = true) {
    this.stale = this.stale || points;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { if (this.waiting) this.paint(); });
  }

  /** Pixels per CSS pixel: while many points move, one will do. */
  finest() {
    return this.moving ? 1 : Math.min(window.devicePixelRatio || 1, 2);
  }

  resize() {
    this.ratio = this.finest();
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    Object.assign(this, { width, height });
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    this.stale = true;
    this.paint();
    this.onHover(this.current, this.pinned);
  }

  /** Milliseconds that one frame takes while the map moves. */
  async measure(frames = 60) {
    const kept = { ...this.view }, spent = [], between = [];
    const next = () => new Promise((done) => requestAnimationFrame(done));
    let before = await next();
    for (let f = 0; f < frames; f++) {
      const start = performance.now();
      this.view.x = kept.x + 60 * Math.sin(f / 5);
      this.moved();
      this.paint();
      spent.push(performance.now() - start);
      const now = await next();
      between.push(now - before);
      before = now;
    }
    this.view = kept;
    this.moved();
    const tell = (times) => {
      const sorted = times.slice().sort((a, b) => a - b);
      return { median: sorted[sorted.length >> 1], worst: sorted[sorted.length - 1] };
    };
    return { points: this.n, ...tell(spent), between: tell(between) };
  }

  // ---- selection

  get rows() {
    const found = [];
    for (let i = 0; i < this.n; i++) if (this.chosen[i]) found.push(i);
    return found;
  }

  /** Replaces, adds to or removes from the selection; `quiet` tells nobody. */
  select(rows, how = "replace", quiet = false) {
    if (how === "replace") this.chosen.fill(0);
    const value = how === "remove" ? 0 : 1;
    for (const i of rows) this.chosen[i] = value;
    this.count = this.chosen.reduce((sum, one) => sum + one, 0);
    this.redraw();
    if (!quiet) this.onSelect(this);
  }

  selectLook(k, how = "replace") {
    const rows = [];
    for (let i = 0; i < this.n; i++) if (this.look[i] === k) rows.push(i);
    this.select(rows, how);
  }

  toggle(i) {
    this.select([i], this.chosen[i] ? "remove" : "add");
  }

  /** All samples in a shape on the screen: the shape is filled, the samples look up their pixel. */
  within(path) {
    const board = new OffscreenCanvas(Math.ceil(this.width), Math.ceil(this.height)).getContext("2d", { willReadFrequently: true });
    board.beginPath();
    for (const p of path) board.lineTo(p.x, p.y);
    board.fill("evenodd");
    const { width, height } = board.canvas, alpha = board.getImageData(0, 0, width, height).data;
    const at = this.fit(), rows = [];
    for (let i = 0; i < this.n; i++) {
      const px = Math.floor(at.left + this.x[i] * at.scale), py = Math.floor(at.top + this.y[i] * at.scale);
      if (px >= 0 && py >= 0 && px < width && py < height && alpha[4 * (py * width + px) + 3] > 127) rows.push(i);
    }
    return rows;
  }

  inSight() {
    return this.within([{ x: 0, y: 0 }, { x: this.width, y: 0 }, { x: this.width, y: this.height }, { x: 0, y: this.height }]);
  }

  // ---- one sample

  show(i, pinned = false) {
    if (i === this.current && pinned === this.pinned) return;
    this.current = i;
    this.pinned = pinned && i >= 0;
    this.redraw(false);
    this.onHover(i, this.pinned);
  }

  nearest(px, py, reach = REACH) {
    const at = this.fit(), x = (px - at.left) / at.scale, y = (py - at.top) / at.scale;
    const far = reach / at.scale, clamp = (v) => Math.min(CELLS, Math.max(0, Math.floor(v / this.cell)));
    let best = -1, least = far * far;
    for (let row = clamp(y - far); row <= clamp(y + far); row++) {
      const from = this.starts[row * (CELLS + 1) + clamp(x - far)];
      const to = this.starts[row * (CELLS + 1) + clamp(x + far) + 1];
      for (let m = from; m < to; m++) {
        const i = this.members[m], dx = this.x[i] - x, dy = this.y[i] - y, square = dx * dx + dy * dy;
        if (square < least) { least = square; best = i; }
      }
    }
    return best;
  }

  neighbour(right, down) {
    if (this.current < 0) return this.nearest(this.width / 2, this.height / 2, 1e5);
    let best = this.current, least = Infinity;
    for (let i = 0; i < this.n; i++) {
      const dx = this.x[i] - this.x[this.current], dy = this.y[i] - this.y[this.current];
      const along = dx * right + dy * down, across = Math.abs(dx * down - dy * right);
      if (along > 0 && across <= along && along + 2 * across < least) { least = along + 2 * across; best = i; }
    }
    return best;
  }

  reveal(i) {
    const p = this.position(i), edge = 20;
    if (p.x < edge || p.y < edge || p.x > this.width - edge || p.y > this.height - edge) {
      this.view.x += this.width / 2 - p.x;
      this.view.y += this.height / 2 - p.y;
      this.moved();
    }
  }

  // ---- zoom and move

  moved() {
    const { view } = this, far = (size) => size * (view.zoom - 0.5) / 2 + size / 4;
    view.x = Math.min(far(this.width), Math.max(-far(this.width), view.x));
    view.y = Math.min(far(this.height), Math.max(-far(this.height), view.y));
    this.canvas.classList.toggle("zoomed", view.zoom > 1 || this.tool === "lasso");
    this.moving = this.n > MANY;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => { this.moving = false; this.redraw(); }, 160);
    this.redraw();
    if (this.current >= 0) this.onHover(this.current, this.pinned);
  }

  zoomTo(zoom, px, py) {
    const next = Math.min(Math.max(zoom, 1), 200), factor = next / this.view.zoom;
    const dx = px - this.width / 2, dy = py - this.height / 2;
    this.view = { zoom: next, x: dx - (dx - this.view.x) * factor, y: dy - (dy - this.view.y) * factor };
    if (next === 1) this.view.x = this.view.y = 0;
    this.moved();
  }

  zoomBy(factor) {
    const p = this.pinned ? this.position(this.current) : { x: this.width / 2, y: this.height / 2 };
    this.zoomTo(this.view.zoom * factor, p.x, p.y);
  }

  reset() {
    this.view = { zoom: 1, x: 0, y: 0 };
    this.moved();
  }

  use(tool) {
    this.tool = tool;
    this.canvas.classList.toggle("lasso", tool === "lasso");
    this.moved();
  }

  listen() {
    const { canvas } = this, signal = this.leaving.signal, fingers = new Map();
    const on = (type, act, options) => canvas.addEventListener(type, act, { signal, ...options });
    const local = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    let dragged = false, how = "replace";
    on("pointerdown", (event) => {
      if (event.button !== 0 || !this.n) return;
      fingers.set(event.pointerId, local(event));
      canvas.setPointerCapture(event.pointerId);
      dragged = false;
      how = event.altKey || event.ctrlKey ? "remove" : event.shiftKey ? "add" : this.how;
      const lasso = fingers.size === 1 && (this.tool === "lasso" || event.shiftKey);
      this.path = lasso ? [local(event)] : null;
    });
    on("pointermove", (event) => {
      const here = local(event), before = fingers.get(event.pointerId);
      if (!before) {
        if (!this.pinned && this.n) this.show(this.nearest(here.x, here.y));
        return;
      }
      if (!dragged && Math.hypot(here.x - before.x, here.y - before.y) < 4) return;
      dragged = true;
      if (fingers.size === 2) {
        const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
        const gap = (a) => Math.hypot(a.x - other.x, a.y - other.y) || 1;
        this.zoomTo(this.view.zoom * gap(here) / gap(before), (here.x + other.x) / 2, (here.y + other.y) / 2);
      } else if (this.path) {
        this.path.push(here);
        this.redraw(false);
      } else {
        this.view.x += here.x - before.x;
        this.view.y += here.y - before.y;
        this.moved();
      }
      fingers.set(event.pointerId, here);
    });
    on("pointerup", (event) => {
      const here = local(event), path = this.path;
      if (!fingers.delete(event.pointerId)) return;
      this.path = null;
      if (fingers.size) return;
      if (!dragged) {
        const i = this.nearest(here.x, here.y, event.pointerType === "touch" ? 24 : REACH);
        this.show(i, true);
        if (i >= 0 && how !== "replace") this.select([i], how === "add" && this.chosen[i] ? "remove" : how);
      } else if (path) {
        this.select(this.within(path), how);
      }
      this.redraw(false);
    });
    on("pointercancel", (event) => { fingers.delete(event.pointerId); this.path = null; this.redraw(false); });
    on("pointerleave", () => { if (!this.pinned) this.show(-1); });
    on("wheel", (event) => {
      // Unasked, the wheel scrolls the page: a map must not catch a passing reader.
      if (!event.ctrlKey && document.activeElement !== canvas) return;
      event.preventDefault();
      const here = local(event);
      this.zoomTo(this.view.zoom * Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), here.x, here.y);
    }, { passive: false });
    on("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.n) return;
      const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      const keys = {
        "+": () => this.zoomBy(1.5), "=": () => this.zoomBy(1.5), "-": () => this.zoomBy(1 / 1.5), 0: () => this.reset(),
        Enter: () => { if (this.current >= 0) this.toggle(this.current); },
        a: () => this.select(this.inSight()),
        Escape: () => { this.path = null; this.show(-1); this.select([]); },
      };
      keys[" "] = keys.Enter;
      if (steps[event.key]) {
        const i = this.neighbour(...steps[event.key]);
        if (i >= 0) { this.show(i, true); this.reveal(i); }
      } else if (keys[event.key]) keys[event.key]();
      else return;
      event.preventDefault();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw(), { signal });
    for (const type of ["beforeprint", "afterprint"]) {
      addEventListener(type, () => paper(type === "beforeprint", () => { this.stale = true; this.paint(); }), { signal });
    }
    this.resizing = new ResizeObserver(() => this.resize());
    this.resizing.observe(canvas);
  }

  // ---- figures

  toSVG(title, ends) { return toSVG(this, title, ends, this.n > MANY); }

  toPNG(title, ends) { return toPNG(this.toSVG(title, ends)); }
}

window.imvcStudio = Object.assign(window.imvcStudio || {}, {
  maps,
  measureFrames: (frames) => [...maps][0].measure(frames),
});
