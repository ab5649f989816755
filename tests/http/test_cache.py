"""What a cache in front may keep: entity tags, 304 and Cache-Control."""

from __future__ import annotations

import pytest
from tests.conftest import Corpus, Deploy
from tests.corpora import page, write
from tests.transports import Reply, exchange

PUBLIC = "public, max-age=300, stale-while-revalidate=3600"
PRIVATE = "private, no-cache"
LISTS = ["/v1/search?query=gauge", "/v1/catalog", "/v1/preflight?task=gauge", "/v1/search?query=zzqqxx"]
DOCUMENT = "rill://canon/constraints/definition-of-done"
BODIES = [f"/v1/get?uri={DOCUMENT}", f"/v1/resolve?uri={DOCUMENT}"]

Address = tuple[str, int]


def get(address: Address, corpus: Corpus, path: str, **headers: str) -> Reply:
    return exchange(address, corpus.deployed, "GET", path, None, **headers)


@pytest.mark.parametrize("path", LISTS)
def test_a_list_may_be_kept_in_public(sample: Corpus, gateway: Address, path: str) -> None:
    reply = get(gateway, sample, path)
    assert reply.status == 200
    assert reply.headers["cache-control"] == PUBLIC
    assert reply.headers["etag"].startswith('"')


@pytest.mark.parametrize("path", BODIES)
def test_a_body_may_be_kept_by_its_reader_who_asks_again(sample: Corpus, gateway: Address, path: str) -> None:
    reply = get(gateway, sample, path)
    assert reply.status == 200
    assert reply.headers["cache-control"] == PRIVATE
    assert reply.headers["etag"].startswith('"')


@pytest.mark.parametrize("path", [*LISTS, *BODIES])
@pytest.mark.parametrize("form", ["{tag}", "W/{tag}", '"other", {tag}', "*"])
def test_who_has_it_already_gets_304_and_nothing_else(sample: Corpus, gateway: Address, path: str, form: str) -> None:
    first = get(gateway, sample, path)
    again = get(gateway, sample, path, if_none_match=form.format(tag=first.headers["etag"]))
    assert again.status == 304
    assert again.text == ""
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["cache-control"] == first.headers["cache-control"]
    other = get(gateway, sample, path, if_none_match='"0123"')
    assert (other.status, other.text) == (200, first.text)


def test_another_answer_has_another_tag(sample: Corpus, gateway: Address) -> None:
    tags = {get(gateway, sample, path).headers["etag"] for path in (*LISTS, *BODIES, "/v1/catalog?limit=3")}
    assert len(tags) == len(LISTS) + len(BODIES) + 1


def test_a_rebuilt_index_changes_the_tag(gateway: Address, deploy: Deploy) -> None:
    deployed = deploy({"docs/a.md": page("A")})
    first = exchange(gateway, deployed, "GET", "/v1/catalog").headers["etag"]
    write(deployed.baseline, {"docs/b.md": page("B")})
    deployed.index()
    reply = exchange(gateway, deployed, "GET", "/v1/catalog", if_none_match=first)
    assert reply.status == 200
    assert reply.envelope["total"] == 2


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/catalog", b"{}"),
        ("POST", "/v1/get", b'{"uri": "docs/getting-started"}'),
        ("GET", "/v1/get?uri=docs/getting-started&disclosure=", None),
        ("GET", "/v1/resolve?uri=docs/getting-started&disclosure=metadata", None),
        ("GET", "/v1/get?uri=no/such", None),
        ("GET", "/v1/resolve?uri=no/such", None),
        ("GET", "/v1/catalog?limit=0", None),
        ("GET", "/v1/nowhere", None),
        ("GET", "/v1/get?uri=docs/getting-started&section=none", None),
        ("PUT", "/v1/catalog", None),
    ],
)
def test_everything_else_is_kept_by_nobody(
    sample: Corpus, gateway: Address, method: str, path: str, body: bytes | None
) -> None:
    reply = exchange(gateway, sample.deployed, method, path, body, if_none_match="*")
    assert reply.status != 304
    assert reply.headers["cache-control"] == "no-store"
    assert "etag" not in reply.headers


def test_a_browser_may_ask_from_anywhere(sample: Corpus, gateway: Address) -> None:
    for action in ("search", "catalog", "preflight", "get", "resolve"):
        reply = exchange(
            gateway,
            sample.deployed,
            "OPTIONS",
            f"/v1/{action}",
            origin="https://example.org",
            access_control_request_method="POST",
        )
        assert reply.status == 204
        assert reply.headers["access-control-allow-origin"] == "*"
        assert {"GET", "POST"} <= set(reply.headers["access-control-allow-methods"].split(", "))
        assert "content-type" in reply.headers["access-control-allow-headers"].lower()
