"""What a function does before its first call: on AWS the time between its start and that call has a whole processor."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import repeat

from lamina.contract.errors import LaminaError
from lamina.contract.ports import StoreUnavailable
from lamina.runtime.catalogue import index_name
from lamina.runtime.limits import BodyLimit
from lamina.runtime.logs import load_logger
from lamina.runtime.metrics import load_metrics
from lamina.runtime.signing import InsecureKey
from lamina.runtime.wiring import Runtime, wire
from lamina.telemetry.record import Record

logger = logging.getLogger(__name__)

# Lambda sets it in the process of every function, and nobody else does.
_STARTED_BY_LAMBDA = "AWS_LAMBDA_INITIALIZATION_TYPE"
_SNAP_START = "snap-start"


@dataclass(frozen=True, slots=True)
class _Unwritten:
    """A sink for what nobody asked."""

    def write(self, record: Record) -> None:
        """Keeps nothing."""


def awaken(rehearse: Callable[[Runtime, str], object]) -> None:
    """Under Lambda, loads settings, clients, key and the baseline, and rehearses a call by the title of a page in it.

    Leaves no record and spends nobody's limit. Does nothing elsewhere. What fails here fails again, and is told, at
    the first call.
    """
    if _STARTED_BY_LAMBDA not in os.environ:
        return
    runtime = wire()
    if os.environ[_STARTED_BY_LAMBDA] == _SNAP_START:
        from snapshot_restore_py import register_after_restore  # the runtime of Lambda brings it

        register_after_restore(runtime.thaw)
    load_metrics()
    load_logger()
    try:
        snapshot = runtime.warm.current(index_name(None)).scopes.snapshot
    except (LaminaError, StoreUnavailable, InsecureKey) as error:
        logger.warning("no baseline before the first call: %s", error)
        return
    if len(snapshot):
        rehearse(replace(runtime, sink=_Unwritten(), body_limit=BodyLimit(), _starts=repeat(False)), snapshot.titles[0])
