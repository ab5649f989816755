"""The explorer's files, and a document as a page of HTML under a policy that lets nothing foreign run."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlencode, urlsplit

from lamina.actions.get import ACTION as GET
from lamina.contract.envelope import ERROR
from lamina.runtime.adapter import caller_of
from lamina.runtime.dispatch import dispatch
from lamina.runtime.event import HttpRequest, HttpResponse
from lamina.runtime.wiring import Runtime

if TYPE_CHECKING:
    from jinja2 import Template

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
# Only the page's own script and style; nothing in a document can fetch, frame, post or run.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"}


@cache
def asset(name: str) -> HttpResponse:
    """One file of the explorer."""
    text = resources.files("lamina.http.explorer").joinpath(name).read_text("utf-8")
    content_type = f"{_TYPES[name.rsplit('.', 1)[-1]]}; charset=utf-8"
    return HttpResponse(200, text, content_type, "public, max-age=300", _HEADERS)


def read_page(request: HttpRequest, runtime: Runtime) -> HttpResponse:
    """A document for a person, by get: its body rendered, everything that was markup in it shown as text."""
    wanted = {name: values[-1] for name, values in request.query.items()}
    arguments = {**wanted, "disclosure": ["body"]}
    reply = dispatch(GET, lambda: arguments, caller_of(request, runtime), runtime)
    if reply.status == 200:
        data = reply.envelope["data"]
        beside = {name: wanted[name] for name in ("knowledge_base_url",) if name in wanted}
        page = _page(200, data["title"], uri=data["uri"], body=_rendered(data["body"], data["uri"], beside))
    elif reply.envelope["status"] == ERROR:
        page = _page(reply.status, reply.envelope["error_code"], error=reply.envelope["error_message"])
    else:
        page = _page(404, "No such document", note="No document has that URI.")
    return replace(page, retry_after=reply.retry_after)


def _page(status: int, title: str, **parts: str) -> HttpResponse:
    """A page of `document.html`: `uri` and `body` (rendered), or `error`, or `note`."""
    text = _template().render(title=title, **parts)
    return HttpResponse(status, text, "text/html; charset=utf-8", headers=_HEADERS)


@cache
def _template() -> Template:
    from jinja2 import Environment  # 50 ms to import, and only this page needs it

    source = resources.files("lamina.http.explorer").joinpath("document.html").read_text("utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)


def _rendered(body: str, uri: str, beside: dict[str, str]) -> str:
    """CommonMark with tables as HTML; raw HTML stays text, images are links, links go where `_address` lets them."""
    from markdown_it import MarkdownIt  # only this page renders Markdown

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = markdown.parse(body)
    for token in tokens:
        token.attrs.pop("style", None)  # the alignment of a table's column, which the policy refuses
        for child in token.children or ():
            if child.type == "link_open":
                address = _address(str(child.attrs.pop("href", "")), uri, beside)
                child.attrs = child.attrs if address is None else {**child.attrs, "href": address}
    return str(markdown.renderer.render(tokens, markdown.options, {}))


def _address(link: str, uri: str, beside: dict[str, str]) -> str | None:
    """Where a link of a document leads: the web, another document's page, or nowhere."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return None
    if parts.scheme in ("http", "https", "mailto"):
        return link
    if parts.scheme:
        return f"read?{urlencode({'uri': link, **beside})}" if f"{parts.scheme}://" in link else None
    if parts.netloc or not parts.path:
        return None
    folder = posixpath.dirname(uri.partition("://")[2])
    path = posixpath.normpath(posixpath.join("/", folder, unquote(parts.path))).lstrip("/")
    return f"read?{urlencode({'uri': path, **beside})}"
