"""Decides which words are searched beside those of a query or in their place: completions, synonyms, corrections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lamina.index.scope_postings import ScopePostings
from lamina.index.terms import FORM_MARK, stem, term
from lamina.ranking.lookup import TermMatch, TermPostings, joint_postings, synonym_postings, term_postings
from lamina.ranking.spelling import corrections
from lamina.ranking.synonyms import SYNONYMS

MOST_COMPLETIONS: Final = 64
"""Stems that an unfinished word may stand for, and as many exact forms."""
MOST_CORRECTED: Final = 8
"""Terms of one query for which a near spelling is looked for."""
CORRECTION_TRUST: Final = 0.7
"""How much of a word's weight a document holds that has only a correction of it."""


def expand(matches: Sequence[TermMatch], scope: ScopePostings) -> list[TermMatch]:
    """Completes the unfinished word, adds synonyms to the others, and corrects what occurs nowhere and has none."""
    expanded: list[TermMatch] = []
    corrected = 0
    for match in matches:
        match = _completed(match, scope) if match.word.unfinished else _with_synonyms(match, scope)
        unknown = 0 if match.synonyms else _unknown(match)
        if unknown and corrected + unknown <= MOST_CORRECTED:
            corrected += unknown
            match = _corrected(match, scope)
        expanded.append(match)
    return expanded


def _completed(match: TermMatch, scope: ScopePostings) -> TermMatch:
    """An unfinished word and its last part stand for the most frequent terms that begin so."""
    terms = (match.whole, *match.parts)
    unfinished = {0, len(terms) - 1}
    whole, *parts = [_completion(each, scope) if at in unfinished else each for at, each in enumerate(terms)]
    return match._replace(whole=whole, parts=tuple(parts))


def _completion(unfinished: TermPostings, scope: ScopePostings) -> TermPostings:
    """The postings of all that a beginning may stand for, as if it were the same term; its own where there is nothing.

    In a text of *conferences* and *configs* `conf` begins the stems `confer` and `config`, and the exact forms of the
    two add nothing, as their stems are there. `configs` is no beginning of a stem and is found by its form alone:

    >>> from lamina.index.postings import Postings, term_counts
    >>> scope = ScopePostings.of(Postings.build([term_counts({"conferences": 1, "configs": 2}, {})]))
    >>> scope.completions("conf", MOST_COMPLETIONS), scope.completions("=conf", MOST_COMPLETIONS)
    (['confer', 'config'], ['=conferences', '=configs'])
    >>> completed = _completion(term_postings(term("conf"), scope), scope)
    >>> completed.documents.tolist(), len(completed.contributions)
    ([0], 1)
    >>> scope.completions("configs", MOST_COMPLETIONS), scope.completions("=configs", MOST_COMPLETIONS)
    ([], ['=configs'])
    """
    prefix = unfinished.term.name
    terms = scope.completions(prefix, MOST_COMPLETIONS)
    forms = scope.completions(FORM_MARK + prefix, MOST_COMPLETIONS)
    terms += [form for form in forms if not stem(form.removeprefix(FORM_MARK)).startswith(prefix)]
    return joint_postings(unfinished.term, terms, scope) if terms else unfinished


def _with_synonyms(match: TermMatch, scope: ScopePostings) -> TermMatch:
    """Adds the synonyms that occur in the scope, none of them with a higher IDF than the word itself."""
    whole = match.whole
    stems = SYNONYMS.get(whole.term.stem)
    if stems is None:
        return match
    key = ("synonyms", whole.term.name)
    known: tuple[TermPostings, ...] | None = scope.memory.get(key)
    if known is None:
        looked_up = (synonym_postings(term(each), scope, whole.idf) for each in stems)
        known = tuple(synonym for synonym in looked_up if synonym.found)
        scope.memory.keep(key, known, sum(len(synonym.contributions) for synonym in known))
    return match._replace(synonyms=known)


def _unknown(match: TermMatch) -> int:
    """How many terms occur nowhere: the whole and parts, unless the whole is found or all its parts are.

    Terms in other letters than a to z are not counted, as nothing is near them.
    """
    if match.whole.found or not match.whole.term.name.isascii():
        return 0
    missing = sum(not part.found for part in match.parts)
    return 0 if match.parts and not missing else 1 + missing


def _corrected(match: TermMatch, scope: ScopePostings) -> TermMatch:
    """The match with corrections for its unknown terms; unchanged where there are none.

    A word without parts may be two words run together, which become its parts; all else is corrected by a single word.
    """
    whole, *parts = [() if each.found else _corrections(each, scope) for each in (match.whole, *match.parts)]
    if len(whole) > 1 and not match.parts:
        return match._replace(parts=whole, trust=CORRECTION_TRUST)
    if not any(len(found) == 1 for found in (whole, *parts)):
        return match
    return match._replace(
        whole=whole[0] if len(whole) == 1 else match.whole,
        parts=tuple([new[0] if len(new) == 1 else old for new, old in zip(parts, match.parts, strict=True)]),
        trust=CORRECTION_TRUST,
    )


def _corrections(unknown: TermPostings, scope: ScopePostings) -> tuple[TermPostings, ...]:
    key = ("corrections", unknown.term.name)
    names: tuple[str, ...] | None = scope.memory.get(key)
    if names is None:
        names = corrections(unknown.term, scope)
        scope.memory.keep(key, names)
    return tuple([term_postings(term(name, scope.whole.languages), scope) for name in names])
