"""JSON without the `json` package, which costs a bare start again by its imports."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from typing import Any

_native: "Any"
try:
    import _json as _native
except ImportError:  # another Python than CPython
    _native = None


class _Rules:
    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo = None

    @staticmethod
    def parse_constant(name: str) -> float:
        return {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}[name]


def loads(text: str) -> "Any":
    """The value of a JSON text.

    Raises:
        ValueError: when it is no JSON.
    """
    if _native is None:
        import json

        return json.loads(text)
    text = text.strip(" \t\r\n\ufeff")
    try:
        value, end = _native.make_scanner(_Rules)(text, 0)
    except (StopIteration, SystemError):
        # SystemError: up to 3.11 the scanner finds no words for most faults while `json.decoder` is not loaded.
        raise ValueError("not JSON") from None
    if end != len(text):
        raise ValueError("text after the JSON value")
    return value


def _quote(text: str) -> str:
    if _native is None:
        import json

        return json.dumps(text, ensure_ascii=False)
    return str(_native.encode_basestring(text))


def dumps(value: "Any") -> str:
    """JSON text of dicts, lists, strings, numbers, booleans and None; non-ASCII text stays as it is."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ",".join(_quote(str(key)) + ":" + dumps(item) for key, item in value.items()) + "}"
    return "[" + ",".join(dumps(item) for item in value) + "]"
