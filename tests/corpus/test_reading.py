"""How every kind of Markdown file is read: a table of small inputs, and what each must give."""

from __future__ import annotations

from typing import Any

import pytest

from lamina.corpus.document import Document, parse
from lamina.corpus.remarks import Level, Topic


def read(text: str, path: str = "docs/page.md") -> Document:
    return parse(path, text.encode())


def topics(document: Document) -> list[Topic]:
    return [remark.topic for remark in document.remarks]


@pytest.mark.parametrize(
    ("text", "metadata", "body"),
    [
        ("---\ntitle: Oar\n---\nText.\n", {"title": "Oar"}, "Text.\n"),
        ("---\ntitle: Oar\n...\nText.\n", {"title": "Oar"}, "Text.\n"),
        ("---\rtitle: Oar\r---\rText.\r", {"title": "Oar"}, "Text.\r"),
        ('+++\ntitle = "Oar"\ntags = ["boat"]\n+++\nText.\n', {"title": "Oar", "tags": ["boat"]}, "Text.\n"),
        ('{\n  "title": "Oar"\n}\n\nText.\n', {"title": "Oar"}, "\nText.\n"),
        ("---\n- a\n- list\n---\nText.\n", None, "---\n- a\n- list\n---\nText.\n"),
        (
            "---\nA rainy day: at noon we stopped.\n---\nText.\n",
            None,
            "---\nA rainy day: at noon we stopped.\n---\nText.\n",
        ),
        ("---\nThe hour: at dusk: it opens.\n---\nText.\n", None, "---\nThe hour: at dusk: it opens.\n---\nText.\n"),
        ("---\n\nOnly a rule above.\n\n# Text\n", None, "---\n\nOnly a rule above.\n\n# Text\n"),
        ("{ not json }\n\nText.\n", None, "{ not json }\n\nText.\n"),
        ("{}\n\nText.\n", None, "{}\n\nText.\n"),
        ("{/* a comment */}\n\nText.\n", None, "{/* a comment */}\n\nText.\n"),
        ("---\na: 1\n---\n---\nb: 2\na: 3\n---\nText.\n", {"b": 2, "a": 1}, "Text.\n"),
        ("---\na: 1\n---\n---\nPlain words.\n---\nText.\n", {"a": 1}, "---\nPlain words.\n---\nText.\n"),
    ],
)
def test_what_is_a_mapping_is_frontmatter_and_all_else_is_body(
    text: str, metadata: dict[str, Any] | None, body: str
) -> None:
    document = read(text)
    assert document.metadata == metadata
    assert document.body == body


def test_text_between_rules_makes_no_heading_of_itself_and_hides_no_title() -> None:
    document = read("---\nA rainy day: at noon we stopped.\n---\n\n# Diary\n")
    assert document.title == "Diary"
    assert [heading.text for heading in document.headings] == ["Diary"]


@pytest.mark.parametrize(
    ("text", "metadata", "line"),
    [
        (
            "---\ntitle: Ferry: winter\ntags: [boat]\nuri: kb://f\n---\n",
            {"title": "Ferry: winter", "tags": ["boat"], "uri": "kb://f"},
            2,
        ),
        ("---\nok: 1\ntitle: {{ .Name }}\n---\n", {"ok": 1, "title": "{{ .Name }}"}, 3),
        ("---\naliases:\n  - %\n  - each\nok: 1\n---\n", {"aliases": ["%", "each"], "ok": 1}, 2),
        ("---\nok: 1\ntitle: 'unclosed\ntags: [a]\n---\n", {"ok": 1, "title": "'unclosed", "tags": ["a"]}, 3),
        ('+++\ntitle = "unclosed\nok = 1\n+++\n', {"title": '"unclosed', "ok": 1}, 2),
    ],
)
def test_a_value_that_cannot_be_read_costs_no_other_and_is_told_with_its_line(
    text: str, metadata: dict[str, Any], line: int
) -> None:
    document = read(text)
    assert document.metadata == metadata
    told = next(remark for remark in document.remarks if remark.topic == Topic.SALVAGED_FIELD)
    assert told.line == line
    assert told.level == Level.WARNING


