"""Pages: `cluster_page` of one clustering, `suite_page` of experiments.

Pages need jinja2, figures of experiments matplotlib: ``pip install 'imvc[report]'``.
"""

from typing import TYPE_CHECKING

from imvc._lazy import lazy_names

# The function shares its name with the package it comes from and hides it here; modules
# of the package are imported by their full name.
from imvc.report.cluster_page import ClusterReport as ClusterReport
from imvc.report.cluster_page import cluster_page as cluster_page
from imvc.report.cluster_page import write_cluster_page as write_cluster_page

if TYPE_CHECKING:
    from imvc.report.suite_page._figures import Figure as Figure
    from imvc.report.suite_page._figures import suite_figures as suite_figures
    from imvc.report.suite_page._plots import plot_anchors_dim as plot_anchors_dim
    from imvc.report.suite_page._plots import plot_convergence as plot_convergence
    from imvc.report.suite_page._plots import (
        plot_critical_difference as plot_critical_difference,
    )
    from imvc.report.suite_page._plots import plot_missing_rate as plot_missing_rate
    from imvc.report.suite_page._plots import plot_parameter as plot_parameter
    from imvc.report.suite_page._plots import plot_times as plot_times
    from imvc.report.suite_page._suite_html import Section as Section
    from imvc.report.suite_page._suite_html import make_section as make_section
    from imvc.report.suite_page._suite_html import read_sections as read_sections
    from imvc.report.suite_page._suite_html import render_page as render_page
    from imvc.report.suite_page._suite_html import write_report as write_report
    from imvc.report.suite_page._suite_tables import failure_table as failure_table
    from imvc.report.suite_page._suite_tables import ranking_of as ranking_of
    from imvc.report.suite_page._suite_tables import score_table as score_table
    from imvc.report.suite_page._suite_tables import settings_table as settings_table
    from imvc.report.suite_page._suite_tables import suite_tables as suite_tables
    from imvc.report.suite_page._suite_tables import time_table as time_table
    from imvc.report.suite_page._text_table import Table as Table
else:  # what is about experiments: clustering does without it
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "cluster_page": "ClusterReport cluster_page write_cluster_page",
            "suite_page._figures": "Figure suite_figures",
            "suite_page._plots": "plot_anchors_dim plot_convergence "
            "plot_critical_difference plot_missing_rate plot_parameter plot_times",
            "suite_page._suite_html": "Section make_section read_sections render_page "
            "write_report",
            "suite_page._suite_tables": "failure_table ranking_of score_table "
            "settings_table suite_tables time_table",
            "suite_page._text_table": "Table",
        },
    )
