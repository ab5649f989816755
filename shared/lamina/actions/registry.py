"""The actions there are. A new one is a file beside this, a line here, and its folder under functions/."""

from __future__ import annotations

from collections.abc import Mapping

from lamina.actions import baseline_check, brief, catalog, get, preflight, resolve, search
from lamina.actions.action import Action

ACTIONS: Mapping[str, Action] = {
    action.name: action
    for action in (
        search.ACTION,
        catalog.ACTION,
        preflight.ACTION,
        get.ACTION,
        resolve.ACTION,
        brief.ACTION,
        baseline_check.ACTION,
    )
}
