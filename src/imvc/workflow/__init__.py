"""What the commands do, as functions: inspect, cluster, predict, compare, demo."""

from imvc.workflow._adjust import Adjustment, adjust_batches
from imvc.workflow._batch_effects import BatchEffects
from imvc.workflow._cluster import cluster, inspect_source, repeat
from imvc.workflow._cluster_run import ClusterRun
from imvc.workflow._compare import compare, compare_methods, read_classes
from imvc.workflow._comparison import Comparison, MethodComparison
from imvc.workflow._demo import Demo, demo
from imvc.workflow._input_files import BlockFiles, InputFiles
from imvc.workflow._predict import Prediction, predict
from imvc.workflow._run_json import RunRecord, read_record
from imvc.workflow._save import output_folder
from imvc.workflow._stages import Progress, Stages

__all__ = [
    "Adjustment",
    "BatchEffects",
    "BlockFiles",
    "ClusterRun",
    "Comparison",
    "Demo",
    "InputFiles",
    "MethodComparison",
    "Prediction",
    "Progress",
    "RunRecord",
    "Stages",
    "adjust_batches",
    "cluster",
    "compare",
    "compare_methods",
    "demo",
    "inspect_source",
    "output_folder",
    "predict",
    "read_classes",
    "read_record",
    "repeat",
]
