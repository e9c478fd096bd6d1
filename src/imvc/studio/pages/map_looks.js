// What samples look like in a map: colours and marks of the levels or numbers of a column.

const COLOURS = 8;
export const STEPS = 64;

// Marks of radius 1. Levels beyond the eighth take the same colours with another mark.
export const MARKS = [
  "M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0Z",
  "M0-1.25L1.19 1H-1.19Z",
  "M-.9-.9H.9V.9H-.9Z",
  "M0-1.3L1.3 0L0 1.3L-1.3 0Z",
  "M0 1.25L1.19-1H-1.19Z",
  "M-.4-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
];
const KEPT = COLOURS * MARKS.length;

/** What the marks of a column look like: `looks`, and per sample the index of its look. */
export function looksOf(column) {
  const unknown = { name: "not known", colour: "--edge", shape: 0, many: 0, levels: [-1] };
  if (column.kind === "number") {
    const span = column.high - column.low || 1;
    const looks = Array.from({ length: STEPS }, (_, i) => (
      { name: null, share: (i + 0.5) / STEPS, shape: 0, many: 0 }));
    const look = Uint16Array.from(column.values, (value) => value === null ? STEPS
      : Math.min(STEPS - 1, Math.max(0, Math.floor((value - column.low) / span * STEPS))));
    for (const k of look) if (k === STEPS) unknown.many += 1;
    return { looks: [...looks, unknown], look };
  }
  const many = new Array(column.levels.length).fill(0);
  for (const code of column.codes) if (code < 0) unknown.many += 1; else many[code] += 1;
  let own = column.levels.map((_, level) => level);
  if (own.length > KEPT) {
    own = own.sort((a, b) => many[b] - many[a]).slice(0, KEPT - 1).sort((a, b) => a - b);
  }
  const looks = own.map((level, i) => {
    const style = column.styles ? column.styles[level] : i;
    return { name: column.levels[level], many: many[level], levels: [level],
      colour: "--c" + style % COLOURS, shape: Math.floor(style / COLOURS) % MARKS.length };
  });
  const place = new Uint16Array(column.levels.length).fill(looks.length);
  own.forEach((level, i) => { place[level] = i; });
  if (own.length < many.length) {
    const levels = [...many.keys()].filter((level) => place[level] === own.length);
    looks.push({ name: levels.length + " others", colour: "--muted", shape: 2, levels,
      many: levels.reduce((sum, level) => sum + many[level], 0) });
  }
  const last = looks.length;
  return { looks: [...looks, unknown],
    look: Uint16Array.from(column.codes, (code) => code < 0 ? last : place[code]) };
}

export function short(text, most) {
  const letters = [...String(text)];
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : letters.join("");
}

/** Does something while the page has its light colours, as on paper. */
export function paper(on, act) {
  const root = document.documentElement, was = root.classList.contains("paper");
  root.classList.toggle("paper", on);
  try {
    return act();
  } finally {
    root.classList.toggle("paper", was);
  }
}
