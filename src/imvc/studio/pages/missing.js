// What is missing: which samples have which tables, and how the tables match.
import { alarm, count, element, folded, get, link, number, patch, percent, picture, table, warnings } from "./api.js";

let turn = 0;
const SHOWN = 12;

export async function show(root, state) {
  const mine = ++turn;
  const head = [element("h1", {}, "What is missing"),
    element("p", { class: "lead" }, "Which samples have which tables. Samples that lack some are clustered too, by what they have.")];
  if (!state.project.files.some((file) => file.role === "view")) {
    return patch(root, head, element("p", {}, link("Add your tables first", "#/files")));
  }
  patch(root, head, element("p", { class: "summary", role: "status" }, "Reading the tables…"));
  const { error, inspection: found, upset, warnings: texts } = await get("/api/reading");
  if (mine !== turn) return null;
  const told = [...new Set([...(found?.warnings ?? []), ...(texts ?? [])])];
  if (!found) return patch(root, head, alarm(error ?? "The tables cannot be read together.", link("Back to the tables", "#/files", "small")));
  return patch(root, head, error && alarm(error), facts(found),
    upset && element("section", {}, element("h2", {}, "Who has what"),
      element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Picture of the patterns" },
        picture(upset, `${count(found.n_samples, "sample")} in ${count(found.views.length, "table")}; ${number(found.n_complete)} have all. Told in words below.`))),
    patterns(found), element("div", { class: "sides" }, found.views.length > 1 && overlap(found), found.join && joined(found.join)),
    told.length > 0 && element("section", {}, element("h2", {}, "Worth a look before you cluster"), warnings(told)),
    element("p", { class: "next" }, link("Cluster them", "#/cluster", "main")));
}

export function leave() {
  turn++;
}

function facts(found) {
  const { n_samples: all, n_complete: complete, views } = found;
  const tiles = [[number(all), "samples"], [number(views.length), "tables"], [number(complete), "samples in all tables"], [percent(complete / all), "of samples are complete"]];
  return element("ul", { class: "facts" }, tiles.map(([value, text]) => element("li", {}, element("strong", {}, value), text)));
}

function patterns(found) {
  const lacks = (views) => found.views.map((view) => view.name).filter((name) => !views.includes(name)).join(", ") || "nothing";
  const row = ({ views, count: n }) => [views.join(", "), lacks(views), number(n), percent(n / found.n_samples)];
  const head = ["Have", "Lack", { text: "Samples", n: true }, { text: "Share", n: true }];
  const rows = found.patterns.map(row);
  return folded("The same in words", table(head, rows.slice(0, SHOWN), "Patterns of missing tables"),
    rows.length > SHOWN && folded(`${number(rows.length - SHOWN)} more`, table(head, rows.slice(SHOWN), "More patterns of missing tables")));
}

function overlap(found) {
  const names = found.views.map((view) => view.name);
  return element("section", {}, element("h2", {}, "Samples that two tables share"),
    element("p", {}, "What two tables have in common is learnt from the samples that are in both: the more, the better."),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Samples that two tables share" }, element("table", {},
      element("thead", {}, element("tr", {}, element("td"), names.map((name) => element("th", { scope: "col", class: "n" }, name)))),
      element("tbody", {}, names.map((name, v) => element("tr", {}, element("th", { scope: "row", class: "name" }, name),
        found.overlap[v].map((n) => element("td", { class: "n heat", style: { "--s": n / found.n_samples } }, number(n)))))))));
}

function joined(join) {
  const names = Object.keys(join.ids_per_table);
  const total = names.length;
  return element("section", {}, element("h2", {}, "How the ids match"),
    element("p", {}, Object.entries(join.shared_by).reverse().filter(([, n]) => n)
      .map(([k, n]) => `${number(n)} ${Number(k) === total ? "in all tables" : `in ${k} of ${total}`}`).join(", "), "."),
    table(["Table", { text: "Ids", n: true }, { text: "Only here", n: true }],
      names.map((name) => [name, number(join.ids_per_table[name]), number(join.unmatched[name])]), "Ids of each table"));
}
