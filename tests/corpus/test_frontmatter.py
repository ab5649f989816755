"""Frontmatter: where it ends, what it says as JSON, and what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lamina.corpus.frontmatter import split
from lamina.corpus.remarks import Level, Topic


def block(yaml: str, body: str = "body\n") -> str:
    return f"---\n{yaml}\n---\n{body}"


@pytest.mark.parametrize(
    ("text", "metadata", "body"),
    [
        ("no frontmatter\n", None, "no frontmatter\n"),
        ("", None, ""),
        ("---\n---\n", {}, ""),
        ("---\n\n---\nbody", {}, "body"),
        ("---\n# a comment\n---\nbody", {}, "body"),
        ("---\ntitle: A\n---\nbody", {"title": "A"}, "body"),
        ("---\ntitle: A\n---", {"title": "A"}, ""),
        ("---  \ntitle: A\n---\t\nbody", {"title": "A"}, "body"),
        ("\ufeff---\ntitle: A\n---\nbody", {"title": "A"}, "body"),
        ("---\r\ntitle: A\r\n---\r\nbody\r\n", {"title": "A"}, "body\r\n"),
        ("---\ntitle: A\n---\nbody\n---\nrule\n", {"title": "A"}, "body\n---\nrule\n"),
        (" ---\ntitle: A\n---\n", None, " ---\ntitle: A\n---\n"),
        ("\n---\ntitle: A\n---\n", None, "\n---\ntitle: A\n---\n"),
        ("----\ntitle: A\n----\n", None, "----\ntitle: A\n----\n"),
        ("---", None, "---"),
        ("```\n---\ntitle: A\n---\n```\n", None, "```\n---\ntitle: A\n---\n```\n"),
        ("---\na: |\n  x\n  --- y\n---\nbody", {"a": "x\n--- y\n"}, "body"),
    ],
)
def test_a_block_ends_at_its_fence_and_the_rest_is_unchanged(
    text: str, metadata: dict[str, Any] | None, body: str
) -> None:
    found = split(text)
    assert (found.metadata, found.body) == (metadata, body)


@pytest.mark.parametrize(
    ("yaml", "value"),
    [
        ("2025-01-31", "2025-01-31"),
        ("2025-01-31T10:20:30Z", "2025-01-31T10:20:30+00:00"),
        ("2025-01-31 10:20:30", "2025-01-31T10:20:30"),
        ('"2025-01-31"', "2025-01-31"),
        (".nan", None),
        ("-.inf", None),
        ("[1.5, .inf]", [1.5, None]),
        ("yes", "yes"),
        ("true", True),
        ("1", 1),
        ("", None),
        ("~", None),
        ("[a, 2025-01-31]", ["a", "2025-01-31"]),
        ("{7: a, true: b, null: c, 2025-01-31: d}", {"7": "a", "true": "b", "null": "c", "2025-01-31": "d"}),
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", "9223372036854775808"),
        ("2025-13-45", "2025-13-45"),
        ("!!set {c, a, b}", ["a", "b", "c"]),
        ("!!binary aGVsbG8=", "hello"),
    ],
)
def test_values_become_json(yaml: str, value: Any) -> None:
    found = split(block(f"x: {yaml}"))
    assert found.metadata == {"x": value}
    assert found.remarks == ()
    json.dumps(found.metadata, allow_nan=False)


@pytest.mark.parametrize(
    "yaml",
    [
        "title: [unclosed",
        "title: 'unclosed",
        "a: b: c",
        "title: @at",
        "x: !!int ''",
        "x: !!float ''",
        "x: !!float abc",
        "x: !!bool maybe",
        "x: !!timestamp soon",
        "x: !!map [a]",
        "x: !!set [a]",
        "x: !!omap [a]",
        "x: !!python/object/apply:os.getcwd []",
        "x: *nobody",
        "x: a\x00b",
    ],
)
def test_a_value_that_is_no_yaml_is_kept_as_it_is_written_and_told(yaml: str) -> None:
    found = split(block(yaml))
    key, _, value = yaml.partition(": ")
    assert found.metadata == {key: value}
    assert found.body == "body\n"
    (remark,) = found.remarks
    assert (remark.topic, remark.line) == (Topic.SALVAGED_FIELD, 2)
    assert key in remark.text


@pytest.mark.parametrize(
    "yaml",
    [
        "just text",
        "- a\n- list",
        "5",
        "2025-01-01",
        "~",
        "\tindented: by tab",
        "{[a]: b}",
        "<<: 1",
        "- " * 5_000,
        "A long sentence: so",
    ],
)
def test_what_is_no_mapping_is_body(yaml: str) -> None:
    found = split(block(yaml))
    assert (found.metadata, found.body) == (None, block(yaml))


BOMB = "a: &a [x, x]\n" + "\n".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]" for a, b in zip("abcdefghi", "bcdefghij", strict=True)
)
MERGES = (
    "a: &a {" + ", ".join(f"k{n}: 1" for n in range(500)) + "}\n" + "\n".join(f"m{n}: {{<<: *a}}" for n in range(500))
)


@pytest.mark.parametrize(
    "yaml",
    [
        "x: &x [*x]",
        "x: &x {y: *x}",
        "x: " + "[" * 40 + "]" * 40,
        BOMB,
        MERGES,
        "x: [" + "a," * 30_000 + "]",
        'x: &x "' + "word " * 20_000 + '"\ny: [' + "*x, " * 2_000 + "]",
        "x: &x !!binary " + "QUJD" * 20_000 + "\ny: [" + "*x, " * 2_000 + "]",
    ],
)
def test_what_expands_too_far_is_refused(yaml: str) -> None:
    found = split(block(yaml))
    assert (found.metadata, found.body) == (None, block(yaml))
    (remark,) = found.remarks
    assert remark.text == "frontmatter is nested too deep or too large"
    assert remark.level == Level.ERROR


@pytest.mark.parametrize("digits", ["0x" + "f" * 5_000, "0b" + "1" * 20_000, ":".join(["59"] * 3_000)])
def test_a_number_too_long_to_be_written_in_decimal_is_still_text(digits: str) -> None:
    found = split(block(f"x: {digits}"))
    assert found.metadata is not None
    assert found.metadata["x"] == digits


def test_a_repeated_key_is_told_and_the_last_one_counts() -> None:
    found = split(block("title: A\ntier: 1\ntitle: B\nx: {y: 1, y: 2}"))
    assert found.metadata == {"title": "B", "tier": 1, "x": {"y": 2}}
    assert {(remark.line, remark.text) for remark in found.remarks} == {
        (4, "frontmatter repeats the key 'title'; the last one counts"),
        (5, "frontmatter repeats the key 'y'; the last one counts"),
    }


def test_merge_keys_are_read() -> None:
    found = split(block("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}"))
    assert found.metadata == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}}


def test_a_fence_that_is_never_closed_leaves_the_whole_text_as_the_body() -> None:
    text = "---\ntitle: A\n\n# Heading\n"
    found = split(text)
    assert (found.metadata, found.body) == (None, text)
    assert [(remark.topic, remark.line) for remark in found.remarks] == [(Topic.OPEN_FRONTMATTER, 1)]
