"""Scales that people order things by, and pairs of which one means yes.

Everything here works on keys: texts in lower case with single blanks.
"""

import re
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from math import inf

Rank = tuple[float, ...]

# Synonyms are divided by bars.
_WORDS = (
    "none|no|absent, very low|minimal, low, low-intermediate, medium|moderate|"
    "intermediate|mid|middle|normal|average, intermediate-high, high|elevated, "
    "very high|extreme",
    "none|no|absent, minimal|very mild|trace|slight, mild, moderate, severe|marked, "
    "very severe|critical|life-threatening, fatal|death",
    "none|no, minor, moderate, major, critical",
    "never|not at all, rarely|seldom|almost never, sometimes|occasionally, "
    "often|frequently|usually, very often|almost always, always",
    "very small|tiny|xs|extra small, small|s, medium|m|middle, large|big|l, "
    "very large|huge|xl|extra large, xxl, xxxl",
    "negative|none|absent, weak|faint, moderate|intermediate, strong, very strong",
    "strongly disagree|totally disagree|completely disagree, disagree, "
    "somewhat disagree|slightly disagree, "
    "neutral|neither agree nor disagree|undecided|neither, "
    "somewhat agree|slightly agree, agree, "
    "strongly agree|totally agree|completely agree",
    "very dissatisfied, dissatisfied, neutral|neither, satisfied, very satisfied",
    "very poor|very bad|terrible, poor|bad, fair|moderate|acceptable|average|"
    "satisfactory, good, very good, excellent|outstanding",
    "well differentiated|well, moderately differentiated|moderate|moderately, "
    "poorly differentiated|poor|poorly, undifferentiated|anaplastic",
    "underweight, normal|normal weight|healthy, overweight, obese, severely obese",
    "progressive disease|pd, stable disease|sd, partial response|pr, "
    "complete response|cr",
    "keine|kein, leicht|gering|niedrig, mittel|mäßig|mittelgradig, "
    "schwer|stark|hoch|hochgradig, sehr schwer|sehr stark|sehr hoch",
    "nie, selten, manchmal, oft|häufig, immer",
)  # fmt: skip
_ORDERS = tuple(
    {word: i for i, level in enumerate(scale.split(", ")) for word in level.split("|")}
    for scale in _WORDS
)
_ROMAN = {r: i for i, r in enumerate("i ii iii iv v vi vii viii ix x".split(), 1)}
_SCORED = (
    "ajcc|uicc|tnm|figo|who|dukes|clinical|pathologic|pathological|stage|stadium|stade|"
    "grade|grad|gleason|isup|asa|ecog|nyha|ccs|killip|mrs|cdr|class|level|stufe|degree|"
    "score|phase|tier|birads|bi-rads|pirads|pi-rads|ti-rads|kdigo|ckd|gold|"
    "quartile|quintile|tertile|decile"
)
_STAGE = re.compile(
    rf"((?:(?:{_SCORED})[ :_.-]*)*)([ivx]+|\d{{1,2}})[ -]?([a-e]?)(\d?)"
)
_TNM = re.compile(
    r"[cpyra]{0,2}([tnm])(is|\d)(?:\((?:dcis|lcis|pagets?)\)|(mi|[a-e])?(\d)?)"
    r"(?: ?\([^)]*\))?"
)
_GRADE = re.compile(r"([gfq])([0-4])")
_PLUS = re.compile(r"(\d)\+|(\+{1,4})|(0|-|neg\.?|negative)|(\(\+\)|\+/-|±|trace)")
_BAND = re.compile(
    r"(?:(?:<|≤|under|below|bis|unter) ?=? ?(\d+)"
    r"|(\d+) ?(?:-|–|—|to|bis) ?(\d+)"
    r"|(?:>|≥|over|above|über|ab) ?=? ?(\d+)|(\d+) ?(?:\+|and (?:over|above|older)))"
    r"(?: ?(?:years?|yrs?|y|jahre?))?"
)


