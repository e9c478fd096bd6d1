"""Keys of samples: random draws go by them where samples have ids.

So the same data in another order give the same clusters. A key comes from the text of
the id alone: it is the same on every machine, in memory and in files.
"""

from hashlib import blake2b

import numpy as np

_CHUNK = 1 << 16  # ids at a time
_LONG = 64  # letters; longer ids are shortened, so that one cannot fill the memory


def id_keys(ids: np.ndarray) -> np.ndarray:
    """A number of 64 random bits for every id, shape (n,), uint64.

    The number 1 and the text "1" have the same key in arrays of one type each, and
    different ones in one array that holds both.
    """
    typed = ids.dtype == object
    keys = np.empty(len(ids), np.uint64)
    for at in range(0, len(ids), _CHUNK):
        part = slice(at, at + _CHUNK)
        texts = [
            x
            if isinstance(x, str)
            else f"{type(x).__name__} {x!r}"
            if typed
            else f"{x}"
            for x in ids[part].tolist()
        ]
        keys[part] = _text_keys([x if len(x) <= _LONG else _short(x) for x in texts])
    return keys


def _text_keys(texts: list[str]) -> np.ndarray:
    letters = np.array(texts).view(np.uint32).reshape(len(texts), -1)
    keys = np.zeros(len(texts), np.uint64)
    for column in letters.T:  # zeros fill up shorter texts
        keys = np.where(column, mixed_bits(keys + column), keys)
    return keys


def _short(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def mixed_bits(x: np.ndarray) -> np.ndarray:
    """Every uint64 as another that looks random: one to one, the same everywhere."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
