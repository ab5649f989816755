"""MCP prompts: how a person starts a task, reviews a proposal or writes a page with the tools of a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lamina.mcp.frames import INVALID_PARAMS, Fields, ProtocolError, Result, Visit, text_of
from lamina.mcp.tools import LIST_TTL_MS, RETRIEVAL, tool_names

LONGEST_ARGUMENT = 10_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `text` names its argument and the tools in braces; `about` says what the argument is."""

    name: str
    description: str
    argument: str
    about: str
    text: str


PROMPTS: Mapping[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "start-a-task",
            "Read what governs a task before it is begun.",
            "task",
            "What is about to be done.",
            "Task: {task}\n\nBefore you begin, call {preflight} with this task, and brief with it as the question. "
            "Read the sections that govern it with {get}. Work by them, and name the URIs of what you used.",
        ),
        Prompt(
            "review-a-proposal",
            "Hold a proposal against what the knowledge base says already.",
            "proposal",
            "The text of the proposal.",
            "Review this proposal against the knowledge base:\n\n{proposal}\n\nFind with {search} what the base says "
            "on each of its claims, and read the sections with {get}. Say what it repeats, what it contradicts and "
            "what it adds, each with the URI and the section. Where match.signal is none, say that the base "
            "does not know.",
        ),
        Prompt(
            "write-a-page",
            "Write a page as the knowledge base wants pages written.",
            "topic",
            "What the page is about.",
            "Write a page about {topic} for this knowledge base. Call {preflight} with the task of writing this "
            "document, and follow the writing canon and the definition of done that it names. Look with {search} for "
            "pages that say the same, and link to them. Take the frontmatter of the pages beside it as the pattern.",
        ),
    )
}


def list_prompts(params: Mapping[str, Any], visit: Visit) -> Result:
    """`prompts/list`, in one page."""
    if params.get("cursor") is not None:
        raise ProtocolError(INVALID_PARAMS, "Invalid cursor: the prompts are listed in one page")
    listed = [
        {
            "name": prompt.name,
            "description": prompt.description,
            "arguments": [{"name": prompt.argument, "description": prompt.about, "required": True}],
        }
        for prompt in PROMPTS.values()
    ]
    return Result({"prompts": listed}, LIST_TTL_MS)


def get_prompt(params: Mapping[str, Any], visit: Visit) -> Result:
    """`prompts/get`: the prompt with its argument filled in."""
    name = text_of(params, "name")
    prompt = PROMPTS.get(name)
    if prompt is None:
        raise ProtocolError(INVALID_PARAMS, f"Unknown prompt: {name[:64]}. There are {', '.join(PROMPTS)}.")
    arguments = params.get("arguments")
    given = text_of(arguments if isinstance(arguments, dict) else {}, prompt.argument)
    if len(given) > LONGEST_ARGUMENT:
        raise ProtocolError(INVALID_PARAMS, f"{prompt.argument} is over {LONGEST_ARGUMENT} characters")
    names = dict(zip(RETRIEVAL, tool_names(visit.runtime.settings), strict=True))
    text = prompt.text.format(**names, **{prompt.argument: given})
    message: Fields = {"role": "user", "content": {"type": "text", "text": text}}
    return Result({"description": prompt.description, "messages": [message]})
