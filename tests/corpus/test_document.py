"""One file as a document: titles, axes, dates, and everything that real files get wrong."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from lamina.contract.filters import Kind
from lamina.contract.tokens import count_tokens
from lamina.corpus.config import InvalidSettings, parse_settings
from lamina.corpus.document import Document, common_scheme, parse
from lamina.corpus.kinds import DEFAULT_PREFIXES, kind_of
from lamina.corpus.remarks import Topic


def document(body: str = "# Heading\n", path: str = "docs/file-name.md", **fields: Any) -> Document:
    front = f"---\n{yaml.safe_dump(fields)}---\n" if fields else ""
    return parse(path, (front + body).encode())


@pytest.mark.parametrize(
    ("fields", "body", "title"),
    [
        ({"title": "Front"}, "# Heading\n", "Front"),
        ({"title": "  Two\n lines "}, "# Heading\n", "Two lines"),
        ({"title": 2025}, "# Heading\n", "2025"),
        ({"title": None}, "# Heading\n", "Heading"),
        ({"title": ""}, "# Heading\n", "Heading"),
        ({"title": ["a", "b"]}, "# Heading\n", "Heading"),
        ({}, "# *Heading* `x`\n", "Heading x"),
        ({}, "## Only two\n", "file-name"),
        ({}, "```\ntitle: Fenced\n# Fenced\n```\n", "file-name"),
        ({}, "", "file-name"),
    ],
)
def test_a_title_comes_from_frontmatter_then_the_h1_then_the_file(
    fields: dict[str, Any], body: str, title: str
) -> None:
    assert document(body, **fields).title == title


@pytest.mark.parametrize(
    ("value", "tier"),
    [
        (2, (2,)),
        ("2", (2,)),
        (" 2 ", (2,)),
        (0, (0,)),
        ([1, "3"], (1, 3)),
        ("two", ()),
        (True, ()),
        (None, ()),
        (2.5, ()),
    ],
)
def test_a_tier_is_a_number_however_it_is_written(value: Any, tier: tuple[int, ...]) -> None:
    assert document(tier=value).tier == tier


@pytest.mark.parametrize(
    ("value", "audience"),
    [
        ("canon", ("canon",)),
        (["canon", "docs", "canon"], ("canon", "docs")),
        (" canon ", ("canon",)),
        (None, ()),
        ([], ()),
        (["canon", None, {"a": 1}], ("canon",)),
        (5, ("5",)),
    ],
)
def test_an_audience_may_be_one_or_a_list(value: Any, audience: tuple[str, ...]) -> None:
    assert document(audience=value).audience == audience


@pytest.mark.parametrize(
    ("value", "public"), [(True, True), (False, False), ("true", True), ("False", False), ("perhaps", None), (1, None)]
)
def test_a_flag_is_true_false_or_unknown(value: Any, public: bool | None) -> None:
    assert document(public=value).public is public


@pytest.mark.parametrize(
    ("front", "date"),
    [
        ("date: 2025-03-01", "2025-03-01"),
        ("date: '2025-03-01'", "2025-03-01"),
        ("date: 2025-03-01 10:00:00", "2025-03-01T10:00:00"),
        ("date: 2025", "2025"),
        ("date:", None),
        ("date: [2025-03-01]", None),
    ],
)
def test_a_date_is_text(front: str, date: str | None) -> None:
    assert parse("a.md", f"---\n{front}\n---\n".encode()).date == date


@pytest.mark.parametrize(
    ("value", "uri"),
    [
        ("kb://a/b", "kb://a/b"),
        ("other://x", "other://x"),
        ("a/b", None),
        ("://b", None),
        ("kb://", None),
        ("kb://a b", None),
        (["kb://a"], None),
        (None, None),
    ],
)
def test_a_uri_has_a_scheme_and_no_spaces(value: Any, uri: str | None) -> None:
    found = document(uri=value)
    assert found.declared_uri == uri
    assert any(remark.topic == Topic.UNUSABLE_URI for remark in found.remarks) == (value is not None and uri is None)


def test_the_commonest_scheme_counts_and_of_equals_the_first() -> None:
    documents = [document(uri=uri) for uri in ("b://1", "a://2", "b://3", "a://4")]
    assert common_scheme(documents) == "a"
    assert common_scheme([*documents, document(uri="b://5")]) == "b"
    assert common_scheme([document()]) is None


@pytest.mark.parametrize(
    ("fields", "invalidated"),
    [
        ({}, False),
        ({"superseded_by": "docs/new"}, True),
        ({"superseded_by": None}, False),
        ({"invalidated": True}, True),
        ({"invalidated": "true"}, True),
        ({"invalidated": False}, False),
        ({"status": "refuted"}, True),
        ({"status": "Retracted"}, True),
        ({"status": "active"}, False),
    ],
)
def test_what_is_superseded_or_refuted_is_invalidated(fields: dict[str, Any], invalidated: bool) -> None:
    assert document(**fields).invalidated is invalidated


@pytest.mark.parametrize(
    ("declared", "path", "kind"),
    [
        ("essays", "canon/a.md", Kind.ESSAYS),
        ("Essays", "canon/a.md", Kind.CANON),
        (["essays"], "canon/a.md", Kind.CANON),
        (None, "canon/apocrypha/a.md", Kind.APOCRYPHA),
        (None, "canonical/a.md", Kind.DOCS),
        (None, "canon", Kind.DOCS),
        (None, "odd/a.md", Kind.JOURNALS),
        (None, "README.md", Kind.DOCS),
    ],
)
def test_a_kind_is_declared_or_comes_from_the_longest_prefix(declared: Any, path: str, kind: Kind) -> None:
    assert kind_of(declared, path, DEFAULT_PREFIXES) == kind


def test_a_kind_outside_the_five_is_told() -> None:
    assert any("'chronicle'" in remark.text for remark in document(kind="chronicle").remarks)


def test_an_optional_field_that_is_missing_is_nothing_to_tell() -> None:
    assert document(tier=1).remarks == ()
    assert document().remarks == ()


def test_bytes_that_are_not_utf8_are_the_one_thing_that_raises() -> None:
    with pytest.raises(UnicodeDecodeError):
        parse("a.md", b"# A\xff\n")


def test_a_file_of_five_megabytes_is_read() -> None:
    body = "# Long\n\n> Quoted.\n\n## Summary\n\nShort.\n\n## Rest\n\n" + "A line of words.\n" * 300_000
    found = document(body)
    assert len(body) > 5_000_000
    assert (found.title, found.blockquote, found.summary) == ("Long", "Quoted.", "Short.")
    assert found.body == body


def test_every_tier_is_counted_as_the_json_it_becomes() -> None:
    found = document('# T\n\n> A "quote".\n\n## Summary\n\nShort.\n', tier=1)
    assert found.tokens.title == count_tokens('"T"')
    assert found.tokens.blockquote == count_tokens('"A \\"quote\\"."')
    assert found.tokens.metadata == count_tokens('{"tier": 1}')
    assert found.tokens.summary == count_tokens('"Short."')
    assert document("x").tokens.summary == count_tokens("null")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kinds: {x/: poems}", "kinds"),
        ("scheme: Not A Scheme", "scheme"),
        ("subfolder: ../out", "subfolder"),
        ("unknown: 1", "unknown"),
        ("[a, b]", "settings"),
        ("x: [", "YAML"),
    ],
)
def test_settings_that_do_not_fit_name_their_field(text: str, says: str) -> None:
    with pytest.raises(InvalidSettings, match=says):
        parse_settings(text)


def test_settings_are_optional_and_lay_over_the_defaults() -> None:
    assert parse_settings(None) == parse_settings(" ") == parse_settings("# nothing")
    settings = parse_settings("kinds: {posts/: essays}\nsubfolder: ./a//b/")
    assert settings.prefixes()["posts/"] == Kind.ESSAYS
    assert settings.prefixes()["canon/"] == Kind.CANON
    assert settings.subfolder == "a/b"