@pytest.mark.parametrize(
    "written", ["No", "y", "0042", "12:30", "1.10", "0x1F", "1_000", "1e5", "2024-01-05", "404", "true"]
)
def test_a_title_is_what_is_written(written: str) -> None:
    document = read(f"---\ntitle: {written}\ntags: [{written}]\naliases: {written}\n---\n")
    assert document.title == written
    assert document.names == (written,)
    assert document.metadata is not None
    assert document.metadata["title"] == written
    assert document.tags == (written,)


def test_what_yaml_takes_for_a_comment_is_part_of_a_title() -> None:
    assert read("---\ntitle: Fix for #12\n---\n").title == "Fix for #12"
    assert read("---\ntitle: Fix  # not for show\n---\n").title == "Fix"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("NO", "NO"),
        ("yes", "yes"),
        ("true", True),
        ("False", False),
        ("7", 7),
        ("007", "007"),
        ("1.5", 1.5),
        ("1.50", "1.50"),
        ("0o17", "0o17"),
        ("10:20", "10:20"),
        ("null", None),
    ],
)
def test_a_value_is_a_number_or_a_flag_only_if_it_would_be_written_so(written: str, value: Any) -> None:
    assert read(f"---\nx: {written}\n---\n").metadata == {"x": value}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Guide {#top}\n", "Guide"),
        ("# Guide {: #top .wide}\n", "Guide"),
        ("# Guide {/*top*/}\n", "Guide"),
        ("# Guide <a name='top'></a>\n", "Guide"),
        ("# Guide <!-- omit in toc -->\n", "Guide"),
        ("# Guide [![build](b.svg)](ci) <Badge text='3.2+' />\n", "Guide"),
        ("# ![Logo of the tool](logo.svg)\n", "Logo of the tool"),
        ("# `Vec<T>` and Box<T>\n", "Vec<T> and Box<T>"),
        ("# Set {a, b}\n", "Set {a, b}"),
        ('<h1 align="center">Guide</h1>\n\nText.\n', "Guide"),
        ('<div>\n<h1>Guide <img src="x"></h1>\n</div>\n', "Guide"),
        ("<!-- <h1>Not this</h1> -->\n\n# Guide\n", "Guide"),
        ("<p><img src='x.png'></p>\n\n# Guide\n", "Guide"),
        ("Guide\n=====\n", "Guide"),
        ("## Lead\n\n# Late\n", "page"),
        ("# Summary\n\nShort.\n", "page"),
        ("# Summary of the year\n", "Summary of the year"),
        ("Text alone.\n", "page"),
        ("---\nTitle: Capital key\n---\n", "Capital key"),
        ("---\ntitle: [a, b]\n---\n# Head\n", "Head"),
        ("---\ntitle:\n---\n# Head\n", "Head"),
    ],
)
def test_a_title_comes_without_what_is_no_part_of_it(text: str, title: str) -> None:
    assert read(text).title == title


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("pump/README.md", "pump"),
        ("pump/index.md", "pump"),
        ("pump/_index.mdx", "pump"),
        ("a/heat pump/Index.md", "heat pump"),
        ("README.md", "README"),
        ("pump/indexes.md", "indexes"),
    ],
)
def test_a_page_that_stands_for_its_folder_is_titled_by_it(path: str, title: str) -> None:
    assert read("Text alone.\n", path).title == title


@pytest.mark.parametrize(
    ("text", "blockquote"),
    [
        ("# A\n\n> Quote.\n", "Quote."),
        ("# A\n\n<!-- hidden -->\n\n> Quote.\n", "Quote."),
        ("<h1>A</h1>\n\n> Quote.\n", "Quote."),
        ("---\ntitle: A\n---\n\n> Quote.\n", "Quote."),
        ("> Quote.\n", None),
        ("---\ntitle: A\ndescription: In short.\n---\n\nText.\n", "In short."),
        ("---\ntitle: A\ndescription: In short.\n---\n\n> Quote.\n", "Quote."),
        ("---\ndescription: In short.\n---\n# A\n\nText.\n", "In short."),
        ("# A\n\n> [!WARNING]\n> Old page.\n", "Warning:\nOld page."),
        ("# A\n\n> [!note]- Mind this\n> Old page.\n", "Mind this\nOld page."),
        ("---\ntitle: A\n---\nimport X from './x'\n\n> Quote.\n", "Quote."),
    ],
)
def test_a_blockquote_is_the_first_block_or_the_description(text: str, blockquote: str | None) -> None:
    assert read(text).blockquote == blockquote


