"""The methods by name: one entry each, readable without importing any of them."""

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:  # for type checkers; at run time a class is imported when touched
    from imvc.methods.bridge import AnchorBridge as AnchorBridge
    from imvc.methods.daimc import DAIMC as DAIMC
    from imvc.methods.gsrimc import GSRIMC as GSRIMC
    from imvc.methods.hcls_cgl import HCLSCGL as HCLSCGL
    from imvc.methods.impute_kmeans import ImputeKMeans as ImputeKMeans
    from imvc.methods.imvc_cbg import IMVCCBG as IMVCCBG
    from imvc.methods.imvtsc_mvi import IMVTSCMVI as IMVTSCMVI
    from imvc.methods.nemo import NEMO as NEMO
    from imvc.methods.opimc import OPIMC as OPIMC
    from imvc.methods.pimvc import PIMVC as PIMVC
    from imvc.methods.psimvc_pg import PSIMVCPG as PSIMVCPG
    from imvc.methods.rise import RISE as RISE
    from imvc.methods.sfsr_imvc import SFSRIMVC as SFSRIMVC
    from imvc.methods.simvc_sa import SIMVCSA as SIMVCSA
    from imvc.methods.snf import SNF as SNF
    from imvc.methods.ueaf import UEAF as UEAF

# Keys of METHODS, for type checkers as well.
# fmt: off
MethodName = Literal[
    "bridge", "rise", "ueaf", "pimvc", "hcls-cgl", "gsrimc", "imvtsc-mvi", "daimc",
    "opimc", "sfsr-imvc", "psimvc-pg", "imvc-cbg", "simvc-sa", "nemo", "snf",
    "impute-kmeans",
]
# fmt: on


@dataclass(frozen=True)
class Rates:
    """What time and memory of a method grow with.

        seconds = F (fixed + start min(n, s)/s + linear (n/1e5)^power
                     + (square n^2 + cube n^3) V/3)
        F       = (D/170)^features (c/5)^clusters (V/3)^views
        bytes   = 8 (squares n^2 + D (wide n + narrow min(n, s)))
                  + n V (row + cluster c) + base V^2

        n  samples      V  views      D  features of all views      c  clusters
        s  rows that anchors and k-means starts are sought on

    The coefficients were measured on two virtual cores with planted clusters (50 %
    incomplete, float64): 300 to 100 000 samples, 170 and 1360 features, 3 and 6 views,
    5 and 20 clusters. Those with square and cube were then raised towards the times of
    WebKB and Wikipedia in benchmarks/RESULTS.md, which need more iterations. Good to a
    factor of about 3; data that are hard to cluster take longer, and machines differ.
    """

    fixed: float
    linear: float = 0.0
    power: float = 1.0
    start: float = 0.0
    square: float = 0.0
    cube: float = 0.0
    features: float = 0.0
    clusters: float = 0.0
    views: float = 0.0
    squares: float = 0.0
    squares_per_view: float = 0.0
    wide: float = 0.0
    narrow: float = 0.0
    row: float = 0.0
    cluster: float = 0.0
    base: float = 0.0
    sought: int = 5000

    def seconds(self, n: int, D: int, V: int, c: int) -> float:
        total = self.fixed + self.start * min(1.0, n / self.sought)
        total += self.linear * (n / 1e5) ** self.power
        total += (self.square * n**2 + self.cube * n**3) * V / 3
        factor = (c / 5) ** self.clusters * (V / 3) ** self.views
        return total * factor * (D / 170) ** self.features

    def bytes(self, n: int, D: int, V: int, c: int) -> float:
        squares = self.squares + self.squares_per_view * V
        wide = D * (self.wide * n + self.narrow * min(n, self.sought))
        return (
            8 * (squares * n**2 + wide)
            + n * V * (self.row + self.cluster * c)
            + self.base * V**2
        )


