from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuzkd.circom.inputs import InputLimits, InputSignal, name_hash, parse_inputs
from cuzkd.errors import BadFile, NotANumber, TooLarge


def parsed(text: str) -> dict[str, tuple[int, ...]]:
    return {signal.name: signal.values for signal in parse_inputs(text.encode())}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("-0", 0),
        ('"5"', 5),
        ('"-5"', -5),
        ('"007"', 7),
        ('" 12\\t\\n"', 12),
        ('"0x1F"', 31),
        ('"0Xff"', 255),
        ('"0b101"', 5),
        ('"0o17"', 15),
        (str(2**300 + 1), 2**300 + 1),
        (f'"-{2**300 + 1}"', -(2**300) - 1),
        (f'"{hex(2**300 + 1)}"', 2**300 + 1),
    ],
)
def test_every_integer_syntax_gives_its_exact_value(text: str, value: int) -> None:
    assert parsed(f'{{"a": {text}}}') == {"a": (value,)}


@pytest.mark.parametrize(
    "text",
    [
        "1.0",
        "1e3",
        "1E400",
        "true",
        "false",
        "null",
        "NaN",
        "Infinity",
        "-Infinity",
        '""',
        '"  "',
        '"1.0"',
        '"1e3"',
        *['"0x"', '"-0x5"', '"+5"', '"1_000"', '"0xg"', '"0b2"', '"0o8"', '"٣"', '"5 5"', '"--5"', '"abc"'],
    ],
)
@pytest.mark.parametrize("place", ["{}", "[1, {}]", "[[1, 2], [3, {}]]"])
def test_what_is_no_integer_is_refused_with_its_path(text: str, place: str) -> None:
    path = {"{}": "a", "[1, {}]": "a[1]", "[[1, 2], [3, {}]]": "a[1][1]"}[place]
    with pytest.raises(NotANumber) as caught:
        parsed(f'{{"b": 1, "a": {place.replace("{}", text)}}}')
    assert caught.value.message.split(" ")[0] == path


def test_messages_do_not_show_values() -> None:
    with pytest.raises(NotANumber) as caught:
        parsed('{"a": "secret1234"}')
    assert "secret" not in caught.value.message


@given(st.integers(-(10**6000), 10**6000))
def test_integers_of_any_size_survive_as_number_and_as_text(value: int) -> None:
    digits = _decimal(value)
    assert parsed(f'{{"a": {digits}, "b": "{digits}", "c": ["{hex(abs(value))}"]}}') == {
        "a": (value,),
        "b": (value,),
        "c": (abs(value),),
    }


def _decimal(value: int) -> str:
    """The digits of an integer of any size, which str() would refuse."""
    sign, rest, parts = "-" if value < 0 else "", abs(value), list[str]()
    while rest >= 10**4000:
        rest, low = divmod(rest, 10**4000)
        parts.insert(0, str(low).zfill(4000))
    return sign + "".join([str(rest), *parts])


def test_arrays_are_flattened_row_by_row_and_keep_their_name() -> None:
    assert parsed('{"m": [[1, 2], ["3", "0x4"]], "e": []}') == {"m": (1, 2, 3, 4), "e": ()}


def test_buses_become_signals_named_by_their_path() -> None:
    text = """{"p": [{"x": 1, "y": [2, 3]}, {"x": 4, "y": [5, 6]}], "q": {"r": {"s": 7}},
               "g": [[{"x": 8}], [{"x": 9}]]}"""
    assert parsed(text) == {
        "p[0].x": (1,),
        "p[0].y": (2, 3),
        "p[1].x": (4,),
        "p[1].y": (5, 6),
        "q.r.s": (7,),
        "g[0][0].x": (8,),
        "g[1][0].x": (9,),
    }


def test_a_number_among_buses_is_refused_with_its_path() -> None:
    with pytest.raises(NotANumber, match=r"p\[1\] must be an object"):
        parsed('{"p": [{"x": 1}, 5]}')
    with pytest.raises(NotANumber, match=r"p\[0\]\.x\[1\] is null"):
        parsed('{"p": [{"x": [1, null]}]}')


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"p": {"x": 1, "x": 1}}',
        '{"p[0].x": 1, "p": [{"x": 1}]}',
        '{"p.x": 1, "p": {"x": 2}}',
    ],
)
def test_a_repeated_name_is_refused(text: str) -> None:
    with pytest.raises(BadFile, match="twice"):
        parsed(text)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"5",
        b'"a"',
        b"{",
        b'{"a": 1,}',
        b"{'a': 1}",
        b'{"a": 01}',
        b'{"a": 1} x',
        b"\xff\xfe{",
        b"\xef\xbb\xbf{}",
        '{"a": 1}'.encode("utf-16"),
    ],
)
def test_what_is_no_json_object_in_utf8_is_a_bad_file(data: bytes) -> None:
    with pytest.raises(BadFile):
        parse_inputs(data)


@pytest.mark.parametrize(
    ("data", "limits"),
    [
        (b'{"a": 1}', InputLimits(size_bytes=7)),
        (b'{"a": [1, 2, 3]}', InputLimits(values=3)),
        (b'{"a": 12345678901234567890}', InputLimits(digits=19)),
        (b'{"a": %s}' % (b"7" * 70_000), InputLimits()),
        (b'{"a": "%s"}' % (b"7" * 70_000), InputLimits()),
        (b'{"a": "0x%s"}' % (b"7" * 70_000), InputLimits()),
        (b'{"a": %s1%s}' % (b"[" * 65, b"]" * 65), InputLimits()),
        (b'{"a": %s1%s}' % (b"[" * 200_000, b"]" * 200_000), InputLimits()),
        (b'{"a": %s1%s}' % (b'{"b":' * 65, b"}" * 65), InputLimits()),
        (b'{"a": %s1%s}' % (b'{"b":' * 100_000, b"}" * 100_000), InputLimits()),
        (b'{"%s": [{"x": 1}]}' % (b"a" * 2000), InputLimits()),
    ],
    ids=lambda value: None if isinstance(value, bytes) else "limits",
)
def test_what_is_too_large_is_refused_before_it_costs(data: bytes, limits: InputLimits) -> None:
    with pytest.raises(TooLarge):
        parse_inputs(data, limits)


@pytest.mark.parametrize(
    ("name", "digest"),
    [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)],
)
def test_the_name_hash_is_fnv_1a_as_published(name: str, digest: int) -> None:
    assert name_hash(name) == digest


def test_the_name_hash_takes_utf16_code_units() -> None:
    pair = name_hash("\U0001f600")
    assert pair == name_hash("\ud83d\ude00")
    assert pair != name_hash("\ud83d")


def test_any_name_can_be_shown() -> None:
    with pytest.raises(NotANumber) as caught:
        parsed(json.dumps({"\ud800\n" + "x" * 500: None}))
    assert caught.value.message.isascii()
    assert len(caught.value.message) < 200


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


@given(
    st.dictionaries(st.text(max_size=3), _JSON).map(lambda value: json.dumps(value).encode()) | st.binary()
)
def test_any_file_gives_integers_or_an_error_of_ours(data: bytes) -> None:
    try:
        signals = parse_inputs(data)
    except (BadFile, NotANumber, TooLarge):
        return
    assert len({signal.name for signal in signals}) == len(signals)
    assert all(type(value) is int for signal in signals for value in signal.values)


def test_signals_keep_the_order_of_the_file() -> None:
    assert parse_inputs(b'{"z": 1, "a": [2]}') == (InputSignal("z", (1,)), InputSignal("a", (2,)))
