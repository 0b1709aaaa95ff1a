"""hypothesis strategies that build an instance of any message from its annotations alone."""

import dataclasses
import enum
import types
import typing
from typing import Any

from hypothesis import strategies as st

_SCALARS: dict[object, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(-(1 << 63), (1 << 64) - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: st.text(max_size=12),
    bytes: st.binary(max_size=12),
}


def instances(cls: type) -> st.SearchStrategy[Any]:
    """Instances of a dataclass, every field drawn from what its annotation allows."""
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{field.name: _values(hints[field.name]) for field in dataclasses.fields(cls)})


def _values(annotation: Any) -> st.SearchStrategy[Any]:
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    args = typing.get_args(annotation)
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        return st.one_of([st.none() if arg is type(None) else _values(arg) for arg in args])
    if typing.get_origin(annotation) is tuple:
        if args[-1] is Ellipsis:
            return st.lists(_values(args[0]), max_size=3).map(tuple)
        return st.tuples(*map(_values, args))
    if issubclass(annotation, enum.Enum):
        return st.sampled_from(annotation)
    return instances(annotation)
