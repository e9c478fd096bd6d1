"""Ids that two files write differently: near misses and loose matching."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from imvc.io.ids._affixes import Affix, take_off
from imvc.io.ids._loose_key import LOOSE_STEPS, loose_keys

_MANY = 100_000
_Member = tuple[int, int]  # a file, and the place of an id in it
_Pair = tuple[_Member, _Member]


@dataclass(frozen=True, eq=False)
class Matches:
    """Ids of different files that would be one if small differences were ignored.

    Parameters
    ----------
    renamed : list of ndarray of object
        The ids of every file after loose matching; what is joined is written as in the
        first file that has it.
    n_joined : int
        Ids that match only then.
    examples : tuple of (str, str, str, str)
        A few of them: an id, its file, the other id, its file.
    n_ambiguous : int
        Ids that would match, were there not two different ones of them in one file.
    ambiguous : tuple of (str, str, str)
        A few of these: two ids and the file of both.
    reasons : tuple of str
        What has to be ignored, the most frequent first.
    """

    renamed: list[np.ndarray]
    n_joined: int = 0
    examples: tuple[tuple[str, str, str, str], ...] = ()
    n_ambiguous: int = 0
    ambiguous: tuple[tuple[str, str, str], ...] = ()
    reasons: tuple[str, ...] = ()

    def warning(self) -> str:
        """For a user whose ids are compared as they are; empty if all is well."""
        joined = ""
        if self.n_joined:
            joined = (
                f"{_count(self.n_joined)} would match in another file if "
                f"{_listed(self.reasons)} were ignored, e.g. {self._example_words()}; "
                'pass --match-ids loose (match_ids="loose") to join them, or rename '
                "them with --id-map FILE (id_map=)."
            )
        return " ".join(filter(None, [joined, self._ambiguous_words()]))

    def note(self) -> str:
        """For a user who asked for loose matching; empty if there was no need."""
        joined = ""
        if self.n_joined:
            joined = (
                f"joined {_count(self.n_joined)} of different files by ignoring "
                f"{_listed(self.reasons)}, e.g. {self._example_words()}."
            )
        return " ".join(filter(None, [joined, self._ambiguous_words()]))

    def _example_words(self) -> str:
        return ", ".join(f"{a!r} ({s}) and {b!r} ({t})" for a, s, b, t in self.examples)

    def _ambiguous_words(self) -> str:
        if not self.n_ambiguous:
            return ""
        pairs = ", ".join(f"{a!r} and {b!r} in {s}" for a, b, s in self.ambiguous)
        verb = "is" if self.n_ambiguous == 1 else "are"
        return (
            f"{_count(self.n_ambiguous)} {verb} ambiguous and never joined, since one "
            f"file has two that are alike, e.g. {pairs}; rename them with --id-map "
            "FILE (id_map=) if they should match."
        )


def _count(n: int) -> str:
    return "1 id" if n == 1 else f"{n} ids"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def find_matches(files: Sequence[tuple[str, np.ndarray]]) -> Matches:
    """Find ids of different files that differ in no more than their writing.

    Ids are the same under `loose_key`, or under it once an affix is off that nearly all
    ids of a file have which match nothing: a constant, or one to three parts between
    ``- _ . : | /``, one affix per file (see `take_off`). Ids that are written the same
    way in two files stay together, and two ids of one file stay apart.

    Parameters
    ----------
    files : sequence of (str, ndarray of object)
        Name of each file, for the texts, and its ids: stripped, all different.

    Returns
    -------
    Matches
    """
    sources = [source for source, _ in files]
    every = [ids.tolist() for _, ids in files]
    everywhere = set(every[0]).intersection(*every[1:]) if every else set()
    # An id that all files have can match nothing else in any of them.
    ids = [[text for text in texts if text not in everywhere] for texts in every]
    if len(files) < 2 or not any(ids):
        return Matches([values.copy() for _, values in files])
    keys = [loose_keys(texts) for texts in ids]
    found = _Keys(ids, keys, *take_off(keys))
    groups, ambiguous = _groups(found)
    new_names: list[dict[str, str]] = [{} for _ in files]
    pairs: list[_Pair] = []
    for first, *others in groups:
        name = found.text(first)
        for other in others:
            if found.text(other) != name:
                new_names[other[0]][found.text(other)] = name
                pairs.append((first, other))
    reasons = _explain(found, pairs)
    # An example for each of the first reasons, and at least two if there are two.
    shown = [places[0] for places in reasons.values()][:3]
    shown = list(dict.fromkeys([*shown, *range(len(pairs))[:2]]))[: max(2, len(shown))]
    return Matches(
        renamed=[_renamed(values, new) for (_, values), new in zip(files, new_names)],
        n_joined=len({first for first, _ in pairs}),
        examples=tuple(
            (found.text(a), sources[a[0]], found.text(b), sources[b[0]])
            for a, b in (pairs[j] for j in shown)
        ),
        n_ambiguous=len(ambiguous),
        ambiguous=tuple((a, b, sources[f]) for a, b, f in ambiguous[:2]),
        reasons=tuple(reasons),
    )


def _renamed(ids: np.ndarray, new_names: Mapping[str, str]) -> np.ndarray:
    result = ids.copy()
    if new_names:
        result[:] = [new_names.get(text, text) for text in ids.tolist()]
    return result


class _Keys(NamedTuple):
    """Ids that not all files have, by file, and what they are compared by."""

    ids: list[list[str]]
    keys: list[list[str]]  # loose
    cut: list[list[str]]  # and without an affix
    affixes: list[Affix | None]

    def text(self, member: _Member) -> str:
        return self.ids[member[0]][member[1]]

    def is_cut(self, member: _Member) -> bool:
        file, i = member
        return self.cut[file][i] != self.keys[file][i]


def _groups(found: _Keys) -> tuple[list[list[_Member]], list[tuple[str, str, int]]]:
    """Ids that are one, in the order of files, and what is ambiguous, both sorted.

    Where a file has two ids of one key, the next stricter key decides: with the affix,
    then as written.
    """
    groups: list[list[_Member]] = []
    ambiguous: list[tuple[str, str, int]] = []

    everyone = ((file, i) for file, ks in enumerate(found.cut) for i in range(len(ks)))
    for alike in _split(everyone, found.cut):
        if _one_per_file(alike):
            groups.append(alike)
            continue
        ambiguous += _clash(found, alike)
        for part in _split(alike, found.keys):
            groups += [part] if _one_per_file(part) else _split(part, found.ids)
    groups.sort(key=lambda members: found.text(members[0]))
    return groups, sorted(ambiguous)


def _one_per_file(members: list[_Member]) -> bool:
    return len({file for file, _ in members}) == len(members)


def _split(
    members: Iterable[_Member], keys: list[list[str]]
) -> Iterable[list[_Member]]:
    parts: dict[str, list[_Member]] = defaultdict(list)
    for file, i in members:
        parts[keys[file][i]].append((file, i))
    return parts.values()


def _clash(found: _Keys, members: list[_Member]) -> Iterator[tuple[str, str, int]]:
    """Two ids of the first file that has two, unless all files write the same ones."""
    by_file: dict[int, set[str]] = defaultdict(set)
    for member in members:
        by_file[member[0]].add(found.text(member))
    crowded = [file for file, texts in by_file.items() if len(texts) > 1]
    same = all(texts == by_file[members[0][0]] for texts in by_file.values())
    if crowded and not same:
        a, b = sorted(by_file[crowded[0]])[:2]
        yield a, b, crowded[0]


def _explain(found: _Keys, pairs: list[_Pair]) -> dict[str, list[int]]:
    """What has to be ignored, the most frequent first, and for which of the pairs.

    Of very many pairs, only some are looked at.
    """
    seen: dict[str, list[int]] = defaultdict(list)
    places = range(0, len(pairs), 1 + len(pairs) // _MANY)
    sides = _without_affixes(found, [pairs[j] for j in places], seen)
    alike = _equal(*map(loose_keys, sides))
    for step in LOOSE_STEPS:
        a, b = (loose_keys(side, without=step) for side in sides)
        seen[step] += np.flatnonzero(alike & ~_equal(a, b)).tolist()
    # Some spaces and letters are made alike by two steps; both are about Unicode.
    told = {place for places in seen.values() for place in places}
    seen["Unicode form"] += [j for j in range(len(places)) if j not in told]
    ranked = sorted(seen, key=lambda why: -len(seen[why]))
    return {why: [places[j] for j in seen[why]] for why in ranked if seen[why]}


def _without_affixes(
    found: _Keys, pairs: list[_Pair], seen: dict[str, list[int]]
) -> tuple[list[str], list[str]]:
    """Ids of the pairs as written but for the affix; tells in `seen` which it was."""
    sides: tuple[list[str], list[str]] = ([], [])
    written: dict[int, Affix] = {}  # by file
    words: dict[Affix, str] = {}
    for place, pair in enumerate(pairs):
        (f, i), (g, j) = pair
        same_key = found.keys[f][i] == found.keys[g][j]
        for side, member in zip(sides, pair):
            text, affix = found.text(member), found.affixes[member[0]]
            if affix is not None and found.is_cut(member) and not same_key:
                if member[0] not in written:
                    written[member[0]] = affix.as_written(text)
                affix = written[member[0]]
                if affix not in words:
                    words[affix] = affix.words(text)
                seen[words[affix]].append(place)
                text = affix.off([text])[0]
            side.append(text)
    return sides


def _equal(a: list[str], b: list[str]) -> np.ndarray:
    return np.fromiter((x == y for x, y in zip(a, b)), bool, len(a))