def _sides(pairs: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Words for 0 and words for 1 of each line."""
    lines = (line.split(" : ") for line in pairs.strip().splitlines())
    return tuple(
        (frozenset(no.strip().split("|")), frozenset(yes.split("|")))
        for no, yes in lines
    )


# Any word of one side beside any of the other, and the column says yes or no.
_TRUTH = _sides("""
    no|n|nein|non|nee|nej|não|nao|false|0 : yes|y|ja|j|oui|si|sí|sim|true|1
    false|f|0 : true|t|1
    negative|neg|negativ|-|0 : positive|pos|positiv|+|1
    absent|not present|no|0 : present|yes|1
""")
# Pairs with an order, of which the second needs its name.
_PAIRS = _sides("""
    control|controls|healthy : case|cases|patient|disease|diseased|sick|ill
    normal|healthy : tumor|tumour|cancer|abnormal
    benign : malignant
    wild type|wild-type|wildtype|wt : mutant|mutated|mutation|mut
    alive|living : dead|deceased|died
    censored : event
    placebo|sham|untreated : treatment|drug|verum|active|treated
    before|pre : after|post
    off : on
    without : with
    fail|failed : pass|passed
""")
_NEGATIONS = r"(no|not|non|never|without|kein|nicht|un|in)[ -]*"


def find_scale(keys: Sequence[str], counts: Sequence[int]) -> dict[str, Rank]:
    """Ranks of the keys on the scale that knows most cells; empty if none knows two."""
    best: dict[str, Rank] = {}
    most = 0
    for scale in (_words, _stages, _tumours, _grades, _pluses, _bands):
        ranks = scale(keys)
        n_cells = sum(n for key, n in zip(keys, counts) if key in ranks)
        if n_cells > most and len(set(ranks.values())) > 1:
            best, most = ranks, n_cells
    return best


def _words(keys: Sequence[str]) -> dict[str, Rank]:
    """Low, medium, high and their like, also where each ends in one word (risk)."""
    ends = {key.rpartition(" ")[2] for key in keys if key}
    common = f" {ends.pop()}" if len(ends) == 1 else ""
    found: dict[str, Rank] = {}
    for order in _ORDERS:
        for cut in ("", common):
            ranks: dict[str, Rank] = {
                key: (float(order[key.removesuffix(cut)]),)
                for key in keys
                if key.removesuffix(cut) in order
            }
            found = max(found, ranks, key=len)
    return found


def _stages(keys: Sequence[str]) -> dict[str, Rank]:
    """Stage IIIC, grade 2, NYHA III, and Roman numerals on their own."""
    return _matched(keys, _STAGE, _stage_rank)


def _stage_rank(found: re.Match[str]) -> Rank | None:
    word, number, letter, digit = found.groups()
    if number in _ROMAN:
        value = _ROMAN[number]
    elif number.isdigit() and word.strip(" :_.-") not in ("", "class"):
        value = int(number)  # class 1, 2 and 3 may be names; class III is not
    else:
        return None
    return (value, ord(letter) if letter else 0, int(digit or 0))


def _tumours(keys: Sequence[str]) -> dict[str, Rank]:
    """T0 to T4, N0 to N3, M0 and M1 with suffixes: of one letter, the most frequent."""
    ranks = _matched(keys, _TNM, _tumour_rank)
    of_letter = {key: _TNM.fullmatch(key)[1] for key in ranks}  # type: ignore[index]
    letters = sorted(of_letter.values())
    usual = max(letters, key=letters.count, default="")
    return {key: rank for key, rank in ranks.items() if of_letter[key] == usual}


def _tumour_rank(found: re.Match[str]) -> Rank | None:
    letter, number, suffix, digit = found.groups()
    value = 0.5 if number == "is" else float(number)
    if value > {"t": 4, "n": 3, "m": 1}[letter]:
        return None
    # Micrometastases (N1mi) come before N1a.
    place = 0.5 if suffix == "mi" else ord(suffix) if suffix else 0
    return (value, place, int(digit or 0))


def _grades(keys: Sequence[str]) -> dict[str, Rank]:
    """G1 to G4, F0 to F4 (fibrosis), Q1 to Q4 (quartiles): one of the three."""
    ranks = _matched(keys, _GRADE, lambda found: (float(found[2]),))
    return ranks if len({key[0] for key in ranks}) == 1 else {}


def _pluses(keys: Sequence[str]) -> dict[str, Rank]:
    """0, 1+, 2+, 3+; -, +, ++; negative, trace, 1+."""
    if not any(re.fullmatch(r"\d\+|\+{1,4}", key) for key in keys):
        return {}
    return _matched(keys, _PLUS, _plus_rank)


def _plus_rank(found: re.Match[str]) -> Rank:
    digit, pluses, zero, _ = found.groups()
    if zero:
        return (0.0,)
    return (float(digit) if digit else float(len(pluses)) if pluses else 0.5,)


def _bands(keys: Sequence[str]) -> dict[str, Rank]:
    """Bands of age and the like, which must not overlap."""
    ranks = _matched(keys, _BAND, _band_limits)
    limits = sorted(set(ranks.values()))
    apart = all(a[1] <= b[0] for a, b in pairwise(limits))
    closed = any(-inf < low and high < inf for low, high in limits)
    return ranks if apart and closed else {}


def _band_limits(found: re.Match[str]) -> Rank | None:
    under, low, high, over, plus = found.groups()
    if low:
        return (float(low), float(high)) if float(low) < float(high) else None
    return (-inf, float(under)) if under else (float(over or plus), inf)


def _matched(
    keys: Sequence[str],
    pattern: re.Pattern[str],
    rank_of: Callable[[re.Match[str]], Rank | None],
) -> dict[str, Rank]:
    """Ranks of the keys that match."""
    found = {key: pattern.fullmatch(key) for key in keys}
    ranks = {key: rank_of(match) for key, match in found.items() if match}
    return {key: rank for key, rank in ranks.items() if rank is not None}


def truth_words(keys: Collection[str]) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words for no and for yes of which all these keys are, some of each."""
    for no, yes in _TRUTH:
        if all(key in no or key in yes for key in keys):
            if not no.isdisjoint(keys) and not yes.isdisjoint(keys):
                return no, yes
    return None


def no_comes_first(one: str, other: str) -> bool:
    """Whether the first of two keys is the one for 0; by the alphabet if nothing tells.

    control before case, exposed after unexposed, low before high.
    """
    for no, yes in _PAIRS:
        if one in no and other in yes:
            return True
        if other in no and one in yes:
            return False
    if re.fullmatch(_NEGATIONS + re.escape(other), one):
        return True
    if re.fullmatch(_NEGATIONS + re.escape(one), other):
        return False
    ranks = find_scale([one, other], [1, 1])
    return ranks[one] < ranks[other] if len(ranks) == 2 else one < other
