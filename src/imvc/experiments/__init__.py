"""Experiments: suites of runs, a file of records, and what may be read off them.

A suite (TOML) is planned into runs, runs are done by child processes under limits, and
every finished run is one record in a SQLite file. See docs/experiments.md.
"""

from imvc._machine import machine_info
from imvc.experiments._estimate import Estimate, estimate_plan
from imvc.experiments._import import import_dataset
from imvc.experiments._own_method import OwnMethod, own_method
from imvc.experiments._pairs import Pair, compare_pairs, signed_rank_probabilities
from imvc.experiments._published import CITATION, Published, published
from imvc.experiments._ranks import Ranking, rank_methods
from imvc.experiments._records_file import RecordStore
from imvc.experiments._rivals import Rival, find_rivals, list_adapters
from imvc.experiments._run_group import run_group
from imvc.experiments._run_record import STATUSES, Entry, Record
from imvc.experiments._select import SELECTIONS, chosen_settings, select
from imvc.experiments._suite import (
    MethodSpec,
    PlannedRun,
    RunSpec,
    Suite,
    SuiteError,
)
from imvc.experiments._suite_file import list_suites, load_suite, suite_path
from imvc.experiments._suite_plan import Plan, group_runs, plan_suite
from imvc.experiments._suite_run import Progress, run_plan
from imvc.experiments._summary import Cell, own_seconds, summarize

__all__ = [
    "CITATION",
    "SELECTIONS",
    "STATUSES",
    "Cell",
    "Entry",
    "Estimate",
    "MethodSpec",
    "Pair",
    "OwnMethod",
    "Plan",
    "PlannedRun",
    "Progress",
    "Published",
    "Ranking",
    "Record",
    "RecordStore",
    "Rival",
    "RunSpec",
    "Suite",
    "SuiteError",
    "chosen_settings",
    "compare_pairs",
    "estimate_plan",
    "find_rivals",
    "group_runs",
    "import_dataset",
    "list_adapters",
    "list_suites",
    "load_suite",
    "machine_info",
    "own_method",
    "own_seconds",
    "plan_suite",
    "published",
    "rank_methods",
    "run_group",
    "run_plan",
    "select",
    "signed_rank_probabilities",
    "suite_path",
    "summarize",
]


def __dir__() -> list[str]:
    return __all__
