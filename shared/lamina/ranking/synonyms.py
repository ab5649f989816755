"""Decides which words of everyday documentation English may stand for one another, at a discount."""

from __future__ import annotations

from typing import Final

from lamina.index.terms import stem

# A line a meaning. Only words that mean the same in most technical prose; none of one corpus or subject.
_MEANINGS: Final = """
image picture figure illustration photo photograph
proof evidence
finish done complete
error failure fault
bug defect
delete remove erase
create build construct
change modify edit alter
fix repair mend
start begin launch
stop halt terminate
folder directory
setting option configuration parameter preference
login authentication signin
credential password secret
rule policy constraint
verify validate check
fast quick speed
slow latency
cost price expense
guide tutorial manual handbook walkthrough
summary overview abstract synopsis
display show render
hide conceal
send submit transmit
fetch retrieve obtain
find search locate
save store persist
copy duplicate clone
limit cap quota maximum
permission access authorization
forbid prohibit disallow ban
permit allow
mandatory required obligatory
example sample demo
definition meaning
glossary vocabulary terminology
author writer creator
review inspect audit
deploy release publish ship
log journal
swap replace substitute
split divide
join merge combine
font typeface
answer reply response
question query
goal objective aim purpose
reason rationale cause motivation
choose pick select
legacy deprecated obsolete outdated
retry repeat
drop discard abandon
smart intelligent clever
simple plain minimal
shorten abbreviate truncate
enlarge expand grow
method approach technique
cache memoize
schedule cron timer
notify alert warn
disable deactivate
enable activate
"""


def _by_stem() -> dict[str, tuple[str, ...]]:
    alike: dict[str, dict[str, None]] = {}
    for line in _MEANINGS.strip().splitlines():
        stems = [stem(word) for word in line.split()]
        for each in stems:
            alike.setdefault(each, {}).update(dict.fromkeys(other for other in stems if other != each))
    return {each: tuple(others) for each, others in alike.items()}


SYNONYMS: Final = _by_stem()
"""Stem → stems of the same meaning."""
