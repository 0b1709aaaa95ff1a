"""Frozen records with slots: what `dataclass(frozen=True, slots=True)` makes, without generating any code.

Making a dataclass takes a millisecond, and loading `dataclasses` ten: too much for `cuzkctl`, which loads
dozens of messages to live for a twentieth of a second. Type checkers take records for dataclasses, and so
do `dataclasses.fields`, `replace` and `asdict`.

Nothing that `cuzkctl` loads needs `typing` while it runs, so it is imported for type checkers only.
"""

from __future__ import annotations

__all__ = ["dataclass_transform", "field_names", "is_record", "record"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform

    _T = TypeVar("_T")
else:

    def dataclass_transform(**_):
        """Has a meaning to type checkers alone."""
        return lambda function: function


@dataclass_transform(frozen_default=True)
def record(cls: type[_T]) -> type[_T]:
    """Class decorator: annotated names are fields and their values defaults, except those of a `ClassVar`.

    Records of one class with equal fields are equal, and hash the same. Fields are not inherited.
    """
    names = tuple(name for name, kind in cls.__annotations__.items() if not kind.startswith("ClassVar"))
    space = {key: value for key, value in vars(cls).items() if key not in ("__dict__", "__weakref__")}
    defaults = {name: space.pop(name) for name in names if name in space}
    own = {
        "__slots__": names,
        "__match_args__": names,
        "__dataclass_fields__": _Fields(),
        "_defaults": defaults,
    }
    # A class is made with its slots, so this is another class than the one that was written.
    make: Any = type(cls)
    made: type[_T] = make(cls.__name__, cls.__bases__, _METHODS | space | own)
    return made


def field_names(cls: type) -> tuple[str, ...]:
    """The names of a record class's fields, in their order."""
    names: tuple[str, ...] = cls.__match_args__  # type: ignore[attr-defined]
    return names


def is_record(cls: type) -> bool:
    """Whether the class was made by `record`."""
    return isinstance(vars(cls).get("_defaults"), dict)


class _Methods:
    """What every record can do."""

    __slots__ = ()
    __match_args__: tuple[str, ...]
    _defaults: dict[str, Any]

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self.__match_args__
        if len(values) > len(names):
            raise TypeError(f"{type(self).__name__} has {len(names)} fields, {len(values)} are given")
        given = dict(zip(names, values, strict=False))
        if twice := given.keys() & named.keys():
            raise TypeError(f"{type(self).__name__}: {', '.join(twice)} given twice")
        given |= named
        if len(given) < len(names):
            given = self._defaults | given
        if given.keys() != set(names):
            raise TypeError(f"{type(self).__name__} has the fields {names}, {tuple(given)} are given")
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return _values(self) == _values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(_values(self))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__qualname__}({fields})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), _values(self)


_METHODS = {name: value for name, value in vars(_Methods).items() if callable(value)}


def _values(record: Any) -> tuple[Any, ...]:
    return tuple([getattr(record, name) for name in record.__match_args__])


class _Fields:
    """`__dataclass_fields__`, made when somebody asks: then `dataclasses` is loaded anyway."""

    def __get__(self, _: object, owner: Any) -> dict[str, Any]:
        import dataclasses

        spec = [
            (name, kind, dataclasses.field(default=owner._defaults.get(name, dataclasses.MISSING)))
            for name, kind in owner.__annotations__.items()
            if name in owner.__match_args__
        ]
        made: Any = dataclasses.make_dataclass(owner.__name__, spec)
        fields: dict[str, Any] = made.__dataclass_fields__
        owner.__dataclass_fields__ = fields
        return fields
