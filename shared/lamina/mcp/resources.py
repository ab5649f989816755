"""Documents as MCP resources: listed a page at a time from the catalog, read by URI as get reads them."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from lamina.actions import catalog, get
from lamina.actions.action import Action
from lamina.contract.envelope import ERROR, FOUND, Envelope
from lamina.contract.errors import CATALOGUE
from lamina.contract.filters import KINDS
from lamina.mcp.frames import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    Fields,
    ProtocolError,
    Result,
    Visit,
    text_of,
)
from lamina.mcp.tools import LIST_TTL_MS, completed
from lamina.runtime.dispatch import Reply, dispatch

MARKDOWN = "text/markdown"
PAGE = 100

_PAGE_TTL_MS = 60_000
# Far above what a hundred titles cost; a page that is cut by it goes on at the next cursor.
_PAGE_TOKENS = 25_000
# What RFC 3986 lets stand in a URI. A percent sign is encoded, so that decoding is its exact inverse.
_STANDING = ":/?#[]@!$&'()*+,;=-._~"


def list_resources(params: Mapping[str, Any], visit: Visit) -> Result:
    """`resources/list`: documents of all kinds in the catalog's order, every page from the snapshot of the first."""
    every: dict[str, Any] = {"limit": PAGE, "max_tokens": _PAGE_TOKENS, "include": list(KINDS)}
    asked = {**every, **_place(params.get("cursor"))}
    reply = _dispatched(catalog.ACTION, asked, visit)
    if reply.envelope["status"] == ERROR:
        raise _failed(reply.envelope)
    fields: Fields = {"resources": [_listed(entry) for entry in reply.envelope["data"] if _is_uri(entry["uri"])]}
    following = reply.envelope.get("next_offset")
    if following is not None:
        fields["nextCursor"] = _cursor(following, reply.envelope["revision"])
    return Result(fields, _PAGE_TTL_MS, public=not reply.private)


def list_templates(params: Mapping[str, Any], visit: Visit) -> Result:
    """`resources/templates/list`: any document by its URI, its alias or its repository path."""
    if params.get("cursor") is not None:
        raise ProtocolError(INVALID_PARAMS, "Invalid cursor: the templates are listed in one page")
    template = {
        "uriTemplate": "{+uri}",
        "name": "document",
        "description": "A document by its URI, as search and catalog give it.",
        "mimeType": MARKDOWN,
    }
    return Result({"resourceTemplates": [template]}, LIST_TTL_MS)


def read_resource(params: Mapping[str, Any], visit: Visit) -> Result:
    """`resources/read`: a body like that of get, under the same limit."""
    uri = text_of(params, "uri")
    reply = _dispatched(get.ACTION, {"uri": unquote(uri)}, visit)
    envelope = reply.envelope
    if envelope["status"] == ERROR:
        raise _failed(envelope)
    if envelope["status"] != FOUND:
        code = INVALID_PARAMS if visit.modern else RESOURCE_NOT_FOUND
        raise ProtocolError(code, "Resource not found", {"uri": uri, "did_you_mean": envelope.get("did_you_mean", [])})
    parts = [envelope["data"]["body"]]
    # What get gives in parts a resource gives whole; each part counts as a body.
    while (following := envelope["data"].get("next_line")) is not None:
        envelope = _dispatched(get.ACTION, {"uri": envelope["data"]["uri"], "from_line": following}, visit).envelope
        if envelope["status"] != FOUND:
            raise _failed(envelope)
        parts.append(envelope["data"]["body"])
    contents = {"uri": uri, "mimeType": MARKDOWN, "text": "".join(parts)}
    # Kept by nobody, as a body over HTTP: each reading counts against the limit.
    return Result({"contents": [contents]}, 0, public=False)


def _dispatched(action: Action, arguments: dict[str, Any], visit: Visit) -> Reply:
    return dispatch(action, lambda: completed(arguments, visit), visit.caller, visit.runtime, bytes_in=visit.bytes_in)


def _failed(envelope: Envelope) -> ProtocolError:
    """An error envelope as a JSON-RPC error that carries it whole."""
    code = envelope["error_code"]
    is_callers = CATALOGUE[code].http_status < 500 and code != "RATE_LIMITED"
    return ProtocolError(INVALID_PARAMS if is_callers else INTERNAL_ERROR, envelope["error_message"], envelope)


def _listed(entry: Mapping[str, Any]) -> Fields:
    return {"uri": quote(entry["uri"], safe=_STANDING), "name": entry["title"], "mimeType": MARKDOWN}


def _is_uri(uri: str) -> bool:
    """Whether clients can take it for a URI: one that they cannot would cost them the whole page."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return False
    return bool(parts.scheme) and not set(parts.netloc) & set(" <>\\^|[]@")


def _cursor(offset: int, revision: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([offset, revision]).encode()).decode()


def _place(cursor: Any) -> dict[str, Any]:
    """Where a page begins, and in which snapshot. Raises INVALID_PARAMS for a cursor that is none of ours."""
    if cursor is None:
        return {}
    try:
        offset, revision = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
    except (AttributeError, UnicodeError, binascii.Error, ValueError, TypeError) as error:
        raise ProtocolError(INVALID_PARAMS, "Invalid cursor") from error
    if not isinstance(offset, int) or not isinstance(revision, str):
        raise ProtocolError(INVALID_PARAMS, "Invalid cursor")
    return {"offset": offset, "revision": revision}
