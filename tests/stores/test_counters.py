"""One suite for every rate counter, then what is particular to SQLite and to DynamoDB."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from tests.fakes.aws import fake_service

from lamina.contract.ports import RateCounter, StoreUnavailable
from lamina.stores.dynamodb import KEY_ATTRIBUTE, TTL_ATTRIBUTE, DynamoRateCounter
from lamina.stores.sqlite import SqliteRateCounter

EXPIRES = 4_000_000_000


@pytest.fixture
def dynamodb() -> Iterator[Any]:
    with fake_service("dynamodb") as client:
        client.create_table(
            TableName="limits",
            KeySchema=[{"AttributeName": KEY_ATTRIBUTE, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": KEY_ATTRIBUTE, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield client


class OneAtATime:
    """A client that updates one item at a time, as the service does; its stand-in judges first and writes later."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lock = threading.Lock()

    def update_item(self, **arguments: Any) -> Any:
        with self._lock:
            return self._client.update_item(**arguments)


@pytest.fixture(params=["sqlite", "dynamodb"])
def counter(request: pytest.FixtureRequest, tmp_path: Path) -> RateCounter:
    if request.param == "sqlite":
        return SqliteRateCounter(tmp_path / "data" / "limits.sqlite")
    return DynamoRateCounter(OneAtATime(request.getfixturevalue("dynamodb")), "limits")


def add(counter: RateCounter, caller: str = "a", window: int = 1, amount: int = 1, limit: int = 3) -> bool:
    return counter.add(caller, window, amount, limit, EXPIRES)


def test_calls_are_let_through_up_to_the_limit_and_not_beyond(counter: RateCounter) -> None:
    assert [add(counter) for _ in range(5)] == [True, True, True, False, False]


def test_callers_and_windows_are_counted_apart(counter: RateCounter) -> None:
    assert [add(counter, limit=1), add(counter, caller="b", limit=1), add(counter, window=2, limit=1)] == [True] * 3
    assert [add(counter, limit=1), add(counter, caller="b", limit=1), add(counter, window=2, limit=1)] == [False] * 3


def test_what_does_not_fit_is_not_counted(counter: RateCounter) -> None:
    assert add(counter, amount=2)
    assert not add(counter, amount=2)
    assert add(counter, amount=1)
    assert not add(counter, amount=1)


@pytest.mark.parametrize(("amount", "limit"), [(4, 3), (1, 0)])
def test_more_than_the_whole_limit_never_fits(counter: RateCounter, amount: int, limit: int) -> None:
    assert not add(counter, amount=amount, limit=limit)


def test_callers_may_have_any_name(counter: RateCounter) -> None:
    names = ["x'; DROP TABLE calls; --", "2001:db8::1", "1#a", "日本", "a" * 500]
    assert [add(counter, caller=name, limit=1) for name in names] == [True] * len(names)
    assert [add(counter, caller=name, limit=1) for name in names] == [False] * len(names)


def test_of_forty_calls_at_once_as_many_pass_as_the_limit_says(counter: RateCounter) -> None:
    with ThreadPoolExecutor(40) as threads:
        passed = list(threads.map(lambda _: add(counter, limit=7), range(40)))
    assert passed.count(True) == 7


COUNT = """
import sys
from pathlib import Path
from lamina.stores.sqlite import SqliteRateCounter
counter = SqliteRateCounter(Path(sys.argv[1]))
print(sum(counter.add("a", 1, 1, 50, 4_000_000_000) for _ in range(25)))
"""


def test_the_limit_holds_across_processes(tmp_path: Path) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", COUNT, str(tmp_path / "limits.sqlite")],
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        )
        for _ in range(4)
    ]
    assert sum(int(child.communicate()[0]) for child in children) == 50


def test_counts_outlive_the_process_that_made_them(tmp_path: Path) -> None:
    assert add(SqliteRateCounter(tmp_path / "limits.sqlite"), limit=1)
    assert not add(SqliteRateCounter(tmp_path / "limits.sqlite"), limit=1)


def test_expired_windows_are_forgotten_and_the_open_one_is_kept(tmp_path: Path) -> None:
    now = [100.0]
    counter = SqliteRateCounter(tmp_path / "limits.sqlite", clock=lambda: now[0])
    for caller in range(20):
        counter.add(str(caller), 1, 1, 1, 160)
    now[0] = 200.0
    assert counter.add("0", 2, 1, 1, 190)
    assert not counter.add("0", 2, 1, 1, 190)
    with sqlite3.connect(tmp_path / "limits.sqlite") as connection:
        rows = connection.execute("SELECT caller, window FROM calls").fetchall()
    connection.close()
    assert rows == [("0", 2)]


def test_the_database_is_for_its_owner_alone(tmp_path: Path) -> None:
    counter = SqliteRateCounter(tmp_path / "data" / "limits.sqlite")
    add(counter)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data").iterdir()} == {0o600}


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "limits.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreUnavailable):
        add(SqliteRateCounter(tmp_path / "limits.sqlite"))


def test_rows_in_dynamodb_carry_the_time_they_expire(dynamodb: Any) -> None:
    add(DynamoRateCounter(dynamodb, "limits"))
    (row,) = dynamodb.scan(TableName="limits")["Items"]
    assert row[TTL_ATTRIBUTE] == {"N": str(EXPIRES)}


class Failing:
    """A DynamoDB client whose calls end in one error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def update_item(self, **_: object) -> None:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "ProvisionedThroughputExceededException"}}, "UpdateItem"),
        ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "UpdateItem"),
        ReadTimeoutError(endpoint_url="https://dynamodb.example"),
    ],
)
def test_whatever_dynamodb_fails_with_is_unavailable(error: Exception) -> None:
    with pytest.raises(StoreUnavailable):
        add(DynamoRateCounter(Failing(error), "limits"))
