"""Decides which irregular plurals of English are one word with their singular; a stemmer knows the regular ones."""

from __future__ import annotations

from typing import Final

# A singular and its plurals. Not those that are words of their own as well (lives, bases, people, data).
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
formula formulae
antenna antennae
larva larvae
bacterium bacteria
stratum strata
spectrum spectra
maximum maxima
minimum minima
optimum optima
erratum errata
addendum addenda
curriculum curricula
"""

SINGULARS: Final = {
    plural: singular for singular, *plurals in map(str.split, _FORMS.strip().splitlines()) for plural in plurals
}
"""Plural → singular."""
