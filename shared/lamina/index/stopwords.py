"""Decides which words shape a sentence and name nothing; they are searched only where a query has no others."""

from __future__ import annotations

from typing import Final

STOP_WORDS: Final = frozenset(
    (
        "a about after again all also am an and any are arent as at be been before being between both but by can "
        "cant could couldnt did didnt do does doesnt doing done dont during each either else ever few for from "
        "further had hadnt has hasnt have havent having he hence her here hers him his how i if im in into is "
        "isnt it its ive just let may me might more most much must my neither no nor not of off on once only or "
        "other our ours out over own per please quite rather same shall she should shouldnt since so some such "
        "than that thats the their theirs them then there these they this those though through thus to too under "
        "until up upon us very was wasnt we were werent what whats when where whether which while who whom whose "
        "why will with within without wont would wouldnt yet you your yours"
    ).split()
)
