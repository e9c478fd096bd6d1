"""What the commands do, as functions: inspect, cluster, predict, compare, demo."""

from imvc.workflow._block_files import BlockFiles
from imvc.workflow._cluster import ClusterRun, cluster
from imvc.workflow._compare import MethodComparison, compare_methods, read_classes
from imvc.workflow._demo import Demo, demo
from imvc.workflow._inspect import inspect_source
from imvc.workflow._out_of_core import OutOfCoreRun, cluster_out_of_core
from imvc.workflow._predict import Prediction, predict
from imvc.workflow._record import RunRecord, read_record
from imvc.workflow._repeat import repeat
from imvc.workflow._save import output_folder
from imvc.workflow._source import InputFiles
from imvc.workflow._stages import Progress, Stages

__all__ = [
    "BlockFiles",
    "ClusterRun",
    "Demo",
    "InputFiles",
    "MethodComparison",
    "OutOfCoreRun",
    "Prediction",
    "Progress",
    "RunRecord",
    "Stages",
    "cluster",
    "cluster_out_of_core",
    "compare_methods",
    "demo",
    "inspect_source",
    "output_folder",
    "predict",
    "read_classes",
    "read_record",
    "repeat",
]
