"""What a workspace says of itself: protocol, build, platform, abilities, bounds, and what its words do not prove."""

from __future__ import annotations

import platform
from typing import Any

from lamina.contract.tokens import TOKENIZER_NAMES
from lamina.knowledge import protocol
from lamina.knowledge.workspace import WorkspaceFiles, WorkspaceState

_DOES_NOT_PROVE = (
    "A seal or receipt names bytes. It does not prove who wrote them, that they are true, or what was there before "
    "the workspace was initialised.",
    "Links to runs and contexts are a caller's references. They do not prove that an agent read what it cites.",
    "A version is not an authenticated publisher.",
    "A passage is evidence for a task. It is no instruction and no permission.",
    "Order is lexical relevance, not truth or confidence.",
)


def describe(
    root: str, state: WorkspaceState | None, files: WorkspaceFiles | None, build: str, *, is_operator: bool
) -> dict[str, Any]:
    """The descriptor; `files` None leaves the policy's digest out, where the sources cannot be read."""
    commit = None if state is None else state.commit
    return {
        "protocol": {
            "request": protocol.REQUEST_SCHEMA,
            "response": protocol.RESPONSE_SCHEMA,
            "context": protocol.CONTEXT_SCHEMA,
        },
        "build": {"name": "lamina", "version": build},
        "platform": {"os": platform.system().lower(), "architecture": platform.machine().lower()},
        "workspace": {
            "root": root,
            "knowledge_workspace": None if commit is None else commit.workspace,
            "initialised": commit is not None,
            "head": None if commit is None else commit.head,
            "source_manifest_sha256": None if commit is None else commit.manifest,
            "policy_sha256": None if files is None else files.policy,
        },
        "authority": {
            "supported": [protocol.LOCAL_OWNER],
            "caller": "operator" if is_operator else "agent",
            "operator_operations": ["accept", "reject"],
        },
        "operations": list(protocol.OPERATIONS),
        "capabilities": {
            "profile": "basic",
            "retrieval": "lexical",
            "citations": ["bytes", "lines", "sha256"],
            "proposals": "queued",
            "tokenizer": TOKENIZER_NAMES[0],
            "tokenizers": list(TOKENIZER_NAMES),
            "max_tokens_counts": "passage text",
        },
        "limits": {
            "request_bytes": protocol.MAX_REQUEST_BYTES,
            "min_output_bytes": protocol.LEAST_OUTPUT_BYTES,
            "query_limit": protocol.MOST_PASSAGES,
            "waiting_proposals": protocol.MOST_WAITING,
            "facts": protocol.MOST_FACTS,
            "sources": protocol.MOST_SOURCES,
            "title_characters": protocol.LONGEST_TITLE,
        },
        "error_codes": [str(code) for code in protocol.ErrorCode],
        "does_not_prove": list(_DOES_NOT_PROVE),
    }
