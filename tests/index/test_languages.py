"""Pages are found in their own language: by its stems, its stop words, and a filter; English stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Deploy
from tests.transports import TRANSPORTS

from lamina.corpus.languages import LANGUAGES, STEMMED, code_of, detected, language_of
from lamina.index.terms import fold, terms_in, words

FRENCH = "Les chevaux courent dans le pré depuis ce matin. Ils ne s'arrêtent pas avant la nuit, car on les a oubliés."
GERMAN = "Die Häuser stehen am Rand der Stadt. Sie werden von den Leuten gern besucht, die dort lange gewohnt haben."
SPANISH = "Los niños cantaban en la plaza mientras los viejos miraban desde los bancos de la calle mayor del pueblo."
RUSSIAN = "Новые дома стоят на краю города, и люди живут в них уже много лет. Мы часто ездили туда вместе с друзьями."
JAPANESE = "水道料金は毎月請求されます。データは次の表にあります。"
ENGLISH = "The pumps are checked every morning before the first ferry leaves, and again when the tide has turned."


def ask(deploy: Deploy, files: dict[str, str], action: str, **arguments: Any) -> dict[str, Any]:
    deployed = deploy(files)
    envelope: dict[str, Any] = TRANSPORTS["direct"](("", 0)).call(deployed, action, arguments).envelope
    return envelope


PAGES = {
    "docs/pre.md": f"# Le pré\n\n{FRENCH}\n",
    "docs/stadt.md": f"# Am Rand\n\n{GERMAN}\n",
    "docs/plaza.md": f"# La plaza\n\n{SPANISH}\n",
    "docs/gorod.md": f"# Город\n\n{RUSSIAN}\n",
    "docs/pumps.md": f"# Pumps\n\n{ENGLISH}\n",
    "docs/suido.md": f"# 水道\n\n{JAPANESE}\n",
}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("cheval", "docs/pre.md"),
        ("le cheval oublié", "docs/pre.md"),
        ("Haus", "docs/stadt.md"),
        ("das Haus besuchen", "docs/stadt.md"),
        ("Haeuser", "docs/stadt.md"),
        ("cantar", "docs/plaza.md"),
        ("дом", "docs/gorod.md"),
        ("новый друг", "docs/gorod.md"),
        ("水道料金", "docs/suido.md"),
        ("pump check", "docs/pumps.md"),
        ('"chevaux courent"', "docs/pre.md"),
        ('"Häuser stehen"', "docs/stadt.md"),
        ("chevauxx", "docs/pre.md"),
    ],
)
def test_a_page_is_found_by_another_form_of_its_word(query: str, found: str, deploy: Deploy) -> None:
    envelope = ask(deploy, PAGES, "search", query=query, disclosure=["metadata"])
    assert envelope["status"] == "FOUND"
    assert envelope["data"][0]["uri"].endswith(found.removesuffix(".md"))


def test_stop_words_are_those_of_the_querys_own_language(deploy: Deploy) -> None:
    envelope = ask(deploy, PAGES, "search", query="où sont les chevaux")
    assert [entry["title"] for entry in envelope["data"]] == ["Le pré"]


def test_the_filter_language_takes_what_was_declared_or_detected(deploy: Deploy) -> None:
    files = {**PAGES, "docs/kurz.md": "---\nlang: de-AT\n---\n# Kurz\n\nPumpen\n"}
    envelope = ask(deploy, files, "catalog", language=["DE"])
    assert sorted(entry["title"] for entry in envelope["data"]) == ["Am Rand", "Kurz"]
    assert envelope["filters_applied"]["language"] == ["de"]
    refused = ask(deploy, files, "catalog", language=["tlh"])
    assert refused["error_code"] == "INVALID_FILTER_VALUE"


@pytest.mark.parametrize(
    ("path", "declared", "body", "language"),
    [
        ("a.md", "fr", GERMAN, "fr"),
        ("a.md", "pt_BR", "", "pt"),
        ("a.md", "German", "", "de"),
        ("a.md", 7, ENGLISH, "en"),
        ("i18n/de/docusaurus/a.md", None, "", "de"),
        ("src/content/docs/zh-cn/a.md", None, "", "zh"),
        ("locales/fr/a.md", None, ENGLISH, "en"),
        ("content/posts/a.fr.md", None, FRENCH, "fr"),
        ("docs/it/a.md", None, "", "it"),
        ("docs/it/a.md", None, ENGLISH, "en"),
        ("it/a.md", None, ENGLISH, "en"),
        ("release.no.md", None, "", "no"),
        ("docs/v1.2.md", None, "", "en"),
        ("a.md", None, FRENCH, "fr"),
        ("a.md", None, RUSSIAN, "ru"),
        ("a.md", None, JAPANESE, "ja"),
        ("a.md", None, "데이터베이스를 설치합니다", "ko"),
        ("a.md", None, "配置文件在下面", "zh"),
        ("a.md", None, "kubectl apply -f a.yaml", "en"),
        ("a.md", None, f"```\n{FRENCH}\n```\n", "en"),
    ],
)
def test_the_language_is_what_the_page_says_then_its_place_then_its_text(
    path: str, declared: object, body: str, language: str
) -> None:
    assert language_of(path, declared, body) == language


@given(st.text())
def test_any_text_has_a_language_or_none(text: str) -> None:
    assert detected(text) in (*LANGUAGES, None)
    assert code_of(text) is None or code_of(text).islower()  # type: ignore[union-attr]


@given(st.text(max_size=80), st.sampled_from(sorted(STEMMED)))
def test_a_word_of_a_page_is_found_by_the_same_word_of_a_query(text: str, language: str) -> None:
    asked = [term for word in words(text, [language]) for term in (word.whole, *word.parts)]
    held = list(terms_in(text, language))
    assert [term.name for term in asked] == [term.name for term in held]
    assert all(of_page.stem in of_query.stems for of_page, of_query in zip(held, asked, strict=True))
    assert all(term.stem == fold(term.stem) for term in held)


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("bus", "buses"),
        ("gas", "gases"),
        ("lens", "lenses"),
        ("ox", "oxen"),
        ("person", "people"),
        ("alias", "aliases"),
    ],
)
def test_irregular_plurals_of_english_are_found(singular: str, plural: str) -> None:
    assert words(singular)[0].whole.stem == words(plural)[0].whole.stem
