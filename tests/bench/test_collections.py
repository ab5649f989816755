"""Public test collections are read in the forms that they are handed around in."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench.collections import read_collection
from tests.bench.judged import Judged, QuerySet, quality

SMART = {
    "cran.all": ".I 1\n.T\nWings\n.W\nlift of wings\n.I 2\n.W\nheat\n",
    "cran.qry": ".I 001\n.W\nlift\n.I 004\n.W\nheat\n",
    "cranqrel": "1 1 2\n2 2 3\n",
}
TREC = {
    "docs.xml": "<DOC><DOCNO> 1 </DOCNO><TITLE>Wings</TITLE><TEXT>lift</TEXT></DOC><DOC><DOCNO>2</DOCNO>heat</DOC>",
    "topics.txt": "<top><num> Number: 1\n<title> lift</top><top><num> Number: 2\n<title> heat</top>",
    "qrels.txt": "1 0 1 1\n1 0 2 0\n2 0 2 1\n",
}
NPL = {
    "doc-text": "1\nlift of wings\n   /\n2\nheat\n   /\n",
    "query-text": "1\nlift\n/\n2\nheat\n/\n",
    "doc-vecs": "1\n 11 12\n   /\n2\n 13\n   /\n",
    "query-vecs": "1\n 11\n/\n2\n 13\n/\n",
    "rlv-ass": "1\n 1\n   /\n2\n 2\n   /\n",
}
LINES = {
    "corpus.jsonl": '{"_id": "1", "title": "Wings", "text": "lift"}\n{"_id": "2", "text": "heat"}\n',
    "queries.jsonl": '{"_id": "1", "text": "lift"}\n{"_id": "2", "text": "heat"}\n',
    "qrels.tsv": "query-id\tcorpus-id\tscore\n1\t1\t1\n2\t2\t1\n",
}


@pytest.mark.parametrize("files", [SMART, TREC, NPL, LINES], ids=["smart", "trec", "npl", "json-lines"])
def test_each_form_gives_the_same_judged_queries(files: dict[str, str], tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    collection = read_collection(tmp_path)
    assert [document.path for document in collection.documents] == ["1.md", "2.md"]
    assert [document.body.split()[-1] for document in collection.documents] in (["wings", "heat"], ["lift", "heat"])
    assert list(collection.queries) == [Judged("lift", {0: 1}), Judged("heat", {1: 1})]


def collection(folder: Path, files: dict[str, str]) -> QuerySet:
    """The files written to the folder and read."""
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return read_collection(folder)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no documents and no queries and no judgements"),
        ({"cran.all": SMART["cran.all"]}, "no queries and no judgements"),
        ({name: LINES[name] for name in ("queries.jsonl", "qrels.tsv")}, "no documents"),
        ({**LINES, "corpus.jsonl": '{"number": "1"}\n'}, "corpus.jsonl cannot be read"),
        ({**LINES, "qrels.tsv": "1 7 1\n"}, "names one of its queries and one of its documents"),
    ],
)
def test_a_folder_that_is_no_collection_is_told_with_what_is_missing(
    files: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=said):
        collection(tmp_path, files)
    with pytest.raises(ValueError, match="there is no folder"):
        read_collection(tmp_path / "nowhere")


def test_a_judgement_of_an_unknown_query_moves_no_other(tmp_path: Path) -> None:
    read = collection(tmp_path, {**SMART, "cranqrel": "1 1 1\n4 2 1\n101x 2 1\n"})
    assert list(read.queries) == [Judged("lift", {0: 1}), Judged("heat", {1: 1})]


def test_a_grade_of_nought_is_no_answer_and_a_stray_file_no_document(tmp_path: Path) -> None:
    read = collection(tmp_path, {**SMART, "cranqrel": "1 1 2\n1 2 0\n2 2 1\n", "NOTES.txt": "about heat"})
    assert list(read.queries) == [Judged("lift", {0: 1}), Judged("heat", {1: 1})]
    assert len(read.documents) == 2


def test_labels_of_a_topic_are_not_asked_for(tmp_path: Path) -> None:
    topics = "<top><num> Number: 1\n<title> Topic: lift\n<desc> Description:\nof wings</top>"
    read = collection(tmp_path, {**TREC, "topics.txt": topics, "qrels.txt": "1 0 1 1\n"})
    assert [entry.text for entry in read.queries] == ["lift of wings"]


def test_figures_of_a_perfect_and_of_a_useless_ranking() -> None:
    judged = Judged("q", {3: 2, 4: 1})
    perfect, useless = quality([3, 4, 0], judged), quality([0, 1], judged)
    assert (perfect.ndcg, perfect.mrr, perfect.recall, perfect.success) == (1, 1, 1, 1)
    assert (useless.ndcg, useless.mrr, useless.recall, useless.success) == (0, 0, 0, 0)
    assert 0 < quality([4, 3], judged).ndcg < 1