@pytest.mark.parametrize("heading", ["Summary", "1. Summary", "Summary: one contract", "📝 Summary"])
def test_a_summary_may_be_numbered_and_may_go_on(heading: str) -> None:
    assert read(f"# A\n\n## {heading}\n\nShort.\n\n## Next\n").summary == "Short."


@pytest.mark.parametrize(
    ("heading", "slug", "anchors"),
    [
        ("Set up the mast {#mast}", "mast", ("set-up-the-mast",)),
        ("Set up {/*mast*/}", "mast", ("set-up",)),
        ('Sail <a name="the-sail"></a>', "the-sail", ("sail",)),
        ('<a id="x"></a><a name="y"></a>Sail', "x", ("y", "sail")),
        ("Plain", "plain", ()),
    ],
)
def test_ids_and_names_are_slugs_of_a_section(heading: str, slug: str, anchors: tuple[str, ...]) -> None:
    found = read(f"# A\n\n## {heading}\n\nText.\n").headings[1]
    assert (found.slug, found.anchors) == (slug, anchors)


@pytest.mark.parametrize(
    ("fields", "tags"),
    [
        ("tags: alpha, beta", ("alpha", "beta")),
        ("tags: [[alpha, beta], gamma]", ("alpha", "beta", "gamma")),
        ("tag: alpha", ("alpha",)),
        ("keywords: [alpha]\ncategories: beta", ("alpha", "beta")),
        ('tags: ["#alpha", project/alpha]', ("alpha", "project/alpha")),
        ("tags: {area: alpha, beta: true}", ("alpha", "beta")),
        ("tags: alpha beta", ("alpha beta", "alpha", "beta")),
        ("Tags: [Alpha, alpha]", ("Alpha", "alpha")),
        ("tags: [machine learning]", ("machine learning",)),
        ("tags:", ()),
    ],
)
def test_tags_are_read_as_people_write_them(fields: str, tags: tuple[str, ...]) -> None:
    assert read(f"---\n{fields}\n---\n").tags == tags


def test_tags_of_a_taxonomy_in_toml_are_tags() -> None:
    assert read('+++\n[taxonomies]\ntags = ["clay"]\n+++\n').tags == ("clay",)


def test_tags_in_the_text_are_words_after_a_mark_outside_code_and_links() -> None:
    body = "# A\n\nText #alpha, #project/beta and #12, x#no `#code` [top](#top)\n\n```\n#fenced\n```\n\n#last\n"
    assert read(body).hashtags == ("alpha", "project/beta", "last")


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("2024-03-05", "2024-03-05"),
        ("2024-01-09T23:30:00-05:00", "2024-01-09T23:30:00-05:00"),
        ("2024-01-10T01:00:00Z", "2024-01-10T01:00:00+00:00"),
        ("2024-02-01 10:00:00", "2024-02-01T10:00:00"),
        ("2024-02-01 10:00:00 +0200 UTC", "2024-02-01T10:00:00+02:00"),
        ("Jan 5, 2024", "2024-01-05"),
        ("5th of January 2024", None),
        ("5 January 2024", "2024-01-05"),
        ("Friday, January 5th, 2024", "2024-01-05"),
        ("05/04/2024", None),
        ("25/04/2024", "2024-04-25"),
        ("04/25/2024", "2024-04-25"),
        ("5.4.2024", "2024-04-05"),
        ("2024", "2024"),
        ("2024-05", "2024-05"),
        ("20240301", "2024-03-01"),
        ("2024/03/02", "2024-03-02"),
        ("2024-1-7", "2024-01-07"),
        ("'2024-03-03'", "2024-03-03"),
        ('"2023-12-31T24:00"', "2024-01-01T00:00:00"),
        ("2023-02-30", None),
        ("soon", None),
        ("Mon, 05 Feb 2024 10:00:00 +0100", "2024-02-05T10:00:00+01:00"),
        ("2024年3月5日", "2024-03-05"),
    ],
)
def test_a_date_is_in_iso_or_told(written: str, date: str | None) -> None:
    document = read(f"---\ntitle: A\ndate: {written}\n---\nText.\n")
    assert document.date == date
    told = [(remark.topic, remark.line) for remark in document.remarks]
    assert told == ([] if date else [(Topic.ODD_DATE, 3)])
    assert document.metadata is not None
    assert document.metadata["date"] == (date or written)


