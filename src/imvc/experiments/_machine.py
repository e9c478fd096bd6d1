"""The machine and the versions a result was made with."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from threadpoolctl import threadpool_info

_PACKAGES = ("imvc", "numpy", "scipy", "scikit-learn")


def machine_info() -> dict[str, Any]:
    """Versions, BLAS and cores, in plain types ready for JSON.

    Returns
    -------
    dict
        ``python``, ``system``, ``processor``, ``cores``, ``versions`` (per package)
        and ``blas`` (name, version and threads of each library loaded). Nothing that
        names the host or its user.

    Examples
    --------
    >>> from imvc.experiments import machine_info
    >>> sorted(machine_info())
    ['blas', 'cores', 'processor', 'python', 'system', 'versions']
    """
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "versions": {name: _version(name) for name in _PACKAGES},
        "blas": sorted(
            {
                (
                    str(pool["internal_api"]),
                    str(pool.get("version")),
                    int(pool["num_threads"]),
                )
                for pool in threadpool_info()
                if pool["user_api"] == "blas"
            }
        ),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
