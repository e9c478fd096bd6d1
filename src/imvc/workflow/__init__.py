"""What the commands do, as functions: inspect, cluster, predict, compare, demo."""

from imvc.workflow._adjust import Adjustment, adjust_batches
from imvc.workflow._batch_effects import BatchEffects
from imvc.workflow._cluster import cluster, inspect_source, repeat
from imvc.workflow._cluster_run import ClusterRun
from imvc.workflow._commands import (
    command_line,
    command_words,
    python_script,
    script_text,
)
from imvc.workflow._compare import compare, compare_methods, read_classes
from imvc.workflow._compare_runs import Flow, FlowCluster, compare_runs
from imvc.workflow._comparison import Comparison, MethodComparison
from imvc.workflow._demo import Demo, demo
from imvc.workflow._drift import Drift, margin_drift
from imvc.workflow._export import export_embedding, export_labels, write_table
from imvc.workflow._input_files import BlockFiles, InputFiles
from imvc.workflow._label_edits import EditedLabels, LabelEdits
from imvc.workflow._predict import Prediction, predict
from imvc.workflow._run_json import RunRecord, read_record
from imvc.workflow._save import output_folder
from imvc.workflow._saved_run import RunData, SavedRun
from imvc.workflow._split import split_selection
from imvc.workflow._stages import Progress, Stages

__all__ = [
    "Adjustment",
    "BatchEffects",
    "BlockFiles",
    "ClusterRun",
    "Comparison",
    "Demo",
    "Drift",
    "EditedLabels",
    "Flow",
    "FlowCluster",
    "InputFiles",
    "LabelEdits",
    "MethodComparison",
    "Prediction",
    "Progress",
    "RunData",
    "RunRecord",
    "SavedRun",
    "Stages",
    "adjust_batches",
    "cluster",
    "command_line",
    "command_words",
    "compare",
    "compare_methods",
    "compare_runs",
    "demo",
    "export_embedding",
    "export_labels",
    "inspect_source",
    "margin_drift",
    "output_folder",
    "predict",
    "python_script",
    "read_classes",
    "read_record",
    "repeat",
    "script_text",
    "split_selection",
    "write_table",
]
