"""What is wrong with the documents of a knowledge base, the gravest first, and in groups that a person can read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lamina.corpus.remarks import Level, Topic, level_of
from lamina.index.snapshot import Origin, Snapshot

_NAMED: Final = 3
"""Files that a remark on many names."""
_EXAMPLES: Final = 5
"""Places that a group names."""
_LEVELS: Final = tuple(Level)
_TOPICS: Final = tuple(Topic)


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark in its place. `line` counts from 1; None where it is about the whole file."""

    source: str
    path: str
    line: int | None
    topic: Topic
    reason: str

    @property
    def level(self) -> Level:
        """How grave it is."""
        return level_of(self.topic)

    def entry(self) -> dict[str, Any]:
        """As answers carry it."""
        return {
            "source": self.source,
            "path": self.path,
            "line": self.line,
            "level": str(self.level),
            "topic": str(self.topic),
            "reason": self.reason,
        }


def corpus_check(snapshot: Snapshot) -> list[Finding]:
    """All remarks on documents and on files that are no documents: errors, then warnings, then notes, by path."""
    found = [
        Finding(str(problem.origin), problem.path, problem.remark.line, problem.remark.topic, problem.remark.text)
        for problem in snapshot.problems
    ]
    found += [
        Finding(str(reject.origin), reject.path, None, reject.topic, reject.reason)
        for reject in snapshot.rejects
        if reject.topic != Topic.UNREAD_FORMAT
    ]
    found += _unread(snapshot)
    kept = [finding for finding in found if finding.source != Origin.BUNDLED]
    return sorted(kept, key=_order)


def most_telling(findings: Sequence[Finding], most: int) -> list[Finding]:
    """The first so many, and every error beyond."""
    return [finding for at, finding in enumerate(findings) if at < most or finding.level == Level.ERROR]


def counted(findings: Sequence[Finding]) -> dict[str, int]:
    """How many there are of each level."""
    counts = Counter(finding.level for finding in findings)
    return {str(level): counts[level] for level in _LEVELS}


def grouped(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """By topic, the gravest first: how many, one of them in words, and where the first of them are."""
    groups: dict[Topic, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.topic, []).append(finding)
    return [
        {
            "topic": str(topic),
            "level": str(level_of(topic)),
            "count": len(members),
            "reason": members[0].reason,
            "paths": list(dict.fromkeys(finding.path for finding in members))[:_EXAMPLES],
        }
        for topic, members in groups.items()
    ]


def _unread(snapshot: Snapshot) -> list[Finding]:
    """Files in formats that are not read, counted by their endings."""
    paths: dict[tuple[str, str], list[str]] = {}
    for reject in snapshot.rejects:
        if reject.topic == Topic.UNREAD_FORMAT:
            suffix = reject.path[reject.path.rfind(".") :].lower()
            paths.setdefault((str(reject.origin), suffix), []).append(reject.path)
    found = []
    for (origin, suffix), named in paths.items():
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        files = "1 file is" if len(named) == 1 else f"{len(named)} files are"
        said = f"{files} not read, for {suffix} is no Markdown: {', '.join(named[:_NAMED])}{more}"
        found.append(Finding(origin, named[0], None, Topic.UNREAD_FORMAT, said))
    return found


def _order(finding: Finding) -> tuple[int, int, str, str, int]:
    return (
        _LEVELS.index(finding.level),
        _TOPICS.index(finding.topic),
        finding.source,
        finding.path,
        finding.line or 0,
    )
