"""Decides which words of English are treated apart: those of every subject, and irregular plurals.

Small corpora on one subject hold few words of every subject, and an IDF from such a corpus takes them for rare.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMON_WORDS: Final = _words(
    "able add added allow allowed almost already always another anyone anything ask asked asking away bad become "
    "becomes begin begins best better big bring brings came certain come comes coming consider considered "
    "different easy enough especially even every everyone everything exactly far feel find finds first follow "
    "following follows found gave get gets getting give given gives giving go goes going gone good got gotten "
    "great happen happening happens hard help helps instead keep keeping keeps kept kind knew know knowing known "
    "knows large last later least less lets like likely little long look looking looks lot lots made main make "
    "makes making many matter maybe mean means meant need needed needing needs never new next nobody nothing now "
    "often old one ones others particular perhaps possible put puts putting really regarding relevant said say "
    "saying says see seeing seem seems seen several show showing shown shows similar small someone something "
    "sometimes start started starts still stop stuff sure take taken takes taking talk tell tells thing things "
    "think thinking thought told together took tried tries try trying two use used useful uses using usual "
    "usually various want wanted wants way ways well went whatever whenever whole without worth"
)
"""Words of every subject; they count less than their rarity says."""

# A singular and its plurals. Not those that are words of their own as well (lives, bases, data).
_FORMS: Final = """
child children
man men
woman women
foot feet
tooth teeth
goose geese
mouse mice
leaf leaves
knife knives
wife wives
half halves
shelf shelves
loaf loaves
wolf wolves
thief thieves
calf calves
index indices
matrix matrices
vertex vertices
vortex vortices
appendix appendices
axis axes
analysis analyses
hypothesis hypotheses
thesis theses
crisis crises
diagnosis diagnoses
parenthesis parentheses
synthesis syntheses
criterion criteria
phenomenon phenomena
automaton automata
schema schemata
corpus corpora
radius radii
nucleus nuclei
stimulus stimuli
locus loci
bacterium bacteria
stratum strata
spectrum spectra
maximum maxima
minimum minima
optimum optima
erratum errata
addendum addenda
curriculum curricula
person people
ox oxen
bus buses
gas gases
lens lenses
alias aliases
focus foci
quiz quizzes
penny pence
louse lice
hoof hooves
scarf scarves
elf elves
self selves
cactus cacti
fungus fungi
syllabus syllabi
alumnus alumni
genus genera
symposium symposia
millennium millennia
memorandum memoranda
referendum referenda
consortium consortia
ellipsis ellipses
oasis oases
emphasis emphases
prognosis prognoses
apex apices
codex codices
bureau bureaux
plateau plateaux
tableau tableaux
polyhedron polyhedra
lemma lemmata
"""

SINGULARS: Final = {
    plural: singular for singular, *plurals in map(str.split, _FORMS.strip().splitlines()) for plural in plurals
}
"""Plural → singular."""
