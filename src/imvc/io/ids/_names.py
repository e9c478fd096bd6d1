"""Names of columns that hold ids, or that only count rows."""

import re
import unicodedata

_NAMELESS = re.compile(r"|Unnamed: \d+(\.\d+)?|__index_level_\d+__|\.\.\.\d+|_index")
_INDEX_WORDS = frozenset(
    "index level0 row rowname rownames rowid rownumber rownr obsname obsnames".split()
)
_COUNTER_WORDS = _INDEX_WORDS | frozenset(
    "n nr no num number nummer lfdnr laufnummer laufendenummer sno serialno serialnr "
    "serialnumber count counter".split()
)
_ALONE = (
    "ids? uid uuid guid key index rownames? row names? barcodes? accession mrn "
    "pseudonym identifier identifiant identificador kennung aktenzeichen subjid "
    "usubjid patid patno ptid pid sid eid rid iid"
).replace(" ", "|")
# Case and cell have no plural here: cases and cells are counts.
_THINGS = (
    "(samples?|specimens?|patients?|subjects?|participants?|donors?|case|cell|"
    "individual|proband|aliquot|paciente|paziente|echantillon|muestra|participante|"
    "sujet|sujeto|versuchsperson)"
)
_MORE_THINGS = (
    f"({_THINGS}|patienten|probanden|proben?|fall|person|personen|record|study|dossier|"
    "caso|cas|historia|expediente|biopsy|animal|mouse|chart|client|visit|library)"
)
_MARKS = (
    "(ids?|identifier|identification|name|no|nr|num|number|nummer|code|key|barcode|"
    "accession|kennung|codigo|pseudonym)"
)
# Not "number of": that is a count.
_MARKS_BEFORE = "(id|code|codigo|codice|identifiant|identificador|numero|cle)"
_LIKE_IDS = re.compile(
    f"{_ALONE}|{_THINGS}|{_MORE_THINGS}{_MARKS}|"
    f"{_MARKS_BEFORE}(de|del|du|di)?(l|la|le)?{_MORE_THINGS}"
)
_LAST_WORDS = frozenset(
    "id ids uid uuid guid identifier barcode accession mrn pseudonym".split()
)


def is_nameless(name: str) -> bool:
    """No name, or one that a program makes up for none."""
    return _NAMELESS.fullmatch(name) is not None


def is_index_name(name: str) -> bool:
    """Tell whether a column of this name is meant to hold ids, or has no name.

    Case and punctuation do not count: Patient ID, patient_id and PatientID are one.
    """
    if is_nameless(name) or _LIKE_IDS.fullmatch(plain_name(name)):
        return True
    # SampleID and uric_ID end in the word id; valid and URIC_ACID only in its letters.
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", _without_accents(name))
    return len(words) > 1 and words[-1].casefold() in _LAST_WORDS


def is_row_index_name(name: str) -> bool:
    """No name, or one that programs give to the index of a table."""
    return is_nameless(name) or plain_name(name) in _INDEX_WORDS


def is_counter_name(name: str) -> bool:
    """A name of numbers that count rows, or of ids, or none."""
    return is_index_name(name) or plain_name(name) in _COUNTER_WORDS


def plain_name(name: str) -> str:
    """Letters and digits of a name, without case and accents."""
    return re.sub(r"[\W_]", "", _without_accents(name).casefold())


def _without_accents(name: str) -> str:
    parts = unicodedata.normalize("NFKD", name)
    return "".join(c for c in parts if not unicodedata.combining(c))
