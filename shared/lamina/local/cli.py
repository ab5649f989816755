"""The command `lamina`: the list of its commands, and what an error or an interruption makes of one."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from pydantic import ValidationError

from lamina.contract.ports import AlreadyExists, StoreUnavailable
from lamina.index.signed import SnapshotRefused
from lamina.local.asking import add_action_commands
from lamina.local.check import add_check
from lamina.local.deployment import DeploymentError
from lamina.local.doctor import add_doctor
from lamina.local.knowledge_commands import add_global_flags, add_knowledge_commands
from lamina.local.receipt_commands import add_receipt_commands
from lamina.local.report_command import add_report
from lamina.local.serving import add_serving_commands
from lamina.runtime.settings import variable
from lamina.runtime.signing import InsecureKey

# In the order of `lamina --help`.
_COMMANDS = (
    add_serving_commands,  # serve, index, mcp
    add_action_commands,  # one for each action
    add_knowledge_commands,  # knowledge
    add_report,  # report
    add_receipt_commands,  # verify, use
    add_doctor,  # doctor
    add_check,  # check
)
_FAILED, _INTERRUPTED = 1, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code is 0 for an answer, 1 for an error, 2 for a wrong command line."""
    arguments = _parser().parse_args(argv)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING, stream=sys.stderr)
    try:
        code: int = arguments.command(arguments)
    except (DeploymentError, InsecureKey, StoreUnavailable, AlreadyExists, SnapshotRefused) as error:
        print(f"lamina: {error}", file=sys.stderr)
        return _FAILED
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        print(f"lamina: the variable {variable(str(first['loc'][0]))}: {first['msg']}", file=sys.stderr)
        return _FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lamina", description="Progressive-disclosure retrieval over Markdown.")
    add_global_flags(parser)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in _COMMANDS:
        add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
