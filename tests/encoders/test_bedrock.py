"""Embeddings of Amazon Bedrock, against a local server that answers as the service documents it."""

from __future__ import annotations

import json
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from lamina.contract.ports import EncoderUnavailable
from lamina.encoders.bedrock import COHERE_V3, COHERE_V4, MODELS, TITAN, BedrockEncoder
from lamina.encoders.choice import EncoderChoice, check
from lamina.stores.aws import make_client


class Service(ThreadingHTTPServer):
    """Answers InvokeModel; `asked` are (model, body), `broken` what it answers instead."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Invocation)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.broken: tuple[int, Any] | None = None


class Invocation(BaseHTTPRequestHandler):
    """One call: a vector that says how long the text is."""

    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = urllib.parse.unquote(self.path.split("/")[2])
        self.server.asked.append((model, body))
        status, answer = self.server.broken or (200, self._vectors(body))
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _vectors(self, body: dict[str, Any]) -> dict[str, Any]:
        length = body.get("dimensions") or body.get("output_dimension") or 1024
        if "inputText" in body:
            return {"embedding": _vector(body["inputText"], length), "inputTextTokenCount": 3}
        return {"embeddings": {"float": [_vector(text, length) for text in body["texts"]]}}

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


def _vector(text: str, length: int) -> list[float]:
    return [float(len(text)), 10.0, *([0.0] * (length - 2))]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    server = Service()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def encoder(model: str) -> BedrockEncoder:
    return BedrockEncoder(model, make_client("bedrock-runtime", attempts=1))


@pytest.mark.parametrize("model", [*MODELS, f"eu.{COHERE_V4}"])
def test_every_text_has_its_vector_in_order(model: str, service: Service) -> None:
    made = encoder(model)
    texts = ["a" * length for length in (1, 5, 40)]
    vectors = made.passages(texts)
    assert {len(vector) for vector in vectors} == {made.dimensions}
    assert [vector[0] for vector in vectors] == sorted(vector[0] for vector in vectors)
    assert made.query(texts[1]) == vectors[1]
    assert {asked for asked, _ in service.asked} == {model}


def test_cohere_is_told_what_a_text_is_for_and_titan_asked_a_text_at_a_time(service: Service) -> None:
    encoder(COHERE_V3[0]).passages(["x"] * 100)
    encoder(COHERE_V3[0]).query("x")
    assert sorted(len(body["texts"]) for _, body in service.asked) == [1, 4, 96]
    assert {body["input_type"] for _, body in service.asked} == {"search_document", "search_query"}
    service.asked.clear()
    encoder(TITAN).passages(["x", "y", ""])
    assert sorted(body["inputText"] for _, body in service.asked) == ["-", "x", "y"]


@pytest.mark.parametrize(
    "broken", [(500, {}), (403, {"message": "no"}), (200, {}), (200, []), (200, {"embedding": [1]})]
)
def test_a_service_that_fails_or_answers_otherwise_is_unavailable(broken: tuple[int, Any], service: Service) -> None:
    service.broken = broken
    with pytest.raises(EncoderUnavailable, match="titan"):
        encoder(TITAN).query("a secret question")


def test_an_encoder_is_chosen_by_name_and_a_wrong_name_is_refused(service: Service) -> None:
    choice = EncoderChoice(check(f"bedrock:{TITAN}"), lambda: make_client("bedrock-runtime", attempts=1))
    made = choice.for_building(100_000)
    assert made is not None
    assert choice.named(made.name) is made
    assert choice.named("all-MiniLM-L6-v2-int8/8199be6f699a") is None
    assert EncoderChoice("none").for_building(1) is None
    for wrong in ("large", "bedrock:", "bedrock:amazon.titan-text-lite-v1"):
        with pytest.raises(ValueError, match="are"):
            check(wrong)
