"""Pages: `cluster_page` of one clustering, `suite_page` of experiments.

Pages need jinja2, figures of experiments matplotlib: ``pip install 'imvc[report]'``.
"""

from importlib import import_module
from typing import Any

# The function shares its name with the package it comes from and hides it here; modules
# of the package are imported by their full name.
from imvc.report.cluster_page import ClusterReport, cluster_page, write_cluster_page

# Name of every public thing about experiments, and the module of `suite_page` it is in.
_SUITE_PAGE = {
    "Figure": "_figures",
    "Section": "_suite_html",
    "Table": "_text_table",
    "failure_table": "_suite_tables",
    "make_section": "_suite_html",
    "plot_anchors_dim": "_plots",
    "plot_convergence": "_plots",
    "plot_critical_difference": "_plots",
    "plot_missing_rate": "_plots",
    "plot_parameter": "_plots",
    "plot_times": "_plots",
    "ranking_of": "_suite_tables",
    "read_sections": "_suite_html",
    "render_page": "_suite_html",
    "score_table": "_suite_tables",
    "settings_table": "_suite_tables",
    "suite_figures": "_figures",
    "suite_tables": "_suite_tables",
    "time_table": "_suite_tables",
    "write_report": "_suite_html",
}
__all__ = ["ClusterReport", "cluster_page", "write_cluster_page", *_SUITE_PAGE]


def __getattr__(name: str) -> Any:
    """Load what is about experiments when asked for: clustering does without it."""
    if name in _SUITE_PAGE:
        module = import_module(f"imvc.report.suite_page.{_SUITE_PAGE[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'imvc.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
