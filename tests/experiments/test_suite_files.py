"""Suites: what is read from TOML, and what wrong ones are told."""

import math

import pytest

from imvc.experiments import SuiteError, list_suites, load_suite, plan_suite, suite_path

ISSUE = {
    *("table2", "table3", "fig-missing-rate", "fig-beta", "fig-anchors-dim"),
    *("fig-convergence", "fig-anchor-strategy", "fig-completion", "fig-graph"),
}


def test_every_experiment_of_the_paper_has_a_suite():
    assert set(list_suites()) >= ISSUE


@pytest.mark.parametrize("size", ["quick", "full"])
@pytest.mark.parametrize("name", sorted(ISSUE | {"table2-large"}))
def test_packaged_suites_name_only_parameters_their_methods_have(name, size, tmp_path):
    """Planned on an empty folder: methods are checked, datasets are absent."""
    plan = plan_suite(load_suite(name, size), data_home=tmp_path)
    assert set(plan.absent) == set(plan.suite.datasets)
    assert plan.runs == ()


@pytest.mark.parametrize("size", ["quick", "full"])
def test_grids_reach_the_settings_of_published_figures(size):
    """Issue 16: UEAF on Prokaryotic and SIMVC-SA on WebKB need the edges of these."""
    grids = {method.label: method.grid for method in load_suite("table2", size).methods}
    assert 10 in grids["ueaf"]["feature_smoothness"]
    assert 1000 in grids["ueaf"]["sample_smoothness"]
    assert 10 in grids["ueaf"]["spectral_weight"]
    assert 0 in grids["simvc-sa"]["ridge"]
    assert "5c" in grids["simvc-sa"]["n_anchors"]
    settings = math.prod(map(len, grids["ueaf"].values()))
    assert settings == {"quick": 12, "full": 36}[size]


def test_a_suite_that_extends_another_keeps_what_it_does_not_name():
    table, figure = load_suite("table2"), load_suite("fig-missing-rate")
    assert figure.methods == table.methods
    assert figure.rates == table.rates
    assert figure.figures == ("missing-rate",)


def test_a_copied_suite_reads_like_the_packaged_one(tmp_path):
    copy = tmp_path / "mine.toml"
    copy.write_text(suite_path("fig-missing-rate").read_text())
    assert load_suite(copy).methods == load_suite("fig-missing-rate").methods


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rates = [0.1, 0.5]", "rates = [1.5]", r"small.toml: quick.rates = \[1.5\]: "),
        ("rates = [0.1, 0.5]", "rates = [0.1, 0.1]", "has an entry twice; remove it"),
        ("rates = [0.1, 0.5]", "rate = [0.1]", "quick.rate = .*unknown key; there are"),
        ("seeds = [0, 1]", "seeds = 3", "quick.seeds = 3: must be a list of seeds"),
        ("level = [1, 2, 3]", "level = 1", "one.grid.level = 1: write a list of"),
        ('["missing-rate"]', '["pie"]', "figures = 'pie': unknown; there are: anchors"),
        ("[quick]", "[quick]\ntime_limit = 0", "time_limit = 0: must be a positive"),
        ('title = "small"', "title = 1", "title = 1: must be a text in quotes"),
        ("[quick]", '[quick]\nprotocols = ["half"]', "protocols = 'half': unknown; "),
        ("[quick]", "[quick]\nprotocols = 3", "quick.protocols = 3: write a list of"),
        (
            "[quick]",
            "[quick]\nprotocols = { single-view = [0.7] }",
            r"protocols.single-view = \[0.7\]: must be .* rates, each among \[0.1, ",
        ),
        (
            "[quick]",
            '[quick]\nrow_orders = ["up"]',
            "row_orders = .*list of shuffled and",
        ),
        ("[quick]", "[quick]\nrow_orders = []", "row_orders = .*, at least one"),
        ("[quick]", "[quick]\ngive_up_after = 0", "must be a number of runs >= 1"),
        ("[full]", "[full", "small.toml is not valid TOML: "),
        pytest.param(
            "seeds = [0, 1]",
            f"seeds = {'1' * 5000}",
            "small.toml is not valid TOML: ",
            id="long number",
        ),
        (
            'title = "small"',
            'extends = "no"',
            "small.toml: extends: unknown suite 'no'",
        ),
        ('label = "one"', 'default = "no"', "default = 'no': write true or false"),
        ('name = "dummy_methods:Dummy"', "", "every .*method.* needs a name"),
        ("[quick]", "[quick.grid.two]\n[quick]", "not valid TOML|no such method"),
    ],
)
def test_a_wrong_suite_is_told_file_key_value_and_remedy(
    write_suite, old, new, message
):
    path = write_suite()
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(SuiteError, match=message):
        load_suite(path)


def test_an_unknown_suite_lists_the_known_ones():
    with pytest.raises(SuiteError, match="unknown suite 'tabel2'; there are: fig-"):
        load_suite("tabel2")
    with pytest.raises(SuiteError, match="size='huge' must be one of: quick, full"):
        load_suite("table2", "huge")


def test_an_unknown_method_or_parameter_is_named(write_suite, home):
    with pytest.raises(SuiteError, match="'one': no method named 'rice'; there are"):
        plan_suite(load_suite(write_suite("rice")), data_home=home)
    path = write_suite(parameters="{ bet = 1 }")
    with pytest.raises(SuiteError, match="bet is not a parameter of dummy_methods"):
        plan_suite(load_suite(path), data_home=home)


def test_a_filter_must_name_what_the_suite_has(write_suite, home):
    suite = load_suite(write_suite())
    with pytest.raises(SuiteError, match=r"no 'wiki' among its datasets; .*planted"):
        plan_suite(suite, data_home=home, datasets=["wiki"])
    with pytest.raises(SuiteError, match="no 'two' among its methods"):
        plan_suite(suite, data_home=home, methods=["two"])
    with pytest.raises(SuiteError, match=r"no 0\.2 among its rates; there are: 0\.1"):
        plan_suite(suite, data_home=home, rates=[0.2])
