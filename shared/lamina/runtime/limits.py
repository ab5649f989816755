"""How many bodies a caller may retrieve in a clock minute, and under which name a caller is counted."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from lamina.contract.errors import LaminaError
from lamina.contract.ports import RateCounter, StoreUnavailable

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 60
DEFAULT_BODIES = 60
# Who has a household's line has 2^64 addresses of IPv6, so the network counts, not the address.
_IPV6_NETWORK = 64
_ID_DIGITS = 32


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """At most `per_minute` bodies for a caller in one clock minute of one deployment version, with no burst.

    `counter` is opened at the first body; None counts nothing. `on_failure` is told when the counter does not
    answer: then the call is let through, because a limit that is down must not take reading down with it.
    """

    counter: Callable[[], RateCounter | None] = lambda: None
    per_minute: int = DEFAULT_BODIES
    version: str = "local"
    wall_clock: Callable[[], float] = time.time
    on_failure: Callable[[], None] = lambda: None

    def spend(self, caller: str | None, amount: int = 1) -> None:
        """Counts `amount` bodies to a caller; None is not limited. Raises RATE_LIMITED, counting nothing."""
        if caller is None or amount <= 0:
            return
        now = self.wall_clock()
        window = int(now // WINDOW_SECONDS)
        try:
            counter = self.counter()
            # Kept for one window longer, so that no clock that is behind finds its window forgotten.
            if counter is None or counter.add(
                f"{self.version}:{caller}", window, amount, self.per_minute, (window + 2) * WINDOW_SECONDS
            ):
                return
        except StoreUnavailable as error:
            logger.warning("the body limit is not checked: %s", error)
            self.on_failure()
            return
        wait = max(1, math.ceil((window + 1) * WINDOW_SECONDS - now))
        raise LaminaError(
            "RATE_LIMITED",
            f"This deployment gives {self.per_minute} bodies a minute to a caller. Wait {wait} seconds; "
            "search and catalog go on, and disclosure without body is not limited.",
            retry_after_seconds=wait,
            limit_per_minute=self.per_minute,
        )


def caller_id(signing_key: bytes, api_key: str | None, address: str, now: float) -> str:
    """The name a caller is counted by: a keyed hash of its API key, else of its address.

    The address's key changes with the UTC day of `now` (seconds since the epoch), so that neither a
    list of addresses nor yesterday's counts tell who called.
    """
    if api_key is not None:
        return _hashed(signing_key, "lamina caller by key", api_key)
    day = datetime.fromtimestamp(now, UTC).date().isoformat()
    return _hashed(signing_key, f"lamina caller by address {day}", _network(address))


def _hashed(signing_key: bytes, purpose: str, value: str) -> str:
    key = hmac.digest(signing_key, purpose.encode(), "sha256")
    return hmac.new(key, value.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:_ID_DIGITS]


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed), _IPV6_NETWORK), strict=False))
