"""What one file writes before or after its ids and another does not."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

from imvc.io.ids._loose_key import BREAKS, ONE_BREAK, loose_key

_MOST_PARTS = 3
_SAMPLE = 1000
_NEARLY_ALL = 0.9
_A_FIFTH = 0.2


@dataclass(frozen=True)
class Affix:
    """A constant text, or so many parts between ``- _ . : | /``, at one end of ids."""

    end: str  # "prefix" or "suffix"
    text: str = ""
    parts: int = 0  # 0: the constant text

    def off(self, keys: Sequence[str]) -> list[str]:
        """Keys without it; a key that lacks it, or is nothing else, stays."""
        if self.parts:
            lines = "\n".join(keys).translate(ONE_BREAK).split("\n")
            return [self._without_parts(*pair) for pair in zip(keys, lines)]
        if self.end == "prefix":
            return [key.removeprefix(self.text) or key for key in keys]
        return [key.removesuffix(self.text) or key for key in keys]

    def _without_parts(self, key: str, plain: str) -> str:
        if self.end == "prefix":
            kept = plain.split("-", self.parts)
            return key[-len(kept[-1]) :] if len(kept) > self.parts else key
        kept = plain.rsplit("-", self.parts)
        return (key[: len(kept[0])] or key) if len(kept) > self.parts else key

    def as_written(self, text: str) -> "Affix":
        """The constant as it stands in an id, of whose loose key it was taken off."""
        if self.parts:
            return self
        for n in range(1, len(text)):
            piece = text[:n] if self.end == "prefix" else text[-n:]
            if loose_key(piece) == self.text:
                return replace(self, text=piece)
        return self

    def words(self, text: str) -> str:
        """How to call it, as it stands in an id."""
        if not self.parts:
            return f"a {self.end} {self.text!r}"
        n = len(text) - len(self.off([text])[0])
        taken = text[:n] if self.end == "prefix" else text[-n:]
        which = "first" if self.end == "prefix" else "last"
        number = "part" if self.parts == 1 else f"{self.parts} parts"
        return f"the {which} {number} (such as {taken!r})"


def take_off(
    keys: list[list[str]],
) -> tuple[list[list[str]], list[Affix | None]]:
    """Keys of every file without the affix that keeps them from the other files'.

    Every file in turn is compared with all the others. What is on one side only may
    lose an affix, on either side or on both, and every affix has to bring at least two
    new matches and a fifth of what the smaller side lacks. The best is taken off, and
    so on. No file loses more than one, and keys that are equal stay equal.
    """
    affixes: list[Affix | None] = [None] * len(keys)
    while True:
        best = _NO_MOVE
        # Of two files, the comparison of the second is that of the first.
        for file in range(len(keys) if len(keys) > 2 else 1):
            rest = [other for other in range(len(keys)) if other != file]
            found = _best_move(*_sides(keys, affixes, [file], rest))
            best = max(best, found, key=_gain)
        if not best[1]:
            return keys, affixes
        keys = list(keys)
        for side, affix in best[1]:
            for file, changed in side.without(affix).items():
                if changed != keys[file]:
                    keys[file], affixes[file] = changed, affix


class _Side:
    """The keys of some files, beside those of the other files."""

    def __init__(
        self, keys: dict[int, list[str]], others: Set[str], free: Set[int]
    ) -> None:
        self.keys = keys
        self.loose = sorted(set().union(*keys.values()) - others)
        self._others = others
        # A file that has lost an affix is left alone from then on.
        loose = set(self.loose)
        self._may_change = all(
            file in free or loose.isdisjoint(ks) for file, ks in keys.items()
        )

    def without(self, affix: Affix) -> dict[int, list[str]]:
        """Keys of every file, where those that match nothing lose an affix."""
        new = dict(zip(self.loose, affix.off(self.loose)))
        return {file: [new.get(k, k) for k in ks] for file, ks in self.keys.items()}

    @cached_property
    def plain(self) -> Set[str]:
        """The unambiguous keys."""
        return _unambiguous(self.keys)

    @cached_property
    def options(self) -> list[tuple[Affix, Set[str]]]:
        """Affixes that could go, and the unambiguous keys that are left then."""
        if not self._may_change:
            return []
        likely = _likely_affixes(self.loose, self._others)
        return [(affix, _unambiguous(self.without(affix))) for affix in likely]


_Move = tuple[int, list[tuple[_Side, Affix]]]
_NO_MOVE: _Move = (0, [])


def _gain(move: _Move) -> int:
    return move[0]


def _sides(
    keys: list[list[str]], affixes: list[Affix | None], one: list[int], two: list[int]
) -> tuple[_Side, _Side]:
    sets = [set().union(*(keys[file] for file in side)) for side in (one, two)]
    free = {file for file, affix in enumerate(affixes) if affix is None}
    return (
        _Side({file: keys[file] for file in one}, sets[1], free),
        _Side({file: keys[file] for file in two}, sets[0], free),
    )


def _unambiguous(keys: dict[int, list[str]]) -> Set[str]:
    """Keys that no file has twice."""
    every: set[str] = set()
    twice: set[str] = set()
    for ks in keys.values():
        once = set(ks)
        if len(once) < len(ks):
            twice.update(key for key, n in Counter(ks).items() if n > 1)
        every |= once
    return every - twice


def _best_move(one: _Side, two: _Side) -> _Move:
    """How many keys more match, and which affixes of which sides have to go."""
    n_loose = min(len(one.loose), len(two.loose))
    if n_loose < 2:
        return _NO_MOVE
    need = max(2, _A_FIFTH * n_loose)
    common = one.plain & two.plain
    moves, gains = [_NO_MOVE], []
    for side, other in ((one, two), (two, one)):
        alone = [len(ks & other.plain) - len(common) for _, ks in side.options]
        for (affix, _), gain in zip(side.options, alone):
            if gain >= need:
                moves.append((gain, [(side, affix)]))
        gains.append(alone)
    for (a, a_keys), a_gain in zip(one.options, gains[0]):
        for (b, b_keys), b_gain in zip(two.options, gains[1]):
            if a.end == b.end == "prefix" and a.parts and b.parts:
                continue  # first parts that vary tell sites and cohorts apart
            both = a_keys & b_keys
            # A-1 and B-1 may be two people: numbers alone do not tell.
            new = sum(not key.isdigit() for key in both - common)
            gain = new - len(common - both)
            if gain - max(a_gain, b_gain, 0) >= need:
                moves.append((gain, [(one, a), (two, b)]))
    return max(moves, key=_gain)  # the first of equals: the simplest


def _likely_affixes(loose: list[str], others: Set[str]) -> Iterator[Affix]:
    """Affixes that nearly all of these keys have, the simplest first."""
    sample = loose[:: -(-len(loose) // _SAMPLE)]
    few = _A_FIFTH * len(sample)
    yield from _constants(sample, others)
    for end in ("suffix", "prefix"):
        for parts in range(1, _MOST_PARTS + 1):
            affix = Affix(end, parts=parts)
            kept = affix.off(sample)
            n_changed = sum(a != b for a, b in zip(kept, sample))
            # Too much has gone where few different keys are left.
            if n_changed >= _NEARLY_ALL * len(sample) and len(set(kept)) >= few:
                yield affix


def _constants(sample: list[str], others: Set[str]) -> Iterator[Affix]:
    """Common texts at either end that do not cut through a number.

    Of all places to cut, those at a break and the longest are always worth a look; the
    others if the sample tells so.
    """
    for end in ("suffix", "prefix"):
        common = _common_text(sample, end)
        sizes = range(1, len(common) + 1)
        pieces = [common[:n] if end == "prefix" else common[-n:] for n in sizes]
        inner = -1 if end == "prefix" else 0
        pieces = [piece for piece in pieces if not piece[inner].isdigit()]
        for piece in pieces:
            affix = Affix(end, piece)
            hits = sum(key in others for key in affix.off(sample))
            if (
                piece[inner] in BREAKS
                or piece == pieces[-1]
                or hits >= _A_FIFTH / 2 * len(sample)
            ):
                yield affix


def _common_text(keys: Sequence[str], end: str) -> str:
    """The longest text at one end of nearly all keys."""
    if end == "suffix":
        return _common_text([key[::-1] for key in keys], "prefix")[::-1]
    kept, n = keys, 0
    while True:
        ((char, count),) = Counter(key[n : n + 1] for key in kept).most_common(1)
        if not char or count < _NEARLY_ALL * len(keys):
            return kept[0][:n]
        kept = [key for key in kept if key[n : n + 1] == char]
        n += 1