@pytest.mark.parametrize(
    ("fields", "exposure"),
    [
        ("draft: true", ("draft",)),
        ("draft: yes", ("draft",)),
        ("published: false", ("draft",)),
        ("hidden: true", ("hidden",)),
        ("noindex: true", ("hidden",)),
        ("unlisted: true", ("hidden",)),
        ("search:\n  exclude: true", ("hidden",)),
        ("draft: false", ()),
        ("published: 2024-01-05", ()),
        ("exposure: public\ndraft: true", ("public",)),
    ],
)
def test_what_is_not_for_everybody_is_an_exposure(fields: str, exposure: tuple[str, ...]) -> None:
    assert read(f"---\n{fields}\n---\n").exposure == exposure


@pytest.mark.parametrize(
    ("text", "target", "invalidated"),
    [
        ("---\nsuperseded_by: 0005-kafka.md\n---\n", "0005-kafka.md", True),
        ("---\nsuperseded-by: ./0005-kafka.md\n---\n", "./0005-kafka.md", True),
        ("---\nsupersededBy: [docs/0005-kafka.md]\n---\n", "docs/0005-kafka.md", True),
        ("---\nreplaced_by: '[[0005-kafka|Kafka]]'\n---\n", "0005-kafka", True),
        ("---\nstatus: superseded by ADR-0005\n---\n", "ADR-0005", True),
        ("---\nstatus: Superseded by [ADR-0005](0005-kafka.md)\n---\n", "0005-kafka.md", True),
        ("---\nstatus: superseded\n---\n", None, True),
        ("---\nstatus: deprecated\n---\n", None, True),
        ("---\nstatus: Rejected\n---\n", None, True),
        ("---\nstatus: accepted\n---\n", None, False),
        ("# 4. Nats\n\n## Status\n\nSuperceded by [5. Kafka](0005-kafka.md)\n", "0005-kafka.md", True),
        ("# 4. Nats\n\n- Status: superseded by [5. Kafka](0005-kafka.md)\n", "0005-kafka.md", True),
        ("# 4. Nats\n\n**Status:** Rejected\n", None, True),
        ("# 4. Nats\n\n## Status\n\nAccepted\n", None, False),
        ("# 4. Nats\n\nThis was superseded by others elsewhere.\n", None, False),
    ],
)
def test_a_decision_that_no_longer_holds_says_so_in_many_ways(text: str, target: str | None, invalidated: bool) -> None:
    document = read(text)
    assert (document.successor.target if document.successor else None) == target
    assert document.invalidated is invalidated


def test_links_are_found_with_their_lines_and_not_in_code_nor_to_the_web() -> None:
    text = (
        "---\ntitle: A\n---\n\nSee [b](b.md#part), ![pic](x.png) and `[c](c.md)`.\n\n```\n[d](d.md)\n```\n"
        "\n[[Heat Pump#Setup|x]] and ![[Embed]], [web](https://example.com/e.md), [here](#f).\n\n[g]: ../g.md 'G'\n"
    )
    found = [(link.target, link.line, link.wiki) for link in read(text).links]
    assert found == [
        ("b.md", 5, False),
        ("x.png", 5, False),
        ("Heat Pump", 11, True),
        ("Embed", 11, True),
        ("../g.md", 13, False),
    ]


@pytest.mark.parametrize("uri", ["kb://a]b", "kb://a b", "no-scheme", "kb://", "kb://a\u202eb"])
def test_a_declared_uri_that_could_forge_a_line_is_refused_and_told(uri: str) -> None:
    document = read(f"---\nuri: '{uri}'\n---\nText.\n")
    assert document.declared_uri is None
    assert topics(document) == [Topic.UNUSABLE_URI]


def test_a_long_title_is_whole_in_the_document_and_told() -> None:
    document = read(f"---\ntitle: {'long ' * 100}\n---\nText.\n")
    assert len(document.title) == 499
    assert topics(document) == [Topic.LONG_TITLE]


def test_a_page_without_frontmatter_or_axes_has_nothing_wrong_with_it() -> None:
    assert read("# A\n\nText.\n").remarks == ()
    assert read("---\ntitle: A\n---\nText.\n").remarks == ()
