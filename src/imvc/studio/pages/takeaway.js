// Take away: everything of a run as files, and how to do it again without the studio.
import { alarm, copyable, count, element, get, getText, patch, runChooser, saveLink } from "./api.js";

const GROUPS = [
  ["The clusters", [
    ["labels.csv", "Cluster and confidence of every sample, with your names and edits; opens anywhere."],
    ["labels.xlsx", "The same as a workbook."],
    ["labels.parquet", "The same for Python and R; small and exact."],
    ["labels.h5ad", "The same with the features, for scanpy (labels in obs)."],
    ["labels.h5mu", "The same with every table, for muon (labels in obs)."],
    ["embedding.csv", "Where every sample lies, in the coordinates that were clustered."],
  ]],
  ["To read and to show", [
    ["report.html", "The whole clustering as one page: map, clusters, what sets them apart, warnings. Works without a network."],
    ["patterns.svg", "The picture of what is missing."],
  ]],
  ["To do it again", [
    ["model.imvc", "The fitted model: imvc predict places new samples with it."],
    ["script.py", "A Python script that does the same."],
    ["command.txt", "The command that does the same in a terminal."],
    ["run.json", "All settings, warnings, versions and checksums of the run."],
    ["edits.json", "The history of your edits."],
  ]],
];

let turn = 0;

export async function show(root, state) {
  const mine = ++turn, id = state.args[0];
  const head = [element("h1", {}, "Take away"),
    element("p", { class: "lead" }, "All of it is also in the project folder, as plain files that the commands read."),
    element("div", { class: "fields" }, runChooser(state, "take"))];
  patch(root, head);
  const run = await get(`/api/runs/${id}`);
  const script = await getText(`/api/runs/${id}/download/script.py`).catch((error) => error);
  if (mine !== turn) return;
  const missing = [!run.edited && "edits.json", !run.can_predict && "model.imvc", ...(run.has_data ? [] : ["labels.h5ad", "labels.h5mu"])];
  patch(root, head,
    element("p", {}, `${count(run.n_samples, "sample")} in ${count(run.clusters.length, "cluster")}${run.edited ? ", edited by you" : ""}.`),
    !run.has_data && element("p", { class: "warning" }, run.no_data_reason ?? "The tables of this run have changed or are gone."),
    GROUPS.map(([title, files]) => element("section", {}, element("h2", {}, title),
      element("ul", { class: "downloads" }, files.filter(([name]) => !missing.includes(name)).map(([name, text]) => element("li", {},
        saveLink(`/api/runs/${id}/download/${name}`), element("span", {}, text)))),
      title === "To read and to show" && element("p", {}, "The map as a figure, in the colours you choose, is saved from ",
        element("a", { href: `#/explore/${id}` }, "Explore"), "."))),
    element("section", {}, element("h2", {}, "Without the studio"),
      run.command && copyable("In a terminal", run.command),
      typeof script === "string" ? copyable("In Python", script) : alarm(script.message)));
}

export function leave() {
  turn++;
}
