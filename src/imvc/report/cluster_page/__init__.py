"""The page of one clustering."""

from imvc.report.cluster_page._cluster_html import cluster_page, write_cluster_page
from imvc.report.cluster_page._cluster_report import ClusterReport

__all__ = ["ClusterReport", "cluster_page", "write_cluster_page"]
