"""Damage: to bytes, and to what is inside archives, headers and JSON."""

import hashlib
import io
import json
import re
import tokenize
import zipfile
import zlib
from functools import partial

import numpy as np

WORDS = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"\n", b"\r", b",", b";", b"\t",
    b"nan", b"inf", b"1e999", b"-", b"(99, 99)", b"999999999999", b"'O'", b"|O8",
    b"\x80\x04\x95", b"../", b"=", b":", b"[" * 60, b"{" * 60, b"null", b"\xc3(",
    b"\xed\xa0\x80", b"1" * 400, b"::", b"#",
)  # fmt: skip
NUMBERS = (
    b"0", b"-1", b"1e308", b"-1e-320", b"nan", b"65536", b"4294967295",
    b"9223372036854775807", b"18446744073709551616", b"1" * 25, b"1" * 5000, b"0x10",
)  # fmt: skip
BOUNDS = (0, 1, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, -1)
ODD = (
    None, True, 0, -1, 2, 10**6, 2**31, 2**63, 10**30, 1.5, float("nan"), float("inf"),
    -1e308, "", "a", "\x00", "x" * 300, "../../x", [], {}, [[]], [None], [1, "a"],
    {"a": {}}, {"array": "state/none"}, ["0", 1, None], "bridge", "labels.csv",
)  # fmt: skip
DTYPES = (
    "<f4",
    "<f8",
    "<i8",
    "|b1",
    "|u1",
    "<U3",
    "|S5",
    "|O",
    "<c16",
    "<M8[s]",
    ">f8",
)
DEEP = 20_000  # levels of a list


def pick(rng, items):
    """One of several things."""
    return items[int(rng.integers(len(items)))]


