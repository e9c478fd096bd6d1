"""The methods, one file or folder each; a class is imported when it is touched."""

from typing import TYPE_CHECKING

from imvc._lazy import lazy_names
from imvc.methods._registry import METHODS

if TYPE_CHECKING:
    from imvc.methods._base import MultiViewClusterer as MultiViewClusterer
    from imvc.methods._cost import Cost as Cost
    from imvc.methods._cost import check_fits as check_fits
    from imvc.methods._cost import estimate_cost as estimate_cost
    from imvc.methods._registry import *  # noqa: F403 - the classes of all methods
    from imvc.methods.persistence import load_model as load_model
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "_base": "MultiViewClusterer",
            "_cost": "Cost check_fits estimate_cost",
            "_registry": "MethodName get_method list_methods",
            "persistence": "load_model",
            **{
                entry.path.split(":")[0].removeprefix(f"{__name__}."): entry.class_name
                for entry in METHODS.values()
            },
        },
    )
