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
    from imvc.workflow._commands import command_line as command_line
    from imvc.workflow._commands import command_words as command_words
    from imvc.workflow._commands import python_script as python_script
    from imvc.workflow._commands import script_text as script_text
    from imvc.workflow._compare import compare as compare
    from imvc.workflow._compare import compare_methods as compare_methods
    from imvc.workflow._compare import read_classes as read_classes
    from imvc.workflow._compare_runs import Flow as Flow
    from imvc.workflow._compare_runs import FlowCluster as FlowCluster
    from imvc.workflow._compare_runs import compare_runs as compare_runs
    from imvc.workflow._comparison import Comparison as Comparison
    from imvc.workflow._comparison import MethodComparison as MethodComparison
    from imvc.workflow._demo import Demo as Demo
    from imvc.workflow._demo import demo as demo
    from imvc.workflow._drift import Drift as Drift
    from imvc.workflow._drift import margin_drift as margin_drift
    from imvc.workflow._export import export_embedding as export_embedding
    from imvc.workflow._export import export_labels as export_labels
    from imvc.workflow._export import write_table as write_table
    from imvc.workflow._input_files import BlockFiles as BlockFiles
    from imvc.workflow._input_files import InputFiles as InputFiles
    from imvc.workflow._inspect_source import inspect_source as inspect_source
    from imvc.workflow._label_edits import EditedLabels as EditedLabels
    from imvc.workflow._label_edits import LabelEdits as LabelEdits
    from imvc.workflow._predict import Prediction as Prediction
    from imvc.workflow._predict import predict as predict
    from imvc.workflow._run_json import RunRecord as RunRecord
    from imvc.workflow._run_json import read_record as read_record
    from imvc.workflow._save import output_folder as output_folder
    from imvc.workflow._saved_run import RunData as RunData
    from imvc.workflow._saved_run import SavedRun as SavedRun
    from imvc.workflow._split import split_selection as split_selection
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
            "_commands": "command_line command_words python_script script_text",
            "_compare": "compare compare_methods read_classes",
            "_compare_runs": "Flow FlowCluster compare_runs",
            "_comparison": "Comparison MethodComparison",
            "_demo": "Demo demo",
            "_drift": "Drift margin_drift",
            "_export": "export_embedding export_labels write_table",
            "_input_files": "BlockFiles InputFiles",
            "_inspect_source": "inspect_source",
            "_label_edits": "EditedLabels LabelEdits",
            "_predict": "Prediction predict",
            "_run_json": "RunRecord read_record",
            "_save": "output_folder",
            "_saved_run": "RunData SavedRun",
            "_split": "split_selection",
            "_stages": "Progress Stages",
        },
    )