def mutate_bytes(data, rng):
    """One to four small damages, of the kinds that files suffer."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        i, j = sorted(rng.integers(0, len(data) + 1, size=2).tolist())
        kind = rng.integers(0, 10)
        if kind == 0 and i < len(data):
            data[i] ^= 1 << int(rng.integers(8))
        elif kind == 1 and i < len(data):
            data[i] = int(rng.integers(256))
        elif kind == 2:
            data[i:i] = pick(rng, WORDS)
        elif kind == 3:
            del data[i : min(j, i + 40)]
        elif kind == 4:
            data[i:i] = data[i : min(j, i + 200)]
        elif kind == 5 and rng.integers(4) == 0:
            del data[j:]
        elif kind == 6:
            stop = min(j, i + 8)
            data[i:stop] = bytes([255 * int(rng.integers(2))]) * (stop - i)
        elif kind == 7:  # a number of a header
            size = pick(rng, (1, 2, 4, 8))
            wide = (int(pick(rng, BOUNDS)) % 2**64).to_bytes(8, "little")[:size]
            data[i : i + size] = wide if rng.integers(2) else wide[::-1]
        elif kind == 8:  # one part over another
            size = int(rng.integers(1, 64))
            data[i : i + size] = data[j : j + size]
        elif kind == 9:
            found = list(re.finditer(rb"\d+", bytes(data)))
            if found:
                start, stop = pick(rng, found).span()
                data[start:stop] = pick(rng, NUMBERS)
    return bytes(data)


def mutate_tree(tree, rng):
    """JSON with one to three values replaced, left out, moved, doubled or buried."""
    tree = {"": json.loads(json.dumps(tree))}
    for _ in range(rng.integers(1, 4)):
        holder, key = pick(rng, list(_places(tree)))
        kind = rng.integers(0, 8)
        if kind <= 2:
            holder[key] = pick(rng, ODD)
        elif kind == 3 and holder is not tree:
            del holder[key]
        elif kind == 4:
            other, its = pick(rng, list(_places(tree)))
            holder[key] = json.loads(json.dumps(other[its]))
        elif kind == 5:
            holder[key] = [holder[key]]
        elif kind == 6 and isinstance(holder[key], list):
            holder[key] = holder[key] * int(rng.integers(2, 5))
        elif kind == 7 and isinstance(holder[key], dict):
            holder[key]["unknown"] = pick(rng, ODD)
    return tree[""]


def _places(tree):
    """Every (holder, key) of a tree."""
    keys = tree if isinstance(tree, dict) else range(len(tree))
    for key in list(keys):
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from _places(tree[key])


def mutate_json(data, rng):
    """The text of a changed tree; sometimes of one that is very deep."""
    text = json.dumps(mutate_tree(json.loads(data), rng))
    if rng.integers(20) == 0:
        deep = "[" * DEEP + "]" * DEEP
        found = list(re.finditer(r"null|true|\d+|\[\]", text))
        start, stop = pick(rng, found).span() if found else (0, len(text))
        text = text[:start] + deep + text[stop:]
    return text.encode()


def mutate_npy(data, rng):
    """An array with another shape or type, with or without the bytes for it."""
    array = np.lib.format.read_array(io.BytesIO(data))
    kind = rng.integers(0, 7)
    if kind == 0 and array.size:  # a number that must not be
        flat = array.reshape(-1).copy()
        bad = (0, 1, 255) if array.dtype.kind in "biu" else (np.nan, np.inf, -1e308)
        with np.errstate(all="ignore"):
            at = int(rng.integers(len(flat)))
            flat[at] = np.array(pick(rng, bad)).astype(array.dtype)
        return _npy(flat.reshape(array.shape))
    if kind == 1 and array.ndim:  # other rows or columns
        axis = int(rng.integers(array.ndim))
        count = int(rng.integers(0, array.shape[axis] + 3))
        return _npy(np.resize(array, _with(array.shape, axis, count)))
    if kind == 2:
        with np.errstate(all="ignore"):
            return _npy(array.astype(pick(rng, [t for t in DTYPES if t != "|O"])))
    if kind == 3:
        return _npy(
            pick(rng, (array[None], array.reshape(-1), array.T, array.reshape(-1)[:0]))
        )
    if kind in (4, 5):  # a head that lies
        shape = tuple(
            int(pick(rng, (0, 1, -1, 3, 2**31, 2**40, 2**62, size)))
            for size in (*array.shape, *([1] * int(rng.integers(2))))
        )
        descr = pick(rng, DTYPES) if kind == 5 else array.dtype.str
        head = {"descr": descr, "fortran_order": False, "shape": shape}
        buffer = io.BytesIO()
        np.lib.format.write_array_header_1_0(buffer, head)
        return buffer.getvalue() + array.tobytes()
    return mutate_bytes(data, rng)


def _with(shape, axis, size):
    return (*shape[:axis], size, *shape[axis + 1 :])


def _npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array))
    return buffer.getvalue()


def mutate_zip(data, rng, packed=zipfile.ZIP_DEFLATED, seal=lambda parts: parts):
    """An archive with a changed, lost, doubled, renamed or swapped member."""
    if rng.integers(5) == 0:
        return mutate_bytes(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(rng.integers(1, 3)):
        name, other, kind = pick(rng, list(parts)), pick(rng, list(parts)), rng.random()
        if kind < 0.8:
            parts[name] = mutate_file(name, parts[name], rng)
        elif kind < 0.86 and len(parts) > 1:
            del parts[name]
        elif kind < 0.93:
            parts[name] = parts[other]
        else:
            parts[pick(rng, ("../x", "/x", name + "x", "x" * 300))] = parts[name]
    parts = seal(parts)
    members = list(parts.items())
    if rng.integers(20) == 0:
        members.append(pick(rng, members))
    if rng.integers(30) == 0:
        packed = pick(rng, (0, 8, 12, 14))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packed) as archive:
        for name, part in members:
            archive.writestr(zipfile.ZipInfo(name), part, packed)
    return buffer.getvalue()


def sealed_model(parts):
    """The checksums of a model file made anew, so that they tell nothing."""
    try:
        header = json.loads(parts["header.json"])
        for name in header["arrays"]:
            digest = hashlib.sha256(parts[f"{name}.npy"]).hexdigest()
            header["arrays"][name] = digest
        parts["header.json"] = json.dumps(header).encode()
    except (KeyError, TypeError, ValueError, RecursionError):
        pass  # what is mutated so far that nothing can be sealed stays as it is
    if "header.json" in parts:
        digest = hashlib.sha256(parts["header.json"]).hexdigest()
        parts["header.sha256"] = digest.encode()
    return parts


mutate_model = partial(mutate_zip, packed=zipfile.ZIP_STORED, seal=sealed_model)
_BY_ENDING = {
    ".json": mutate_json,
    ".npy": mutate_npy,
    ".npz": mutate_zip,
    ".xlsx": mutate_zip,
    ".ods": mutate_zip,
    ".state": partial(mutate_zip, packed=zipfile.ZIP_STORED),
    ".imvc": mutate_model,
}
# What readers raise here when a second damage falls on a first one.
_DAMAGED = (ValueError, TypeError, EOFError, SyntaxError, RecursionError)
_DAMAGED += (zipfile.BadZipFile, zlib.error, tokenize.TokenError)


def mutate_file(name, data, rng):
    """A damaged file, by what its name says that it is; one in four byte by byte."""
    own = next((f for end, f in _BY_ENDING.items() if name.endswith(end)), None)
    if own is None or rng.integers(4) == 0:
        return mutate_bytes(data, rng)
    try:
        return own(data, rng)
    except (ArithmeticError, LookupError, MemoryError, *_DAMAGED):
        return mutate_bytes(data, rng)  # damaged before


def mutate_files(files, rng):
    """Files (a dict of name to bytes) of which one, rarely two, are damaged or lost."""
    files = dict(files)
    for _ in range(1 if rng.integers(10) else 2):
        name = pick(rng, list(files))
        if len(files) > 1 and rng.integers(25) == 0:
            del files[name]
        else:
            files[name] = mutate_file(name, files[name], rng)
    return files
