"""The registry of names: whose a name is, what its file says, and what is refused as such a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuzkd.errors import BadConfig, NotFound, Refused
from cuzkd.ipc.requests import PointChecks
from cuzkd.model import CircuitRef, CircuitShape, Curve
from cuzkd.registry import Named, Registry, check_name

DIGESTS = [f"{number:x}" * 64 for number in range(6)]


def named(name: str = "c", uid: int = 1000, circuit: int = 0, program: int | None = None) -> Named:
    shape = CircuitShape(Curve.BLS12_381, 20, 16, 3, 5)
    return Named(
        name,
        uid,
        CircuitRef(DIGESTS[circuit], shape),
        4096,
        PointChecks.CURVE,
        None if program is None else DIGESTS[program],
        DIGESTS[5],
    )


@given(
    st.lists(
        st.builds(
            named,
            name=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", fullmatch=True),
            uid=st.integers(0, 2**32 - 1),
            circuit=st.integers(0, 2),
            program=st.none() | st.integers(3, 4),
        )
    )
)
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, entries: list[Named]) -> None:
    registry = Registry(entries)
    path = tmp_path_factory.mktemp("names") / "names.json"
    path.write_bytes(registry.to_bytes())
    again = Registry.load(path)
    assert again.visible_to(0) == registry.visible_to(0)
    assert again.to_bytes() == registry.to_bytes()


def test_no_file_is_no_names(tmp_path: Path) -> None:
    assert len(Registry.load(tmp_path / "names.json")) == 0


ENTRY = json.loads(Registry([named()]).to_bytes())["circuits"][0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 2, "circuits": []}',
        '{"format": 1, "circuits": 5}',
        '{"format": 1, "circuits": [{}]}',
        *(
            json.dumps({"format": 1, "circuits": [ENTRY | change]})
            for change in (
                {"name": "../x"},
                {"name": 5},
                {"uid": -1},
                {"rows": True},
                {"rows": "20"},
                {"curve": "bn254"},
                {"circuit": "../../etc"},
                {"program": "A" * 64},
                {"points": "none"},
                {"size_bytes": 1 << 70},
            )
        ),
    ],
)
def test_what_was_not_written_by_a_registry_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "names.json"
    path.write_text(text)
    with pytest.raises(BadConfig, match=r"names\.json is no registry"):
        Registry.load(path)


def test_a_name_is_its_owners() -> None:
    registry = Registry([named(uid=1000, circuit=0), named(uid=1001, circuit=1)])
    assert registry.find(1000, "c").circuit.digest == DIGESTS[0]
    assert registry.find(1001, "c").circuit.digest == DIGESTS[1]
    assert registry.find(1000, "1000/c") == registry.find(1000, "c")
    for uid, written in ((1002, "c"), (1000, "1001/c"), (1000, "d"), (1000, "0/c"), (1000, "1000/c/d")):
        with pytest.raises(NotFound):
            registry.find(uid, written)


def test_root_finds_its_own_first_then_the_only_one_and_is_asked_which_of_several() -> None:
    mine, theirs, others = named(uid=0), named(uid=1000, circuit=1), named(uid=1001, circuit=2)
    assert Registry([mine, theirs]).find(0, "c") == mine
    assert Registry([theirs]).find(0, "c") == theirs
    assert Registry([theirs, others]).find(0, "1001/c") == others
    with pytest.raises(Refused, match="1000/c, 1001/c"):
        Registry([theirs, others]).find(0, "c")


def test_digests_are_those_of_every_name() -> None:
    registry = Registry([named(), named("d", circuit=1, program=3)])
    assert registry.digests == {DIGESTS[0], DIGESTS[1], DIGESTS[3], DIGESTS[5]}
    registry.drop(registry.find(1000, "d"))
    assert registry.digests == {DIGESTS[0], DIGESTS[5]}


@given(st.text(max_size=5).filter(lambda text: not (text.isascii() and text.isalnum())))
def test_a_name_is_plain(text: str) -> None:
    try:
        check_name(text)
    except Refused:
        return
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
    assert text[0].isalnum()
