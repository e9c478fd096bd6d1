"""Fuzzing of all that is read: ``make fuzz MINUTES=60``, or this file by itself.

    python tests/fuzz/fuzz_run.py --minutes 60 [--targets csv,model] [--first 0]
    python tests/fuzz/fuzz_run.py --target csv --seed 123        one case again

A case is a target and a seed; it is the same case on every machine. Each damages good
files that are made here, and reads them in a child process. Reading must work, or say
what is wrong in an error of this program that names the file: anything else (other
errors, warnings of overflow, a crash, more than 10 s or 512 MiB) is a finding. Findings
go to a file of JSON lines, and their files are kept beside it. The numbers of seeds go
on from ``--first``, so that a later run can try others.
"""

import argparse
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

SECONDS, MEMORY = 10.0, 512 * 2**20
_ADDRESSES = 6 * 2**30
_MAKING = 120  # seconds to start, and to make good files
_KEPT = 3  # findings of one kind whose files are kept


class Child:
    """A process that runs one case after the other, until one of them ends it."""

    def __init__(self):
        self._process = None

    def run(self, name, seed, guard=False, seconds=SECONDS):
        """``(outcome, message)`` of a case."""
        if self._process is None:
            self._start()
        asked = {"target": name, "seed": seed, "guard": guard}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        # The good files of a target are made when it is first asked for.
        more = 0 if name in self._made else _MAKING
        self._made.add(name)
        try:
            answer = self._answer(seconds + more)
        except EOFError:
            return "crash", f"exit status {self.stop(wait=5)}"
        if answer is None:
            self.stop()
            return "hang", f"more than {seconds:g} s"
        return tuple(answer)

    def _start(self):
        self._made = set()
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ
            | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            | {"IMVC_HDF5_SECONDS": str(SECONDS)},
        )
        self._answer(_MAKING)  # it says when it is ready

    def _answer(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([self._process.stdout], [], [], left)
            if ready:
                line = self._process.stdout.readline()
                if not line:
                    raise EOFError
                return json.loads(line)
        return None

    def stop(self, wait=0):
        """End the process, if there is one; its exit status."""
        process, self._process = self._process, None
        if process is None:
            return None
        with suppress(subprocess.TimeoutExpired):
            process.wait(wait)
        process.kill()
        process.communicate()
        return process.returncode


def child():
    """What the child does: cases from standard input, answers to standard output."""
    from fuzz_targets import case_files, run_case

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    _limit_addresses()
    _say(answers, ["ready", ""])
    for line in sys.stdin:
        asked = json.loads(line)
        files = case_files(asked["target"], asked["seed"])
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            before = _peak_memory(reset=True)
            os.environ["IMVC_GUARDED"] = "1"  # some files are guarded whatever is asked
            if asked["guard"]:
                del os.environ["IMVC_GUARDED"]
            found = run_case(asked["target"], files, Path(folder), asked["guard"])
            used = _peak_memory() - before
        if used > MEMORY and not asked["guard"]:
            found = "memory", f"{used / 2**20:.0f} MiB; {found[0]}: {found[1]}"
        _say(answers, found)


def _say(answers, found):
    answers.write(json.dumps(found) + "\n")
    answers.flush()


def _limit_addresses():
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _peak_memory(reset=False):
    """Largest memory of this process in bytes since the last reset; Linux only."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024


class Judge:
    """Runs cases and says what came of them, as the command line would meet them.

    What is guarded has a child of its own, since libraries that were not ended by a
    damaged file may have lost some of their memory to it, and crash later.
    """

    def __init__(self):
        self._children = {True: Child(), False: Child()}
        self._last = {True: [], False: []}

    def __call__(self, name, seed):
        """``(outcome, message)`` of a case."""
        from fuzz_targets import TARGETS

        guarded = TARGETS[name].guarded
        runner, last = self._children[guarded], self._last[guarded]
        last.append(f"{name} {seed}")
        outcome, text = runner.run(name, seed)
        if outcome not in ("hang", "crash", "memory"):
            return outcome, text
        runner.stop()
        before, last[:] = last[-20:-1], []
        if not guarded:
            again, _ = runner.run(name, seed)
            return outcome, f"{text}; alone: {again}; before it: {', '.join(before)}"
        again, said = runner.run(name, seed, guard=True, seconds=4 * SECONDS)
        if again == "refused" or (again == "read" and outcome == "crash"):
            return "guarded", said
        return f"{outcome}, not guarded", f"{text}; with the guard {again}: {said}"

    def stop(self):
        """End the children."""
        for runner in self._children.values():
            runner.stop()


FINE = ("read", "refused", "guarded")


class Findings:
    """Cases by target and outcome; findings in a file, with what was read."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.cases = {}
        self._kinds = Counter()

    def add(self, name, seed, outcome, text):
        self.cases.setdefault(name, Counter())[outcome] += 1
        if outcome in FINE:
            return
        kind = (name, outcome, re.sub(r"\d+|'[^']*'|/\S+", "_", text)[:80])
        self._kinds[kind] += 1
        if self._kinds[kind] > _KEPT:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        line = {"target": name, "seed": seed, "outcome": outcome, "message": text[:500]}
        with open(self.folder / "findings.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        write_case(name, seed, self.folder / f"{name}-{seed}")

    @property
    def n(self):
        """Number of findings."""
        return sum(self._kinds.values())

    def table(self):
        """Cases of every target by outcome, as text."""
        outcomes = sorted({o for own in self.cases.values() for o in own} - {*FINE})
        lines = [["target", "cases", *FINE, *outcomes]]
        for name, own in self.cases.items():
            counts = [own.total(), *(own[o] for o in (*FINE, *outcomes))]
            lines.append([name, *map(str, counts)])
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths)) for line in lines
        )


def write_case(name, seed, folder):
    """Write the files of a case into a folder."""
    from fuzz_targets import case_files

    shutil.rmtree(folder, ignore_errors=True)
    for own, data in case_files(name, seed).items():
        path = folder / own
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def fuzz(names, folder, *, first=0, minutes=None, cases=None):
    """Try targets for some minutes, all as long, or each of them some times."""
    found, judge = Findings(folder), Judge()
    seeds, spent = dict.fromkeys(names, first), dict.fromkeys(names, 0.0)
    end = time.monotonic() + 60 * (minutes or 10**6)
    try:
        while (start := time.monotonic()) < end:
            left = [n for n in names if cases is None or seeds[n] - first < cases]
            if not left:
                break
            name = min(left, key=spent.__getitem__)
            found.add(name, seeds[name], *judge(name, seeds[name]))
            seeds[name] += 1
            spent[name] += time.monotonic() - start
    except KeyboardInterrupt:
        pass
    finally:
        judge.stop()
    return found


def main():
    """The command."""
    from fuzz_targets import TARGETS

    parser = argparse.ArgumentParser(description="Damaged files of every format.")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--findings", default="fuzz_findings", help="folder")
    parser.add_argument("--target", choices=TARGETS, help="run one case again")
    parser.add_argument("--seed", type=int)
    asked = parser.parse_args()
    if asked.target:
        write_case(asked.target, asked.seed, Path(asked.findings) / "again")
        judge = Judge()
        sys.stdout.write(f"{': '.join(judge(asked.target, asked.seed))}\n")
        judge.stop()
        return 0
    names = asked.targets.split(",")
    found = fuzz(names, asked.findings, first=asked.first, minutes=asked.minutes)
    sys.stdout.write(f"{found.table()}\n{found.n} findings in {asked.findings}\n")
    return int(found.n > 0)


if __name__ == "__main__":
    sys.exit(child() if sys.argv[1:] == ["--child"] else main())
