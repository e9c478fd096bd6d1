"""What a requirement brings, and environments that see exactly that."""

import os
import subprocess
import sys
import venv
from importlib.metadata import distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def brought(requirement, path):
    """Distributions on a path that a requirement brings, its own included, by name."""
    found, seen, waiting = {}, set(), [requirement]
    while waiting:
        need = Requirement(waiting.pop())
        name, extras = canonicalize_name(need.name), need.extras or {""}
        if (name, *sorted(extras)) in seen:
            continue
        seen.add((name, *sorted(extras)))
        found[name] = next(iter(distributions(name=name, path=path)))
        for line in found[name].requires or ():
            marker = Requirement(line).marker
            if not marker or any(marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(line)
    return found


def megabytes(found):
    """Size of the files of distributions, without the bytecode that Python adds."""
    return sum(file.size or 0 for one in found for file in one.files) / 1e6


def link(found, folder):
    """Makes distributions importable from a folder, and nothing beside them."""
    folder.mkdir(exist_ok=True)
    for one in found:
        for name in {file.parts[0] for file in one.files} - {"..", "__pycache__"}:
            if not (folder / name).exists():  # tests of two packages may share a name
                (folder / name).symlink_to(one.locate_file(name))


class Environment:
    """A virtual environment with a wheel of ours and what it cannot do without."""

    def __init__(self, folder, wheel):
        self.folder = folder
        venv.create(folder, with_pip=False)
        python = folder / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", python, "install"]
        subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
        (site,) = folder.glob("lib/*/site-packages")
        self._path = [str(site), *sys.path]
        self.core = brought("imvc", self._path)
        link([one for name, one in self.core.items() if name != "imvc"], site)

    def added_by(self, extra):
        """Distributions that an extra brings beside the core, by name."""
        found = brought(f"imvc[{extra}]", self._path)
        return {name: one for name, one in found.items() if name not in self.core}

    def start(self, *command, extra=None):
        """Starts a program of the environment, an extra beside the core."""
        variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        if extra:
            folder = self.folder / extra
            link(self.added_by(extra).values(), folder)
            variables["PYTHONPATH"] = str(folder)
        return subprocess.Popen(
            [self.folder / "bin" / command[0], *command[1:]],
            env=variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, *command, extra=None):
        """Exit code and output of a program that ends by itself."""
        with self.start(*command, extra=extra) as program:
            said, _ = program.communicate(timeout=300)
        return program.returncode, said
