"""What the commands do, as functions: inspect, cluster, predict, compare, demo."""

from typing import TYPE_CHECKING

from imvc._lazy import lazy_names

if TYPE_CHECKING:
    from imvc.workflow._adjust import Adjustment as Adjustment
    from imvc.workflow._adjust import adjust_batches as adjust_batches
    from imvc.workflow._batch_effects import BatchEffects as BatchEffects
    from imvc.workflow._cluster import cluster as cluster
    from imvc.workflow._cluster import repeat as repeat
    from imvc.workflow._cluster_run import ClusterRun as ClusterRun
    from imvc.workflow._compare import compare as compare
    from imvc.workflow._compare import compare_methods as compare_methods
    from imvc.workflow._compare import read_classes as read_classes
    from imvc.workflow._comparison import Comparison as Comparison
    from imvc.workflow._comparison import MethodComparison as MethodComparison
    from imvc.workflow._demo import Demo as Demo
    from imvc.workflow._demo import demo as demo
    from imvc.workflow._input_files import BlockFiles as BlockFiles
    from imvc.workflow._input_files import InputFiles as InputFiles
    from imvc.workflow._inspect_source import inspect_source as inspect_source
    from imvc.workflow._predict import Prediction as Prediction
    from imvc.workflow._predict import predict as predict
    from imvc.workflow._run_json import RunRecord as RunRecord
    from imvc.workflow._run_json import read_record as read_record
    from imvc.workflow._save import output_folder as output_folder
    from imvc.workflow._stages import Progress as Progress
    from imvc.workflow._stages import Stages as Stages
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "_adjust": "Adjustment adjust_batches",
            "_batch_effects": "BatchEffects",
            "_cluster": "cluster repeat",
            "_cluster_run": "ClusterRun",
            "_compare": "compare compare_methods read_classes",
            "_comparison": "Comparison MethodComparison",
            "_demo": "Demo demo",
            "_input_files": "BlockFiles InputFiles",
            "_inspect_source": "inspect_source",
            "_predict": "Prediction predict",
            "_run_json": "RunRecord read_record",
            "_save": "output_folder",
            "_stages": "Progress Stages",
        },
    )
