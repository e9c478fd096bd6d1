"""What a terminal of 80 columns shows: words whole, bars short, tables unfolded."""

import io
import re
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

from imvc.cli import _progress_bars, main
from imvc.cli._wrap import hanging
from imvc.methods import list_methods
from imvc.workflow import Progress
from study_files import write_classes, write_study

FILES = ["rna.csv", "protein.tsv", "clinical.csv"]
WARNING = "warning: " + "columns of very different scale rule the distances, " * 5
WARNING += "and that is all"
on_posix = pytest.mark.skipif(sys.platform == "win32", reason="no such terminals")


@pytest.fixture
def study(tmp_path, monkeypatch):
    _, classes = write_study(tmp_path)
    write_classes(tmp_path / "known.csv", classes)
    monkeypatch.chdir(tmp_path)


def in_terminal(*arguments, columns=80):
    from terminal import run_in_terminal

    return run_in_terminal(*arguments, columns=columns)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_lines_break_between_words_and_all_but_the_first_are_indented(width):
    lines = hanging(WARNING, width).splitlines()
    assert " ".join(" ".join(lines).split()) == WARNING
    assert max(map(len, lines)) <= width
    assert all(line.startswith("  ") and line[2] != " " for line in lines[1:])


def test_a_word_longer_than_the_line_stays_whole():
    path = "/a-long/" + "folder-" * 20
    assert f"  {path}" in hanging(f"wrote {path} and more", 40).splitlines()


def console_of(monkeypatch, width=80, terminal=True):
    """What the bars write, in a terminal of a given width or none."""
    import rich.console

    told = io.StringIO()

    class Console(rich.console.Console):
        def __init__(self, **_):
            options = dict(width=width) if terminal else {}
            super().__init__(
                file=told, force_terminal=terminal, color_system=None, **options
            )

    monkeypatch.setattr(rich.console, "Console", Console)
    return told


def lines_of(told):
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", told.getvalue())
    return [line for line in re.split(r"[\r\n]", plain) if line.strip()]


@pytest.mark.parametrize("bars", [True, False])
def test_messages_wrap_at_words_in_a_terminal(monkeypatch, bars):
    told = console_of(monkeypatch)
    with _progress_bars.stage_progress(bars=bars) as tell:
        tell(Progress(message=WARNING))
    assert lines_of(told) == hanging(WARNING, 80).splitlines()


def test_messages_are_one_line_each_elsewhere(monkeypatch):
    told = console_of(monkeypatch, terminal=False)
    with _progress_bars.stage_progress() as tell:
        tell(Progress(message=WARNING))
        tell(Progress(message="done"))
    assert told.getvalue() == f"{WARNING}\ndone\n"


def test_a_stage_that_has_just_begun_is_told_by_its_name_alone(monkeypatch):
    told = console_of(monkeypatch, terminal=False)
    with _progress_bars.stage_progress() as tell:
        tell(Progress("structure", 0, 8))
    assert told.getvalue() == "structure\n"


LONG = "a stage with a name that is much too long for a terminal of 80 columns"


def test_bars_of_stages_fit_the_terminal_and_keep_their_times(monkeypatch):
    told = console_of(monkeypatch)
    with _progress_bars.stage_progress() as tell:
        tell(Progress(LONG, 999, 1000, expected=5000.0))
    lines = lines_of(told)
    assert max(map(len, lines)) <= 80
    assert re.fullmatch(
        r"a stage with a name tha… .* 0:00:0\d about \d+ .* left *", lines[-1]
    )


def test_bars_of_suites_fit_the_terminal_and_keep_their_times(monkeypatch):
    told = console_of(monkeypatch)
    with _progress_bars.progress_bar(LONG) as tell:
        tell(SimpleNamespace(runs=10000, done=9999))
    lines = lines_of(told)
    assert max(map(len, lines)) <= 80
    assert re.search(r" 9999/10000 0:00:0\d left [-\d]+:[-\d]+$", lines[-1])


def test_lines_about_suites_are_one_each_elsewhere(monkeypatch):
    told = console_of(monkeypatch, terminal=False)
    with _progress_bars.progress_bar(f"{LONG} and more") as tell:
        tell(SimpleNamespace(runs=2, done=2))
    assert told.getvalue() == f"{LONG} and more: 2/2\n"


@on_posix
def test_all_methods_are_compared_within_80_columns(study):
    methods = ",".join(list_methods())
    arguments = ["-k", "3", "--labels", "known.csv", "--methods", methods]
    code, lines = in_terminal("compare", *FILES, *arguments)
    assert code == 0
    assert max(map(len, lines)) <= 80
    rows = [line.split()[0] for line in lines if line.split()]
    at = rows.index("method")
    known = list(list_methods())
    assert rows[at + 1 : at + 1 + len(known)] == known
    assert f"{len(known)} impute-kmeans" in " ".join(lines[-5:])


def test_redirected_tables_of_a_comparison_are_the_same(study, capsys):
    methods = ",".join(list_methods())
    assert main(["compare", *FILES, "-k", "3", "--methods", methods, "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].split()[0] == "bridge"


def test_the_error_of_a_method_stands_below_the_table(study, capsys, monkeypatch):
    def fail(self, runner, seeds):
        raise RuntimeError("no luck " * 20)

    monkeypatch.setattr("imvc.methods.rise.RISE._learn_blocks", fail)
    arguments = ["compare", *FILES, "-k", "3", "--methods", "impute-kmeans,rise", "-q"]
    assert main(arguments) == 1
    out = capsys.readouterr().out
    assert out.endswith(f"rise failed: RuntimeError: {'no luck ' * 20}".strip() + "\n")


@on_posix
def test_an_error_wraps_at_words_in_a_terminal(study):
    code, lines = in_terminal("cluster", *FILES, "--set", "n_anchors=lots")
    told = [line for line in lines if line.strip()]
    assert code == 2
    assert max(map(len, told)) <= 80
    assert told[0].startswith("imvc: The 'n_anchors' parameter")
    assert all(line.startswith("  ") for line in told[1:])
    assert " ".join(" ".join(told).split()).endswith("(--set n_anchors=VALUE).")


@on_posix
@pytest.mark.parametrize("columns", [60, 80])
def test_a_whole_run_keeps_within_its_terminal(study, columns):
    arguments = ["-k", "3", "--refits", "1", "-o", "out"]
    code, lines = in_terminal("cluster", *FILES, *arguments, columns=columns)
    assert code == 0
    assert max(map(len, lines)) <= columns
