"""The explorer's files, and a document as a page of HTML under a policy that lets nothing foreign run."""

from __future__ import annotations

import html
import posixpath
from functools import cache
from importlib import resources
from urllib.parse import unquote, urlencode, urlsplit

from lamina.actions.get import ACTION as GET
from lamina.contract.envelope import ERROR
from lamina.runtime.adapter import caller_of
from lamina.runtime.dispatch import dispatch
from lamina.runtime.event import HttpRequest, HttpResponse
from lamina.runtime.wiring import Runtime

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
        body = _rendered(data["body"], data["uri"], beside)
        return _page(200, data["title"], f'<p class="uri">{html.escape(data["uri"])}</p><article>{body}</article>')
    if reply.envelope["status"] == ERROR:
        content = f'<p class="error">{html.escape(reply.envelope["error_message"])}</p>'
        headers = {} if reply.retry_after is None else {"Retry-After": str(reply.retry_after)}
        return _page(reply.status, reply.envelope["error_code"], content, headers)
    return _page(404, "No such document", "<p>No document has that URI.</p>")


def _page(status: int, title: str, content: str, headers: dict[str, str] | None = None) -> HttpResponse:
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{html.escape(title)}</title><link rel="icon" href="data:,">'
        '<link rel="stylesheet" href="explorer.css"></head>'
        f'<body><p><a href="./">Back to the explorer</a></p><main>{content}</main></body></html>'
    )
    return HttpResponse(status, text, "text/html; charset=utf-8", "no-store", {**_HEADERS, **(headers or {})})


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
