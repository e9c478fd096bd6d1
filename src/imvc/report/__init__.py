"""Reports from records: tables, figures, and one self-contained page.

Figures need matplotlib, the page needs jinja2: ``pip install 'imvc[report]'``.
"""

from imvc.report._cluster_page import cluster_page, write_cluster_page
from imvc.report._cluster_report import ClusterReport
from imvc.report._figures import Figure, suite_figures
from imvc.report._plots import (
    plot_anchors_dim,
    plot_convergence,
    plot_critical_difference,
    plot_missing_rate,
    plot_parameter,
    plot_times,
    ranking_of,
)
from imvc.report._suite_tables import (
    failure_table,
    score_table,
    settings_table,
    suite_tables,
    time_table,
)
from imvc.report._table import Table
from imvc.report._write import (
    Section,
    make_section,
    read_sections,
    render_page,
    write_report,
)

__all__ = [
    "ClusterReport",
    "Figure",
    "Section",
    "Table",
    "cluster_page",
    "failure_table",
    "make_section",
    "plot_anchors_dim",
    "plot_convergence",
    "plot_critical_difference",
    "plot_missing_rate",
    "plot_parameter",
    "plot_times",
    "ranking_of",
    "read_sections",
    "render_page",
    "score_table",
    "settings_table",
    "suite_figures",
    "suite_tables",
    "time_table",
    "write_cluster_page",
    "write_report",
]
