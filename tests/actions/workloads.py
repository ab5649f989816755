"""The eight consumers that the contract was written for, as calls to the real baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Pages of full frontmatter that stay under the ceiling everywhere in the real baseline.
FULL_LISTING_LIMIT = 25


@dataclass(frozen=True, slots=True)
class Workload:
    """One consumer's call."""

    use: str
    action: str
    arguments: dict[str, Any]


WORKLOADS = (
    Workload(
        "essays index",
        "catalog",
        {"audience": "public", "exposure": "public", "disclosure": ["blockquote"], "limit": 100},
    ),
    Workload(
        "governance index",
        "catalog",
        {"audience": "canon", "tier": [1, 2], "disclosure": ["metadata"], "limit": 100},
    ),
    Workload("notebook", "catalog", {"path_prefix": "writings/", "disclosure": ["blockquote"], "limit": 100}),
    Workload("sitemap", "catalog", {"limit": 500}),
    Workload(
        "global search",
        "search",
        {"query": "how do we know that something is done", "disclosure": ["blockquote", "metadata"], "limit": 25},
    ),
    Workload("essay page", "get", {"uri": "klappy://canon/definition-of-done"}),
    Workload(
        "start-here carousel",
        "catalog",
        {"start_here": True, "exposure": "public", "disclosure": ["blockquote"], "limit": 12},
    ),
    Workload(
        "session history",
        "catalog",
        {
            "include": "journals",
            "path_prefix": "odd/handoffs/",
            "disclosure": ["blockquote"],
            "limit": 25,
        },
    ),
)
