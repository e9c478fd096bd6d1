"""The methods, one file each."""

from imvc.methods._base import MultiViewClusterer
from imvc.methods._cost import Cost, check_fits, estimate_cost
from imvc.methods._persistence import load_model
from imvc.methods._registry import get_method, list_methods
from imvc.methods.bridge import AnchorBridge
from imvc.methods.daimc import DAIMC
from imvc.methods.gsrimc import GSRIMC
from imvc.methods.hcls_cgl import HCLSCGL
from imvc.methods.impute_kmeans import ImputeKMeans
from imvc.methods.imvc_cbg import IMVCCBG
from imvc.methods.imvtsc_mvi import IMVTSCMVI
from imvc.methods.pimvc import PIMVC
from imvc.methods.psimvc_pg import PSIMVCPG
from imvc.methods.rise import RISE
from imvc.methods.sfsr_imvc import SFSRIMVC
from imvc.methods.simvc_sa import SIMVCSA
from imvc.methods.ueaf import UEAF

__all__ = [
    "AnchorBridge",
    "Cost",
    "DAIMC",
    "GSRIMC",
    "HCLSCGL",
    "IMVCCBG",
    "IMVTSCMVI",
    "ImputeKMeans",
    "MultiViewClusterer",
    "PIMVC",
    "PSIMVCPG",
    "RISE",
    "SFSRIMVC",
    "SIMVCSA",
    "UEAF",
    "check_fits",
    "estimate_cost",
    "get_method",
    "list_methods",
    "load_model",
]
