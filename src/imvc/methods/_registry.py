"""The methods by name: one line each."""

from dataclasses import dataclass, field

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

__all__ = ["METHODS", "Method", "get_method", "list_methods"]


@dataclass(frozen=True)
class Method:
    """A line of the registry.

    Parameters
    ----------
    name : str
    estimator : class
    paper : str
    cost : {"O(n)", "O(n^2)", "O(n^3)"}
        Growth in the number of samples.
    test_options : dict
        Parameters with which planted clusters are found in the common checks.
    """

    name: str
    estimator: type
    paper: str
    cost: str
    test_options: dict = field(default_factory=dict)


METHODS = {
    method.name: method
    for method in (
        Method("bridge", AnchorBridge, "this library", "O(n)"),
        Method("rise", RISE, "Wang, Zhang, Zhou, AAAI 2025", "O(n)"),
        Method("ueaf", UEAF, "Wen et al., AAAI 2019", "O(n^3)"),
        Method("pimvc", PIMVC, "Deng et al., TNNLS 2024", "O(n)"),
        Method("hcls-cgl", HCLSCGL, "Wen et al., CVPR 2023", "O(n^2)"),
        Method("gsrimc", GSRIMC, "Li, Chen, Wang, Lai, TNNLS 2024", "O(n^3)"),
        Method(
            "imvtsc-mvi",
            IMVTSCMVI,
            "Wen et al., AAAI 2021",
            "O(n^3)",
            {"error_penalty": 0.001},
        ),
        Method(
            "daimc",
            DAIMC,
            "Hu, Chen, IJCAI 2018",
            "O(n)",
            {"match_clusters": True, "row_normalize": True},
        ),
        Method(
            "sfsr-imvc",
            SFSRIMVC,
            "Long et al., TKDE 2024",
            "O(n)",
            {"embedding": "features"},
        ),
        Method("psimvc-pg", PSIMVCPG, "Li et al., TNNLS 2024", "O(n)"),
        Method("imvc-cbg", IMVCCBG, "Wang et al., CVPR 2022", "O(n)"),
        Method(
            "simvc-sa", SIMVCSA, "Wen et al., ACM MM 2023", "O(n)", {"alignment": 0.01}
        ),
        Method("impute-kmeans", ImputeKMeans, "mean imputation: the floor", "O(n)"),
    )
}


def list_methods():
    """Names of all methods.

    Examples
    --------
    >>> from imvc import list_methods
    >>> "rise" in list_methods()
    True
    """
    return tuple(METHODS)


def get_method(name):
    """The estimator class of a method.

    Parameters
    ----------
    name : str
        One of `list_methods`.

    Examples
    --------
    >>> from imvc import get_method
    >>> get_method("rise")
    <class 'imvc.methods.rise.RISE'>
    """
    try:
        return METHODS[name].estimator
    except KeyError:
        known = ", ".join(METHODS)
        raise ValueError(f"no method named {name!r}; there are: {known}.") from None
