"""From suites to runs: settings, keys, groups."""

from dataclasses import replace

import numpy as np

from imvc.experiments import (
    MethodSpec,
    RunSpec,
    group_runs,
    list_suites,
    load_suite,
    plan_suite,
)
from imvc.experiments._suite_plan import settings


def test_keys_do_not_change_between_versions():
    """A change of this number would make every stored record be run again."""
    spec = RunSpec("webkb", "rise", {"beta": 100.0, "n_anchors": 8}, 0.1, 0, 3)
    assert spec.key == "d5d1de05d7e07662ee3a7ac5"


def test_keys_differ_in_every_field():
    base = {"dataset": "a", "method": "rise", "parameters": {"beta": 1}}
    base |= {"rate": 0.1, "mask_seed": 0, "seed": 0}
    base |= {"protocol": "paired-share", "row_order": "shuffled"}
    other = {"dataset": "b", "method": "daimc", "parameters": {"beta": 2}}
    other |= {"rate": 0.2, "mask_seed": 1, "seed": 1}
    other |= {"protocol": "single-view", "row_order": "by-class"}
    keys = {RunSpec(**{**base, name: other[name]}).key for name in base}
    assert len(keys | {RunSpec(**base).key}) == 9


def test_multiples_of_the_clusters_are_worked_out_and_constraints_kept():
    method = MethodSpec(
        "rise",
        "rise",
        grid={"n_anchors": ("c", "2c", 8), "embedding_dim": ("c", "3c")},
        grid_for={"special": {"n_anchors": ("10c",)}},
        constraints=("embedding_dim < n_anchors",),
    )
    found = settings(method, "any", n_clusters=4)
    # 2c and 8 are one setting for four clusters; m = 4 leaves no dimension below it.
    assert found == [{"n_anchors": 8, "embedding_dim": 4}]
    special = settings(method, "special", n_clusters=4)
    assert [s["embedding_dim"] for s in special] == [4, 12]


def test_a_grid_may_ask_for_some_more_than_the_clusters():
    grid = {"n_anchors": ("c", "c+1", "2c+10", "c + 1", "c+")}
    found = settings(MethodSpec("rise", "rise", grid=grid), "any", n_clusters=4)
    assert [s["n_anchors"] for s in found] == [4, 5, 18, "c + 1", "c+"]


def test_a_plan_is_the_product_of_rates_seeds_and_settings(write_suite, home):
    plan = plan_suite(load_suite(write_suite()), data_home=home)
    assert len(plan.runs) == 2 * 1 * 2 * (1 + 3 + 1)
    assert [run.role for run in plan.runs].count("default") == 4
    # The defaults stand in the grid too.
    assert len({run.spec.key for run in plan.runs}) == 2 * 1 * 2 * (1 + 3)


def test_every_grid_of_every_suite_contains_the_defaults(home):
    for name in list_suites():
        suite = replace(load_suite(name), datasets=("planted",))
        runs = plan_suite(suite, data_home=home).runs
        for label in {run.label for run in runs if run.role == "grid"}:
            own = [run for run in runs if run.label == label]
            default = {run.spec.key for run in own if run.role == "default"}
            assert default <= {run.spec.key for run in own if run.role == "grid"}


def test_protocols_have_rates_of_their_own_and_can_be_picked(write_suite, home):
    table = "protocols = { paired-share = [0.1, 0.5], single-view = [0.5] }"
    changes = [("rates =", f"{table}\nrates =")]
    suite = load_suite(write_suite(changes=changes))

    def masks(**picked):
        plan = plan_suite(suite, data_home=home, **picked)
        return {(run.spec.protocol, run.spec.rate) for run in plan.runs}

    assert masks() == {
        ("paired-share", 0.1),
        ("paired-share", 0.5),
        ("single-view", 0.5),
    }
    assert masks(protocols=["single-view"]) == {("single-view", 0.5)}
    assert masks(rates=[0.1]) == {("paired-share", 0.1)}


def test_an_asterisk_is_every_set_with_two_views_and_the_digits(write_suite, home):
    np.savez(home / "lonely.npz", X0=np.eye(4), y=[0, 0, 1, 1])
    changes = [('datasets = ["planted"]', 'datasets = ["*"]')]
    plan = plan_suite(load_suite(write_suite(changes=changes)), data_home=home)
    assert sorted(plan.shapes) == ["digits", "planted"]
    assert "one view only" in plan.absent["lonely"]


def test_rates_and_seeds_can_be_picked(write_suite, home):
    plan = plan_suite(load_suite(write_suite()), data_home=home, rates=[0.5], seeds=[1])
    assert {(run.spec.rate, run.spec.seed) for run in plan.runs} == {(0.5, 1)}


def test_costly_methods_are_not_searched_on_sets_above_the_limit(write_suite, home):
    """The planted set has 60 samples; cost is what the registry says."""

    def roles(method, limit):
        changes = [
            ("level = [1, 2, 3]", "ridge = [1.0, 2.0]"),
            ("rates =", f"search_samples = {limit}\nrates ="),
        ]
        suite = load_suite(write_suite(method, changes=changes))
        return {run.role for run in plan_suite(suite, data_home=home).runs}

    assert roles("hcls-cgl", 59) == {"default"}
    assert roles("hcls-cgl", 60) == {"default", "grid"}
    assert roles("imvc-cbg", 59) == {"default", "grid"}


def test_runs_of_rise_share_a_group_when_only_beta_and_dimension_differ():
    def spec(**parameters):
        return RunSpec("webkb", "rise", parameters, 0.1, 0, 0)

    path = [spec(beta=b, embedding_dim=d, n_anchors=8) for b in (1, 2) for d in (2, 4)]
    alone = [spec(), spec(beta=1, graph="full"), spec(beta=2, graph="full")]
    other = [spec(beta=1, n_anchors=9)]
    sizes = sorted(len(group) for group in group_runs([*path, *alone, *other]))
    assert sizes == [1, 1, 1, 1, 4]


def test_a_naturally_incomplete_set_is_run_once_as_it_is(write_suite, home):
    content = dict(np.load(home / "planted.npz"))
    mask = np.ones((60, 3), dtype=int)
    mask[:7, 0] = 0
    np.savez(home / "planted.npz", mask=mask, **content)
    plan = plan_suite(load_suite(write_suite()), data_home=home)
    assert {(run.spec.protocol, run.spec.rate) for run in plan.runs} == {
        ("as-it-is", 0.0)
    }
