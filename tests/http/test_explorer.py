"""The explorer in a real browser: by keyboard alone, on a phone, against hostile documents, asking nobody else."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from tests.corpora import Deployed, page, write
from tests.transports import TRANSPORTS, stand_before

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, Dialog, Page, Route, expect, sync_playwright

from lamina.contract.tokens import count_tokens

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1100, "height": 900}

HOSTILE = """<script>window.ran = "script"</script>

<img src="http://third.example/a.png" onerror="window.ran = 'onerror'">

<svg onload="window.ran = 'svg'"></svg> <iframe src="http://third.example/frame"></iframe>

![picture](http://third.example/b.png "title") ![inline](data:image/svg+xml,<svg/onload=alert(1)>)

[run](javascript:window.ran='link') [run too](JaVaScRiPt:window.ran='link') [data](data:text/html,<script>1</script>)
[hidden](<java&#x0A;script:window.ran='link'>) [vb](vbscript:1) [other](//third.example/x) [file](file:///etc/passwd)
[app](intent:something) <javascript:window.ran='auto'> [web](https://third.example/page)

[plain](plain.md#part) [up](../docs/plain.md) [by name](kb://docs/plain)

<style>body { display: none }</style> <form action="http://third.example"><input name="q"></form>

| a | b |
|:--|--:|
| <b onclick="window.ran='cell'">cell</b> | `<script>window.ran='code'</script>` |

<base href="http://third.example/"> <meta http-equiv="refresh" content="0;url=http://third.example/">

a-very-long-word-%s
""" % ("without-end" * 40)
BAD_TITLE = "<img src=x onerror=window.ran='title'> \"quoted\" & more"
BASELINE = {
    "docs/plain.md": page("Plain lantern", "> A lantern with a wick.\n\nThe lantern burns oil.", audience="public"),
    "docs/hostile.md": page(BAD_TITLE, HOSTILE + "\nlantern", tags=["<script>window.ran='tag'</script>"]),
    "odd/journal.md": page("Journal of lanterns", "A lantern went out."),
    **{f"docs/page-{number:02}.md": page(f"Lantern {number}", "One lantern of many.") for number in range(14)},
}
OVERLAY = {"docs/ours.md": page("Our own lantern", "## Summary\n\nThe lantern of this project.", audience="project")}

TIERS = ("blockquote", "metadata", "summary")
KINDS = ("canon", "docs", "essays", "journals", "apocrypha")
STOPS = ("query", "button", *TIERS, *KINDS, "summary", "a", "curl", "mcp")


@dataclass(slots=True)
class Visit:
    """A page with all that it asked for and complained of."""

    page: Page
    home: str
    requested: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def status(self) -> str:
        """What the status says, once it no longer says that it is waiting."""
        expect(self.page.locator("#status")).not_to_have_text("Asking…")
        return str(self.page.inner_text("#status"))

    def foreign(self) -> list[str]:
        """Requests that left the service."""
        return [address for address in self.requested if not address.startswith((self.home, "data:,"))]


Open = Callable[..., Visit]


@pytest.fixture(scope="module")
def lanterns(tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    folder = tmp_path_factory.mktemp("lanterns")
    overlay = write(folder / "overlay", OVERLAY)
    deployed = Deployed(folder / "data", write(folder / "baseline", BASELINE), {"project": overlay})
    deployed.index()
    return deployed


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.is_file():
        pytest.skip(f"no Chromium at {CHROMIUM}")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Browser, lanterns: Deployed, gateway: tuple[str, int]) -> Iterator[Open]:
    """Opens an address of the service in a browser of its own; nothing that it asks elsewhere is let through."""
    stand_before(lanterns)
    home = f"http://{gateway[0]}:{gateway[1]}/"
    contexts = []

    def opened(path: str = "", **options: Any) -> Visit:
        context = browser.new_context(**{"viewport": DESK, **options})
        contexts.append(context)
        context.set_default_timeout(15_000)
        made = Visit(context.new_page(), home)

        def passed(route: Route) -> None:
            made.requested.append(route.request.url)
            if route.request.url.startswith(home):
                route.continue_()
            else:
                route.abort()

        context.route("**/*", passed)
        made.page.on("console", lambda message: made.complaints.append(message.text))
        made.page.on("pageerror", lambda error: made.complaints.append(str(error)))
        made.page.goto(home + path)
        return made

    yield opened
    for context in contexts:
        context.close()


def asked(one: Visit, query: str) -> str:
    """Types a question, presses Enter, and waits for the answer."""
    one.page.fill("#query", query)
    one.page.press("#query", "Enter")
    return one.status()


def tab_to(one: Visit, name: str) -> None:
    """Presses Tab until the element of that accessible name has the focus."""
    for _ in range(60):
        one.page.keyboard.press("Tab")
        if name in one.page.evaluate(
            "(e => [e.ariaLabel, e.textContent, e.value, ...[...e.labels ?? []].map(l => l.textContent)].join(' '))"
            "(document.activeElement)"
        ):
            return
    raise AssertionError(f"Tab never reaches {name!r}")


def test_a_question_is_asked_filtered_and_read_by_keyboard_alone(visit: Open) -> None:
    one = visit()
    keyboard = one.page.keyboard
    assert one.page.evaluate("document.activeElement.id") == "query"
    keyboard.type("lantern")
    tab_to(one, "blockquote")
    keyboard.press("Space")
    tab_to(one, "journals")
    keyboard.press("Space")
    tab_to(one, "More filters")
    keyboard.press("Enter")
    tab_to(one, "Knowledge base")
    keyboard.type("project")
    tab_to(one, "Audience")
    keyboard.type("public,project")
    keyboard.press("Enter")
    assert one.status().startswith("1–2 of 2")
    assert one.page.locator("#results h3").all_inner_texts() == ["Our own lantern", "Plain lantern"]
    assert "A lantern with a wick." in one.page.inner_text("#results")
    tab_to(one, "Our own lantern")
    keyboard.press("Enter")
    one.page.wait_for_url("**/read?**")
    assert one.page.inner_text("article h1") == "Our own lantern"
    assert one.complaints == []


def test_hits_of_the_overlay_are_told_apart_by_words_not_by_colour_alone(visit: Open) -> None:
    one = visit()
    one.page.click("text=More filters")
    one.page.fill("[name=knowledge_base_url]", "project")
    asked(one, "lantern")
    assert one.page.locator("#results .source").all_inner_texts()[:2] == ["overlay", "baseline"]
    looks = "e => { const s = getComputedStyle(e); return s.color + s.backgroundColor }"
    overlay, baseline = (one.page.locator(f".source.{name}").first.evaluate(looks) for name in ("overlay", "baseline"))
    assert overlay != baseline


def test_the_cost_of_every_tier_stands_there_before_it_is_bought(
    visit: Open, lanterns: Deployed, gateway: tuple[str, int]
) -> None:
    one = visit()
    asked(one, "wick")
    assert one.page.locator("#results blockquote").count() == 0
    costs = one.page.inner_text("#results .costs >> nth=0")
    for tier in ("URI and title", "blockquote", "metadata", "summary", "body"):
        assert f"{tier} " in costs
    assert one.page.inner_text("#page-costs").startswith("Tokens of this page: URIs and titles ")
    told = dict(part.rsplit(" ", 1) for part in costs.removeprefix("Tokens: ").split(" · "))
    body = TRANSPORTS["http-get"](gateway).call(lanterns, "get", {"uri": "kb://docs/plain"}).envelope["data"]["body"]
    assert int(told["body"]) == count_tokens(json.dumps(body, ensure_ascii=False))


def test_the_request_shown_as_curl_and_as_a_tool_call_gives_the_answer_shown(
    visit: Open, lanterns: Deployed, gateway: tuple[str, int]
) -> None:
    one = visit()
    one.page.check("[value=blockquote]")
    one.page.check("[value=journals]")
    one.page.click("text=More filters")
    one.page.fill("[name=knowledge_base_url]", "project")
    one.page.fill("[name=limit]", "4")
    asked(one, 'the lantern\'s "wick" & oil 100% lantern')
    command, address = shlex.split(one.page.inner_text("#curl"))
    assert command == "curl"
    with urlopen(address) as response:  # noqa: S310 - an address of our own gateway
        by_curl = json.load(response)
    call = json.loads(one.page.inner_text("#mcp"))
    assert call["params"]["name"] == "oddkit_search"
    by_tool = TRANSPORTS["mcp"](gateway).call(lanterns, "search", call["params"]["arguments"]).envelope
    assert by_curl == by_tool
    assert [hit["title"] for hit in by_curl["data"]] == one.page.locator("#results h3").all_inner_texts()
    assert by_curl["disclosure_applied"] == ["blockquote"]


def test_the_request_is_shown_while_it_is_put_together(visit: Open) -> None:
    one = visit()
    assert "v1/catalog?include=canon%2Cdocs%2Cessays&limit=10" in one.page.inner_text("#curl")
    one.page.fill("#query", "lantern")
    assert "v1/search?query=lantern" in one.page.inner_text("#curl")
    assert '"oddkit_search"' in one.page.inner_text("#mcp")


def test_pages_are_turned_and_numbered_on(visit: Open) -> None:
    one = visit()
    assert asked(one, "") == "1–10 of 16"
    one.page.click("text=Next page")
    expect(one.page.locator("#status")).to_have_text("11–16 of 16")
    assert one.page.get_attribute("#results", "start") == "11"
    assert one.page.is_disabled("#next")
    assert one.page.evaluate("document.activeElement.id") == "results"
    one.page.click("text=Previous page")
    expect(one.page.locator("#status")).to_have_text("1–10 of 16")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("audience", "nobody", "INVALID_FILTER_VALUE: audience 'nobody'"),
        ("knowledge_base_url", "stranger", "KNOWLEDGE_BASE_NOT_ALLOWED"),
        ("limit", "300", "LIMIT_EXCEEDS_FLAG_CAP"),
    ],
)
def test_what_is_wrong_with_a_request_is_said_in_the_status(visit: Open, name: str, value: str, told: str) -> None:
    one = visit()
    asked(one, "lantern")
    one.page.check("[value=blockquote]")
    one.page.click("text=More filters")
    one.page.fill(f"[name={name}]", value)
    assert told in asked(one, "lantern")
    assert one.page.get_attribute("#status", "class") == "error"
    assert one.page.locator("#results li").count() == 0
    assert one.page.is_hidden("#page-costs")


def test_a_service_that_does_not_answer_is_said_so(visit: Open) -> None:
    one = visit()
    one.page.route("**/v1/**", lambda route: route.abort())
    assert "did not answer" in asked(one, "lantern")


@pytest.mark.parametrize("bypass_csp", [False, True], ids=["with its policy", "without its policy"])
def test_a_hostile_document_is_inert(visit: Open, bypass_csp: bool) -> None:
    one = visit("read?uri=docs/hostile.md", bypass_csp=bypass_csp)
    dialogs: list[str] = []

    def dismissed(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    one.page.on("dialog", dismissed)
    assert one.page.inner_text("article h1").startswith("<img src=x")
    assert '<script>window.ran = "script"</script>' in one.page.inner_text("article")
    found = one.page.evaluate(
        "[...document.querySelectorAll('article *')].map(e => [e.localName, [...e.attributes].map(a => a.name)])"
    )
    assert {tag for tag, _ in found} <= {"h1", "p", "a", "em", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert {name for _, names in found for name in names} <= {"href", "title"}
    for link in one.page.locator("article a").all():
        address = link.get_attribute("href")
        assert address is None or address.startswith(("https://third.example/", "http://third.example/", "read?uri="))
        if address is None:
            link.click()
    assert one.page.evaluate("window.ran") is None
    assert dialogs == []
    assert one.foreign() == []
    assert [text for text in one.complaints if "404" not in text] == []


def test_links_between_documents_lead_to_their_pages_and_others_to_the_web_or_nowhere(visit: Open) -> None:
    one = visit("read?uri=docs/hostile.md&knowledge_base_url=project")
    links = {link.inner_text(): link.get_attribute("href") for link in one.page.locator("article a").all()}
    assert links["web"] == "https://third.example/page"
    assert links["picture"] == "http://third.example/b.png"
    assert {links[name] for name in ("other", "app") if name in links} == {None}
    for name in ("plain", "up", "by name"):
        one.page.click(f"article a:text-is('{name}')")
        one.page.wait_for_url("**/read?**")
        assert one.page.inner_text("article h1") == "Plain lantern"
        assert "knowledge_base_url=project" in one.page.url
        one.page.go_back()


def test_a_hostile_hit_is_listed_as_text(visit: Open) -> None:
    one = visit()
    one.page.check("[value=metadata]")
    one.page.check("[value=summary]")
    assert asked(one, "picture inline vbscript").startswith("1–")
    assert one.page.inner_text("#results h3 >> nth=0") == BAD_TITLE
    assert "<script>window.ran='tag'</script>" in one.page.inner_text("#results pre >> nth=0")
    assert one.page.locator("#results script, #results img").count() == 0
    assert one.page.evaluate("window.ran") is None
    assert one.foreign() == []
    assert one.complaints == []


def test_an_absent_document_has_a_page_that_says_so(visit: Open) -> None:
    one = visit("read?uri=kb://docs/none")
    assert one.page.title() == "No such document"


def test_every_control_has_a_name_and_every_change_is_announced(visit: Open) -> None:
    one = visit()
    one.page.click("text=More filters")
    session = one.page.context.new_cdp_session(one.page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    controls = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
        and node["role"]["value"]
        in ("textbox", "searchbox", "combobox", "checkbox", "button", "link", "spinbutton", "region")
    ]
    assert len(controls) > 20
    assert [role for role, name in controls if not name.strip()] == []
    assert one.page.get_attribute("html", "lang") == "en"
    assert one.page.locator("h1").count() == 1
    assert one.page.locator("main").count() == 1
    assert (one.page.get_attribute("#status", "role"), one.page.get_attribute("#status", "aria-live")) == (
        "status",
        "polite",
    )


def test_the_focus_goes_from_the_question_through_the_choices_to_the_results(visit: Open) -> None:
    one = visit()
    asked(one, "wick")
    named = "(e => e.className || e.id || e.value || e.localName)(document.activeElement)"
    order = []
    for _ in range(len(STOPS)):
        order.append(one.page.evaluate(named))
        one.page.keyboard.press("Tab")
    assert list(STOPS) == order
    one.page.focus("#query")
    one.page.keyboard.press("Shift+Tab")
    assert one.page.evaluate(named) == "skip"
    one.page.keyboard.press("Enter")
    assert one.page.evaluate(named) == "results"


@pytest.mark.parametrize("path", ["", "read?uri=docs/hostile.md"], ids=["explorer", "document"])
def test_on_a_phone_nothing_has_to_be_scrolled_sideways(visit: Open, path: str) -> None:
    one = visit(path, viewport=PHONE)
    if not path:
        one.page.check("[value=metadata]")
        one.page.click("text=More filters")
        asked(one, "lantern picture")
    wide = one.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide[0] <= wide[1] == PHONE["width"]


def test_the_explorer_asks_its_own_service_alone_under_a_strict_policy(visit: Open, gateway: tuple[str, int]) -> None:
    one = visit()
    asked(one, "lantern")
    assert one.foreign() == []
    assert one.complaints == []
    for path in ("", "explorer.js", "explorer.css", "read?uri=docs/plain.md"):
        with urlopen(one.home + path) as response:  # noqa: S310 - an address of our own gateway
            policy = response.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