@dataclass(frozen=True)
class Method:
    """An entry of the registry.

    Parameters
    ----------
    name : str
    path : str
        ``"module:Class"`` of the estimator.
    paper : str
    cost : {"O(n)", "O(n^2)", "O(n^3)"}
        Growth in the number of samples.
    rates : Rates
    predicts : bool
        Whether it places new samples and can be saved.
    finds_number : bool
        Whether ``n_clusters`` may be left to it.
    out_of_core : bool
        Whether the data need not fit into memory.
    sparse : bool
        Whether sparse views stay sparse.
    about : str
        What it is good for, in a plain sentence.
    test_options : dict
        Parameters with which planted clusters are found in the common checks.
    """

    name: str
    path: str
    paper: str
    cost: str
    rates: Rates
    predicts: bool = False
    finds_number: bool = False
    out_of_core: bool = False
    sparse: bool = False
    about: str = ""
    test_options: dict = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        """Name of the estimator."""
        return self.path.partition(":")[2]

    @property
    def estimator(self) -> Any:
        """The estimator's class, imported now."""
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)


# fmt: off
METHODS = {entry.name: entry for entry in (
    Method("bridge", "imvc.methods.bridge:AnchorBridge",
           "this library", "O(n)",
           Rates(fixed=0.7, linear=2.2, power=0.9, start=0.15, features=0.3,
                 clusters=0.2, views=1.5, narrow=3, row=400, base=7e6),
           predicts=True, finds_number=True, out_of_core=True, sparse=True,
           about="The one to begin with: nothing to tune, any number of samples, "
                 "suggests a number of clusters and says how good the evidence for it "
                 "is."),
    Method("rise", "imvc.methods.rise:RISE",
           "Wang, Zhang, Zhou, AAAI 2025", "O(n)",
           Rates(fixed=0.05, linear=0.35, power=0.9, start=0.08, features=0.4,
                 clusters=0.3, views=1, narrow=3, row=140, base=1e6),
           predicts=True, out_of_core=True, sparse=True,
           about="Quick on any number of samples; its result depends on the random "
                 "seed, so look at several."),
    Method("ueaf", "imvc.methods.ueaf:UEAF",
           "Wen et al., AAAI 2019", "O(n^3)",
           Rates(fixed=0.1, cube=1e-9, features=0.3, clusters=0.5, squares=9, wide=3,
                 base=2e5),
           about="For up to a few thousand samples where the missing tables are to be "
                 "filled in as well."),
    Method("pimvc", "imvc.methods.pimvc:PIMVC",
           "Deng et al., TNNLS 2024", "O(n)",
           Rates(fixed=0.04, linear=11, power=1.2, features=0.7, clusters=0.6,
                 wide=2, base=1e6),
           sparse=True,
           about="For many samples whose clusters are set apart along straight lines "
                 "in every table."),
    Method("hcls-cgl", "imvc.methods.hcls_cgl:HCLSCGL",
           "Wen et al., CVPR 2023", "O(n^2)",
           Rates(fixed=0.1, square=8e-7, features=0.2, clusters=0.1, squares=1,
                 squares_per_view=0.7, wide=1, base=2e5),
           sparse=True,
           about="For several thousand samples in close groups, seen in several good "
                 "tables."),
    Method("gsrimc", "imvc.methods.gsrimc:GSRIMC",
           "Li, Chen, Wang, Lai, TNNLS 2024", "O(n^3)",
           Rates(fixed=0.1, square=4e-6, cube=7e-10, features=0.1, clusters=0.1,
                 squares_per_view=5, wide=1, base=2e5),
           sparse=True,
           about="For up to a few thousand samples with little missing, where accuracy "
                 "matters more than time."),
    Method("imvtsc-mvi", "imvc.methods.imvtsc_mvi:IMVTSCMVI",
           "Wen et al., AAAI 2021", "O(n^3)",
           Rates(fixed=0.1, square=9e-6, cube=1e-9, features=0.75,
                 squares_per_view=7, wide=8, base=2e5),
           test_options={"error_penalty": 0.001},
           about="For up to a few thousand samples, to compare with the literature; "
                 "slow."),
    Method("daimc", "imvc.methods.daimc:DAIMC",
           "Hu, Chen, IJCAI 2018", "O(n)",
           Rates(fixed=0.1, linear=2.5, features=0.4, clusters=1.2, views=0.4,
                 wide=1, cluster=60, base=2e5),
           sparse=True, test_options={"match_clusters": True, "row_normalize": True},
           about="For many samples and wide tables, where it should be readable which "
                 "columns make a cluster."),
    Method("opimc", "imvc.methods.opimc:OPIMC",
           "Hu, Chen, AAAI 2019", "O(n)",
           Rates(fixed=0.06, linear=0.6, features=0.4, clusters=0.5, views=0.3,
                 narrow=1.4, row=10, cluster=6, base=2e5, sought=1000),
           predicts=True, sparse=True,
           about="For very many samples and little time, where clusters are round in "
                 "every table."),
    Method("sfsr-imvc", "imvc.methods.sfsr_imvc:SFSRIMVC",
           "Long et al., TKDE 2024", "O(n)",
           Rates(fixed=0.1, linear=6, power=1.1, features=0.35, clusters=0.4,
                 views=0.2, wide=1.5, cluster=130, base=2e5),
           test_options={"embedding": "features"},
           about="For many samples with little memory, where the missing tables are to "
                 "be completed."),
    Method("psimvc-pg", "imvc.methods.psimvc_pg:PSIMVCPG",
           "Li et al., TNNLS 2024", "O(n)",
           Rates(fixed=0.05, linear=3.7, power=1.1, features=0.6, clusters=0.75,
                 wide=1.3, cluster=45, base=2e5),
           sparse=True,
           about="A quick comparison with nothing to tune."),
    Method("imvc-cbg", "imvc.methods.imvc_cbg:IMVCCBG",
           "Wang et al., CVPR 2022", "O(n)",
           Rates(fixed=0.04, linear=2.1, power=1.05, features=0.4, clusters=0.7,
                 wide=1.3, cluster=40, base=2e5),
           sparse=True,
           about="Among the quickest, for many samples whose tables follow the "
                 "clusters in a simple way."),
    Method("simvc-sa", "imvc.methods.simvc_sa:SIMVCSA",
           "Wen et al., ACM MM 2023", "O(n)",
           Rates(fixed=0.1, linear=3.5, features=0.45, clusters=1.2, wide=1.3,
                 cluster=60, base=2e5),
           sparse=True, test_options={"alignment": 0.01},
           about="For many samples in tables that are very different from each other; "
                 "its settings matter."),
    Method("nemo", "imvc.methods.nemo:NEMO",
           "Rappoport, Shamir, Bioinformatics 2019", "O(n^2)",
           Rates(fixed=0.05, square=2e-7, features=0.2, clusters=0.15, squares=7,
                 wide=2, base=2e5),
           sparse=True,
           about="Simple and quick for up to a few thousand samples; the usual "
                 "comparison for patients' data."),
    Method("snf", "imvc.methods.snf:SNF",
           "Wang et al., Nature Methods 2014", "O(n^2)",
           Rates(fixed=0.05, square=2.5e-6, features=0.05, clusters=0.1, squares=9,
                 squares_per_view=1, wide=2, base=2e5),
           sparse=True,
           about="For some hundred samples, most of them in most tables, that show the "
                 "same clusters through different noise."),
    Method("impute-kmeans", "imvc.methods.impute_kmeans:ImputeKMeans",
           "mean imputation: the floor", "O(n)",
           Rates(fixed=0.05, linear=1.3, start=1.6, features=0.85, clusters=0.6,
                 wide=1.1, narrow=3, base=2e5, sought=10_000),
           predicts=True,
           about="What everybody tries first: fills gaps with averages; a floor for "
                 "comparison where little is missing."),
)}
# fmt: on


def list_methods() -> tuple[MethodName, ...]:
    """Names of all methods.

    Examples
    --------
    >>> from imvc import list_methods
    >>> "rise" in list_methods()
    True
    """
    return cast(tuple[MethodName, ...], tuple(METHODS))


def get_method(name: MethodName) -> type[Any]:
    """The estimator class of a method.

    Parameters
    ----------
    name : str
        One of `list_methods`.

    Examples
    --------
    >>> from imvc import get_method
    >>> get_method("rise").__name__
    'RISE'
    """
    return find_entry(name).estimator


def find_entry(name: str) -> Method:
    """The entry of a method, or an error that tells the names there are."""
    if name not in METHODS:
        known = ", ".join(METHODS)
        raise ValueError(f"no method named {name!r}; there are: {known}.")
    return METHODS[name]
