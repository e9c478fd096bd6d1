// What is on the screen as a figure, with a legend and in the light colours.
import { MARKS, paper, short, STEPS } from "./map_looks.js";

/** Text of an SVG; very many points come as one picture in it (`flat`). */
export function toSVG(map, title, ends = ["", ""], flat = false) {
  return paper(true, () => {
    const palette = map.palette(), { width, height } = map, at = map.fit(), r = map.radius();
    const rgb = (colour) => "#" + colour.map((v) => v.toString(16).padStart(2, "0")).join("");
    const mark = (shape, x, y, size) => shape
      ? `<path transform="translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${size.toFixed(2)})" d="${MARKS[shape]}"/>`
      : `<circle cx="${x.toFixed(2)}" cy="${y.toFixed(2)}" r="${size.toFixed(2)}"/>`;
    const parts = [];
    if (flat) {
      const { image, pad } = map.raster(3, palette), board = document.createElement("canvas");
      board.width = width * 3;
      board.height = height * 3;
      board.getContext("2d").putImageData(image, -pad, -pad);
      parts.push(`<image width="${width}" height="${height}" href="${board.toDataURL()}"/>`);
    } else {
      const groups = new Map();
      for (const i of map.order) {
        const p = { x: at.left + map.x[i] * at.scale, y: at.top + map.y[i] * at.scale };
        if (p.x < -r || p.y < -r || p.x > width + r || p.y > height + r) continue;
        const faded = map.count && !map.chosen[i], key = (faded ? 0 : 1e4) + map.look[i];
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(mark(map.looks[map.look[i]].shape, p.x, p.y, r));
      }
      for (const key of [...groups.keys()].sort((a, b) => a - b)) {
        const colour = (key < 1e4 ? palette.faded : palette.colours)[key % 1e4];
        parts.push(`<g fill="${rgb(colour)}" fill-opacity=".9">`, groups.get(key).join("\n"), "</g>");
      }
    }
    if (map.names) {
      const texts = map.middles.map(({ name, x, y }) => `<text x="${(at.left + x * at.scale).toFixed(1)}" y="${(at.top + y * at.scale + 4).toFixed(1)}">${xml(name, 24)}</text>`);
      parts.push(`<g font-weight="600" text-anchor="middle" paint-order="stroke" stroke="${rgb(palette.back)}" stroke-width="4" stroke-linejoin="round">${texts.join("\n")}</g>`);
    }
    const shown = map.looks.map((one, k) => ({ ...one, fill: rgb(palette.colours[k]) })).filter((one) => one.name !== null && one.many).slice(0, 50);
    const legend = [`<text x="0" y="0" font-weight="600">${xml(title, 30)}</text>`];
    let y = 22;
    if (map.looks.some((one) => one.share !== undefined)) {
      const bars = map.looks.slice(0, STEPS).map((_, s) => `<rect x="${s * 2.25}" y="8" width="2.5" height="10" fill="${rgb(palette.colours[s])}"/>`);
      legend.push(...bars, `<text x="0" y="34">${xml(ends[0], 12)}</text><text x="144" y="34" text-anchor="end">${xml(ends[1], 12)}</text>`);
      y = 58;
    }
    for (const one of shown) {
      legend.push(`<g fill="${one.fill}">${mark(one.shape, 6, y - 4, 4.6)}</g><text x="18" y="${y}">${xml(one.name, 24)}</text>`);
      y += 19;
    }
    const all = Math.max(height, y + 30);
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width + 190}" height="${all}" viewBox="0 0 ${width + 190} ${all}" `
      + `font-family="system-ui, Helvetica, Arial, sans-serif" font-size="13" fill="${rgb(palette.ink)}">\n`
      + `<rect width="100%" height="100%" fill="${rgb(palette.back)}"/>\n<svg width="${width}" height="${height}">${parts.join("\n")}</svg>\n`
      + `<g transform="translate(${width + 16} 30)">${legend.join("\n")}</g>\n</svg>\n`;
  });
}

/** The same as a PNG, at three pixels per CSS pixel. */
export async function toPNG(svg) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const board = document.createElement("canvas");
    board.width = image.width * 3;
    board.height = image.height * 3;
    board.getContext("2d").drawImage(image, 0, 0, board.width, board.height);
    return await new Promise((done) => board.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Text for XML: no markup, none of the characters that XML cannot hold. */
function xml(text, most) {
  const held = String(text).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "");
  return short(held, most).replace(/[&<>"]/g, (c) => "&#" + c.charCodeAt(0) + ";");
}
