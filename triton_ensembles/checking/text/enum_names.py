"""The name of an enum that people mean when they write BYTES, float32 or GPU."""

import difflib
import re
from collections.abc import Collection

from triton_ensembles.ground.spelling import nearest

# Of other formats (KServe v2, ONNX, NumPy, TensorFlow, C) for the names of Triton.
_SYNONYMS = {
    "BYTES": "STRING", "STR": "STRING", "TEXT": "STRING", "OBJECT": "STRING", "CHAR": "STRING", "UTF8": "STRING",
    "FLOAT": "FP32", "FLOAT32": "FP32", "F32": "FP32", "SINGLE": "FP32", "REAL": "FP32",
    "DOUBLE": "FP64", "FLOAT64": "FP64", "F64": "FP64", "HALF": "FP16", "FLOAT16": "FP16", "F16": "FP16",
    "BFLOAT16": "BF16", "BFLOAT": "BF16", "BOOLEAN": "BOOL", "I32": "INT32",
    "LONG": "INT64", "I64": "INT64", "SHORT": "INT16", "BYTE": "UINT8", "UBYTE": "UINT8", "U8": "UINT8",
    "UCHAR": "UINT8", "CUDA": "GPU",
}  # fmt: skip
_PERHAPS = {"INT": "INT32", "INTEGER": "INT32", "UINT": "UINT32", "TEXT": "STRING"}
_FROM_LIBRARY = re.compile(r"(?:TYPE|DT|ONNX|TENSOR|NP|NUMPY|TORCH|TF|KIND)[_.]")
_CLEAR = 0.1  # by which the nearest name is nearer than all others


def likely_name(word: str, names: Collection[str]) -> str | None:
    """The name to propose for ``word``, which may be wrong."""
    ending = _PERHAPS.get(_FROM_LIBRARY.sub("", word.upper()))
    perhaps = [name for name in names if ending and name.endswith(f"_{ending}")]
    return meant_name(word, names) or (perhaps[0] if perhaps else nearest(word, names))


def meant_name(word: str, names: Collection[str]) -> str | None:
    """The name that ``word`` stands for without doubt: another spelling, or so near that no other comes close."""
    short = {name.partition("_")[2].upper(): name for name in names if "_" in name}
    upper = word.upper()
    if upper in names:
        return upper
    bare = _FROM_LIBRARY.sub("", upper)
    meant = short.get(bare) or short.get(_SYNONYMS.get(bare, ""))
    if meant or len(word) > 40:
        return meant
    scores = sorted(((difflib.SequenceMatcher(None, upper, name).ratio(), name) for name in names), reverse=True)
    (first, name), (second, _) = [*scores, (0.0, ""), (0.0, "")][:2]
    return name if first >= 0.85 and first - second >= _CLEAR else None
