"""imvc inspect, cluster, predict, compare and demo: output, files, exit codes."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

from imvc import AnchorBridge
from imvc.cli import main
from imvc.cli._options import complete_method
from imvc.io import OutputFolder
from imvc.methods import list_methods
from study_files import (
    HOSTILE,
    read_table,
    set_judgement,
    write_classes,
    write_study,
)

FILES = ["rna.csv", "protein.tsv", "clinical.csv"]
NO_CLUSTERS = "No cluster structure was found"


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A folder with the files of a study; the current one."""
    _, classes = write_study(tmp_path)
    write_classes(tmp_path / "known.csv", classes)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def clustered(tmp_path_factory):
    """The folder of a study that was clustered into ``out``."""
    folder = tmp_path_factory.mktemp("study")
    write_study(folder)
    paths = [str(folder / name) for name in FILES]
    out = str(folder / "out")
    assert main(["cluster", *paths, "-k", "3", "-o", out, "--refits", "1", "-q"]) == 0
    return folder


def run(*arguments, **options):
    command = [sys.executable, "-m", "imvc.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


@pytest.mark.parametrize(
    "command", ["inspect", "cluster", "predict", "compare", "demo"]
)
def test_help_has_examples_one_a_line(command, capsys):
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"Usage: imvc {command}" in text
    examples = text.split("Examples:\n")[1].splitlines()
    assert examples[0].startswith(f"    imvc {command}")


def test_help_of_a_command_loads_neither_numpy_nor_rich():
    code = (
        "import sys, imvc.cli\n"
        "imvc.cli.main(['cluster', '--help'])\n"
        "print([m for m in ('numpy', 'rich', 'pandas', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_the_names_that_the_shell_completes_are_those_of_the_registry():
    assert complete_method("") == list(list_methods())
    assert complete_method("imvc") == ["imvc-cbg"]


def test_the_shell_completes_methods():
    environment = os.environ | {
        "_IMVC_COMPLETE": "complete_bash",
        "COMP_WORDS": "imvc cluster --method psi",
        "COMP_CWORD": "3",
    }
    done = run(env=environment)
    assert done.stdout.split() == ["psimvc-pg"]


def test_without_rich_the_extra_is_named(study):
    code = (
        "import sys; sys.modules['rich'] = sys.modules['rich.console'] = None\n"
        "from imvc.cli import main; sys.exit(main(['inspect', 'rna.csv']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("imvc: the command line needs rich")
    assert done.stderr.endswith("pip install 'imvc[cli]'\n")


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out[0].isdigit()


def test_inspect_tells_notes_on_stderr_and_tables_on_stdout(study, capsys):
    assert main(["inspect", *FILES, "--svg", "seen.svg"]) == 0
    out, err = capsys.readouterr()
    assert "90" in out
    for view in ("rna", "protein", "clinical"):
        assert view in out
    assert "clinical.csv: " in err
    assert "mixed columns (1 yes-no, 4 number)" in err
    assert out.splitlines()[-1] == "picture: seen.svg"
    assert (study / "seen.svg").read_text().startswith("<svg")


def test_inspect_prints_one_json_document(study, capsys):
    assert main(["inspect", *FILES, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n_samples"] == 90
    assert any("clinical.csv" in note for note in told["notes"])


def test_a_layer_is_read_instead_of_x(study, capsys):
    h5py = pytest.importorskip("h5py")
    with h5py.File("cells.h5ad", "w") as file:
        file["X"] = np.eye(4)
        file["layers/counts"] = 8 * np.eye(4)
        for axis in ("obs", "var"):
            file[axis] = np.array(
                [(b"a",), (b"b",), (b"c",), (b"d",)], [("index", "S1")]
            )
    largest = []
    for option in ([], ["--layer", "counts"]):
        assert main(["inspect", "cells.h5ad", *option, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        largest.append(told["views"][0]["sd_range"][1])
    assert largest[1] == pytest.approx(8 * largest[0])


def test_cluster_writes_its_files_and_ends_with_the_report(study, capsys):
    assert main(["cluster", *FILES, "-k", "3", "-o", "out", "--refits", "1"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == str(Path("out") / "report.html")
    assert {path.name for path in Path("out").iterdir()} == {
        "embedding.parquet",
        "labels.csv",
        "labels.parquet",
        "model.imvc",
        "patterns.svg",
        "report.html",
        "run.json",
    }
    assert len(read_table("out/labels.csv")) == 90
    assert "of memory" in err
    command = json.loads(Path("out/run.json").read_text())["command"]
    assert command[:3] == ["imvc", "cluster", "rna.csv"]


def test_quiet_and_json_leave_one_document_and_nothing_else(study, capsys):
    arguments = ["cluster", *FILES, "-k", "3", "--refits", "0", "--json", "--quiet"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    told = json.loads(out)
    assert told["folder"] == "imvc_output"
    assert sum(told["sizes"]) == 90
    assert set(told["files"]) >= {"labels.csv", "run.json"}


def test_without_k_the_suggestion_is_told_with_its_evidence(study, capsys):
    assert main(["cluster", *FILES, "-o", "out", "--refits", "0", "-q"]) == 0
    told = capsys.readouterr().out
    assert "clusters, give or take one, were suggested by the program; the" in told
    assert NO_CLUSTERS not in told


@pytest.fixture
def judge(monkeypatch):
    """Lets every fit of AnchorBridge into three clusters end with a given evidence."""

    def set_evidence(evidence, reason):
        fit = AnchorBridge.fit

        def fit_and_judge(self, *data, **options):
            fit(self, *data, **options)
            set_judgement(self, evidence, reason)
            return self

        monkeypatch.setattr(AnchorBridge, "fit", fit_and_judge)

    return set_evidence


QUICK = ["-k", "3", "-o", "out", "--refits", "0", "--no-report", "-q"]


def test_that_there_may_be_no_clusters_is_said_before_the_clusters(
    study, judge, capsys
):
    judge("none", "none comes back")
    assert main(["cluster", *FILES, *QUICK]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{NO_CLUSTERS}: none comes back. The 3 clusters")
    assert sum(NO_CLUSTERS in line for line in lines) == 1
    assert lines[1].split()[:2] == ["cluster", "samples"]


def test_that_there_may_be_no_clusters_is_first_in_json(study, judge, capsys):
    judge("none", "none comes back")
    assert main(["cluster", *FILES, *QUICK, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    first = [("evidence", "none"), ("evidence_reason", "none comes back")]
    assert list(told.items())[:3] == [("structure", None), *first]
    assert told["warnings"][0].startswith(f"{NO_CLUSTERS}: none comes back.")
    assert told["candidates"][0]["reason"] == "comes back best"
    assert told["cluster_stability"] == [0.9, 0.52, None]


def test_weak_evidence_is_told_with_its_reason_and_the_candidates(study, judge, capsys):
    judge("weak", "the valleys are shallow")
    assert main(["cluster", *FILES, *QUICK]) == 0
    told = capsys.readouterr().out
    assert "the evidence is weak: the valleys are shallow." in told
    rows = [line.split() for line in told.splitlines()]
    assert ["3", "40%", "1.10", "comes", "back", "best"] in rows
    assert ["2", "30%", "-", "its", "neighbour"] in rows


def test_doubtful_clusters_are_marked_in_the_table(study, judge, capsys):
    judge("weak", "the valleys are shallow")
    assert main(["cluster", *FILES, *QUICK]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(" cluster "))
    place = lines[start].index("comes back")
    shares = [line[place:].rstrip() for line in lines[start + 1 : start + 4]]
    assert shares == ["90%", "52% doubtful", "-"]


def test_the_same_seed_gives_the_same_bytes(study):
    for folder in ("a", "b"):
        arguments = ["cluster", *FILES, "-k", "3", "-o", folder, "--seed", "7", "-q"]
        assert main([*arguments, "--refits", "1", "--no-report"]) == 0
    for name in ("labels.csv", "embedding.parquet"):
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes()


def test_a_run_is_repeated_from_its_record(clustered, capsys, monkeypatch):
    monkeypatch.chdir(clustered.parent)
    record, again = clustered / "out" / "run.json", clustered / "again"
    arguments = ["cluster", "--from", str(record), "-o", str(again), "--overwrite"]
    assert main([*arguments, "-q", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["same_labels"] is True
    first = (clustered / "out" / "labels.csv").read_bytes()
    assert (again / "labels.csv").read_bytes() == first


def test_a_record_whose_files_changed_is_refused(study, capsys):
    assert main(["cluster", *FILES, "-k", "3", "-o", "out", "--refits", "0"]) == 0
    with open("clinical.csv", "a") as file:
        file.write("p999,f,0,0,0,0\n")
    capsys.readouterr()
    arguments = ["cluster", "--from", "out", "-o", "again", "--no-report"]
    assert main(arguments) == 2
    assert "clinical.csv: not the file of that run" in capsys.readouterr().err
    assert not Path("again").exists()
    assert main([*arguments, "--force"]) == 0
    assert "NOT the same" in capsys.readouterr().out


def test_parameters_of_the_method_and_preparation_reach_the_run(study):
    arguments = ["cluster", *FILES, "-k", "3", "-o", "out", "--refits", "0", "-q"]
    arguments += ["--method", "rise", "--set", "beta=10", "--set", "anchors=random"]
    arguments += ["--scale", "rna=standard", "--top-variance", "protein=3"]
    arguments += ["--log1p", "rna", "--name", "rna", "--name", "protein"]
    # rna has negative values, so the logarithm is refused.
    assert main([*arguments, "--name", "lab"]) == 2
    arguments = [a for a in arguments if a not in ("--log1p",)]
    arguments.remove("rna")
    assert main([*arguments, "--name", "lab", "--no-report"]) == 0
    request = json.loads(Path("out/run.json").read_text())
    assert request["request"]["method"] == "rise"
    assert request["request"]["parameters"]["beta"] == 10
    assert request["request"]["parameters"]["anchors"] == "random"
    assert request["result"]["views"] == {"rna": 6, "protein": 3, "lab": 5}


def test_id_columns_may_differ_between_files(study, capsys):
    text = Path("protein.tsv").read_text().replace("patient", "sample=id", 1)
    Path("protein.tsv").write_text(text)
    arguments = ["--id", "protein=sample=id", "--id", "rna=patient"]
    arguments += ["--id", "clinical=patient"]
    assert main(["inspect", *FILES, *arguments, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["n_samples"] == 90


def test_predict_gives_the_training_labels_on_stdout(clustered, capsys):
    paths = [str(clustered / name) for name in FILES]
    assert main(["predict", str(clustered / "out" / "model.imvc"), *paths, "-q"]) == 0
    out, err = capsys.readouterr()
    rows = [line.split(",")[:2] for line in out.splitlines()[1:]]
    trained = read_table(clustered / "out" / "labels.csv")
    assert rows == [[row["id"], row["cluster"]] for row in trained]
    assert err == ""


def test_predict_writes_a_file_and_prints_its_path(clustered, tmp_path, capsys):
    model, out = str(clustered / "out" / "model.imvc"), str(tmp_path / "new.parquet")
    assert main(["predict", model, str(clustered / "rna.csv"), "-o", out]) == 0
    assert capsys.readouterr().out == out + "\n"
    assert Path(out).is_file()


def test_compare_scores_against_labels_and_writes_its_table(study, capsys):
    arguments = ["compare", *FILES, "-k", "3", "--methods", "impute-kmeans,rise"]
    arguments += ["--labels", "known.csv:kind", "-o", "table.csv"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "acc" in out
    assert out.splitlines()[-1] == "table.csv"
    assert err.index("ImputeKMeans on 90 samples") < err.index("compare")
    rows = {row["method"]: row for row in read_table("table.csv")}
    assert float(rows["rise"]["acc"]) > 0.9


def test_compare_prints_one_json_document(study, capsys):
    arguments = ["compare", *FILES, "-k", "3", "--methods", "rise", "--json"]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["methods"][0]["method"] == "rise"
    assert told["estimates"]["rise"]["seconds"] > 0


def test_compare_ends_with_code_1_if_a_method_failed(study, capsys, monkeypatch):
    def fail(self, runner, seeds):
        raise RuntimeError("no luck")

    monkeypatch.setattr("imvc.methods.rise.RISE._learn_blocks", fail)
    arguments = ["compare", *FILES, "-k", "3", "--methods", "impute-kmeans,rise"]
    assert main(arguments) == 1
    assert "no luck" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cluster"], "no files are given"),
        (["cluster", "none.csv"], "none.csv: no such file"),
        (["inspect", "rna.csv", "none.csv"], "none.csv: no such file"),
        (["cluster", "rna.csv", "binary.csv"], "binary.csv:1: "),
        (["cluster", "rna.csv", "empty.csv"], "empty.csv: the file is empty"),
        (["cluster", "rna.csv", "strangers.csv"], "rna.csv: its ids"),
        (["cluster", "rna.csv", "twice.csv"], "twice.csv:3: "),
        (["cluster", "rna.csv", "holes.csv", "--empty-cells", "error"], "holes.csv: "),
        (
            ["cluster", *FILES, "--method", "risse", "-k", "3"],
            "no method named 'risse'",
        ),
        (["cluster", *FILES, "--method", "rise"], "'rise' needs one number of"),
        (["cluster", *FILES, "--set", "x=1"], "no parameter 'x'"),
        (["cluster", *FILES, "--set", "n_init"], "--set 'n_init' must be name=value"),
        (["cluster", *FILES, "-k", "3", "--set", "n_init=-1"], "n_init"),
        (["cluster", *FILES, "-k", "300"], "300"),
        (["cluster", *FILES, "-k", "1"], "'--clusters'"),
        (["cluster", *FILES, "--id", "nobody"], "nobody"),
        (["cluster", *FILES, "--name", "one"], "--name is given 1 times for 3 files"),
        (["cluster", *FILES, "--scale", "big"], "big"),
        (["cluster", *FILES, "--scale", "a=standard", "--scale", "x"], "--scale 'x'"),
        (["cluster", *FILES, "--top-variance", "few"], "--top-variance 'few'"),
        (["cluster", *FILES, "--log1p", "genes"], "genes"),
        (["cluster", *FILES, "--non-numeric", "maybe"], "maybe"),
        (["cluster", *FILES, "--metadata", "none.csv"], "none.csv"),
        (["cluster", *FILES, "-o", "rna.csv"], "rna.csv: is a file"),
        (["cluster", "--from", "none.json"], "none.json: there is no such file"),
        (["cluster", "--from", "rna.csv"], "rna.csv: is not JSON"),
        (["cluster", "--from", "."], "run.json: there is no such file; give one that"),
        (["cluster", "--from", "x.json", "-k", "3"], "-k cannot stand beside --from"),
        (["predict", "none.imvc", "rna.csv"], "none.imvc"),
        (["predict", ".", "rna.csv"], "no model file at 'model.imvc'; give one that"),
        (["predict", "rna.csv", "rna.csv"], "'rna.csv' is not an imvc model"),
        (["compare", *FILES, "-k", "3", "--methods", "x"], "no method named 'x'"),
        (["compare", *FILES, "-k", "3", "--methods", ","], "names nothing"),
        (["compare", *FILES, "-k", "3", "--labels", "none.csv:y"], "none.csv"),
        (["compare", *FILES], "'--clusters'"),
        (["inspect", *FILES, "--svg", "nowhere/x.svg"], "nowhere"),
        (["inspect", *FILES, "--nonsense"], "--nonsense"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_input_is_one_line_code_2_and_nothing_written(
    study, capsys, arguments, message
):
    Path("binary.csv").write_bytes(bytes(range(256)) * 50)
    Path("empty.csv").write_bytes(b"")
    Path("strangers.csv").write_text("patient,a\nx1,1\nx2,2\nx3,5\n")
    Path("twice.csv").write_text("patient,a\np001,1\np001,2\n")
    Path("holes.csv").write_text("patient,a,b\np001,1,2\np002,,3\np003,4,5\n")
    before = sorted(path.name for path in study.rglob("*"))
    assert main([*arguments, "--quiet"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("imvc: ")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(path.name for path in study.rglob("*")) == before


def test_a_hostile_column_name_stays_text_in_the_terminal(study, capsys):
    text = Path("rna.csv").read_text()
    Path("rna.csv").write_text(text.replace("gene1", "[bold red]gene[/]"))
    arguments = ["cluster", *FILES, "-k", "3", "-o", "out", "--refits", "0"]
    assert main(arguments) == 0
    assert HOSTILE not in Path("out/report.html").read_text()


def test_an_error_inside_a_run_is_code_1(study, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("imvc.workflow._save.write_cluster_page", fail)
    arguments = ["cluster", *FILES, "-k", "3", "-o", "out", "--refits", "0", "-q"]
    assert main(arguments) == 1
    assert capsys.readouterr().err == "imvc: the disk is full\n"
    assert not Path("out").exists()


def test_no_colour_in_a_terminal_where_none_is_wanted(study, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["inspect", *FILES]) == 0
    assert "\x1b[3" in capsys.readouterr().err
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["inspect", *FILES]) == 0
    out, err = capsys.readouterr()
    assert "\x1b[3" not in out + err


def test_an_earlier_run_is_kept_unless_overwriting_is_asked_for(clustered, capsys):
    paths = [str(clustered / name) for name in FILES]
    before = (clustered / "out" / "run.json").read_bytes()
    assert main(["cluster", *paths, "-o", str(clustered / "out")]) == 2
    assert "already holds results" in capsys.readouterr().err
    assert (clustered / "out" / "run.json").read_bytes() == before


def test_a_folder_that_is_being_written_to_is_refused_at_once(study, capsys):
    with OutputFolder("out"):
        assert main(["cluster", *FILES, "-k", "3", "-o", "out", "--overwrite"]) == 2
    assert f"out: is being written by process {os.getpid()}" in capsys.readouterr().err


def test_of_two_commands_in_one_folder_one_wins_and_its_result_is_whole(study):
    command = [sys.executable, "-m", "imvc.cli", "cluster", *FILES, "-o", "out", "-q"]
    both = [
        subprocess.Popen(
            [*command, "-k", "3", "--refits", "0", "--seed", seed],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    told = [process.communicate()[1] for process in both]
    codes = [process.returncode for process in both]
    assert sorted(codes) == [0, 2]
    assert "imvc: out: " in told[codes.index(2)]
    record = json.loads(Path("out/run.json").read_text())
    assert str(record["request"]["random_state"]) == ("1", "2")[codes.index(0)]
    for name, mark in record["outputs"].items():
        content = Path("out", name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == mark["sha256"], name
    assert not list(Path("out").glob(".*"))


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (getattr(signal, "SIGHUP", 1), 129)],
    ids=["Ctrl-C", "SIGTERM", "SIGHUP"],
)
def test_a_signal_gives_its_code_and_leaves_nothing_half_written(study, number, code):
    command = [sys.executable, "-m", "imvc.cli", "cluster", *FILES, "-o", "out"]
    process = subprocess.Popen(
        # So many refits that it is certainly still at them.
        [*command, "-k", "3", "--refits", "100000"],
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background jobs ignore Ctrl-C, those of nohup SIGHUP, and so would
        # what they start.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    try:
        # Refits are fits: it is fitting, again and again.
        for line in process.stderr:
            if line.startswith("confidence"):
                break
        assert list(Path("out").glob(".imvc-staging-*"))
        process.send_signal(number)
        rest = process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.wait()
    assert process.returncode == code
    assert rest == "imvc: interrupted; no half-written file is left.\n"
    assert not Path("out").exists()


def test_the_demo_ends_with_the_report_and_how_to_look_at_it(
    tmp_path, monkeypatch, capsys
):
    from imvc import workflow

    made = []

    def small(folder, **options):
        made.append(options)
        return made_up

    class made_up:
        class run:
            warnings, no_structure = ("odd",), None

        files = {"report.html": Path("x") / "report.html"}
        command = "imvc cluster x"

        @staticmethod
        def cells():
            return ["method"], [["bridge"]]

    monkeypatch.setattr(workflow, "demo", small)
    assert main(["demo", "-o", str(tmp_path), "--refits", "3"]) == 0
    assert made[0]["n_refits"] == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].rstrip() == "warning: odd"
    assert lines[-2] == str(Path("x") / "report.html")
    assert lines[-1] == f"Look at it in the browser: imvc studio {tmp_path}"


def test_progress_in_a_terminal_has_a_bar_for_every_stage(study, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["cluster", *FILES, "-k", "3", "--refits", "1"]) == 0
    told = capsys.readouterr().err
    for stage in ("read", "fit", "confidence", "explain", "report"):
        assert stage in told
    assert "━" in told


def test_the_time_left_follows_the_pace_or_the_estimate():
    from imvc.cli._progress_bars import _left
    from imvc.workflow import Progress

    assert _left(Progress("compare", done=1, total=3), 20.0) == "about 40 s left"
    assert _left(Progress("fit", expected=30.0), 10.0) == "about 20 s left"
    assert _left(Progress("fit", expected=30.0), 50.0) == "about 0 s left"
    assert _left(Progress("read"), 5.0) == ""


def test_noise_is_called_so_first_in_terminal_json_and_page(
    tmp_path, monkeypatch, capsys
):
    rng = np.random.RandomState(0)
    files = ["a.npy", "b.npy", "c.npy"]
    for name in files:
        np.save(tmp_path / name, rng.standard_normal((200, 10)))
    monkeypatch.chdir(tmp_path)
    assert main(["cluster", *files, "-o", "out", "--refits", "0"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(NO_CLUSTERS)
    assert "warning" not in err
    record = json.loads(Path("out/run.json").read_text())
    assert record["result"]["evidence"] == "none"
    assert record["warnings"][0].startswith(NO_CLUSTERS)
    page = Path("out/report.html").read_text()
    assert page.index(NO_CLUSTERS) < page.index("<h1>")


def test_rows_of_one_view_come_from_several_files(study, capsys):
    lines = Path("rna.csv").read_text().splitlines(keepends=True)
    Path("first.csv").write_text("".join(lines[:30]))
    Path("rest.csv").write_text("".join([lines[0], *lines[30:]]))
    options = ["-k", "3", "--refits", "0", "--no-report", "--json", "-q"]
    assert main(["cluster", *FILES, *options, "-o", "whole"]) == 0
    whole = json.loads(capsys.readouterr().out)
    rows = ["--rows", "rna=first.csv,rest.csv"]
    assert main(["cluster", *FILES[1:], *rows, *options, "-o", "parts"]) == 0
    parts = json.loads(capsys.readouterr().out)
    assert parts["views"] == {**whole["views"]}
    assert sorted(parts["sizes"]) == sorted(whole["sizes"])
    again = ["cluster", "--from", "parts/run.json", "-o", "again", "--json", "-q"]
    assert main(again) == 0
    assert json.loads(capsys.readouterr().out)["same_labels"]
