"""Public test collections are read in the forms that they are handed around in."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench.collections import read_collection
from tests.bench.judged import Judged, quality

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


def test_a_folder_without_judgements_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cran.all").write_text(SMART["cran.all"], encoding="utf-8")
    with pytest.raises(ValueError, match="judgements"):
        read_collection(tmp_path)


def test_figures_of_a_perfect_and_of_a_useless_ranking() -> None:
    judged = Judged("q", {3: 2, 4: 1})
    perfect, useless = quality([3, 4, 0], judged), quality([0, 1], judged)
    assert (perfect.ndcg, perfect.mrr, perfect.recall, perfect.success) == (1, 1, 1, 1)
    assert (useless.ndcg, useless.mrr, useless.recall, useless.success) == (0, 0, 0, 0)
    assert 0 < quality([4, 3], judged).ndcg < 1
