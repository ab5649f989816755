"""Which characters of a body are its words: marks of site generators are blanked in place, words stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.corpus.prose import prose


def words(text: str, *, mdx: bool = False) -> str:
    return " ".join(prose(text, mdx=mdx).split())


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('import X from "./x"\n\nText.\n', "Text."),
        ('import {\n  A,\n  B,\n} from "./x";\n\nText.\n', "Text."),
        ('import "./x.css"\nexport const meta = {\n  a: 1,\n};\n\nText.\n', "Text."),
        ("import duties rose.\n", "import duties rose."),
        ("export controls rose.\n", "export controls rose."),
        ("export const is how it begins.\n", "export const is how it begins."),
        ("```js\nimport X from './x'\n```\n", "```js import X from './x' ```"),
        ('{{< figure src="a.png" caption="A red door" >}}\n', "A red door"),
        ("{{% note %}}Mind this{{% /note %}}\n", "Mind this"),
        ('{% include "x" %}\nText.\n', "Text."),
        ('--8<-- "inc.md"\nText.\n', "Text."),
        ("> [!WARNING]\n> Old.\n", "> WARNING > Old."),
        (":::tip Docu\nText.\n:::\n", "tip Docu Text."),
        ('!!! note "Mind the gap"\n    Text.\n', 'note "Mind the gap" Text.'),
        ('=== "Python"\n\n    Text.\n', '"Python" Text.'),
        ("![x](data:image/png;base64," + "A" * 100 + ")\n", "![x]( )"),
        ("<Tabs>text</Tabs> stays in Markdown\n", "<Tabs>text</Tabs> stays in Markdown"),
        ("`{{< code >}}` stays\n", "`{{< code >}}` stays"),
    ],
)
def test_marks_are_blanked_and_words_stay(text: str, kept: str) -> None:
    assert words(text) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('<Tabs>\n<TabItem value="py" label="Python">\n\nRun it.\n\n</TabItem>\n</Tabs>\n', "Python Run it."),
        ("<Note kind='x' {...props} on={() => { go(); }}>Mind this</Note>\n", "Mind this"),
        ("{/* hidden */}Text.\n", "Text."),
        ("export default function A() {\n  return <b>x</b>;\n}\n\nText.\n", "Text."),
        ("a < b and c > d\n", "a < b and c > d"),
        ("```jsx\n<Tabs>\n```\n", "```jsx <Tabs> ```"),
        ("- step\n\n    ```jsx\n    <Tabs>\n    ```\n", "- step ```jsx <Tabs> ```"),
        ("`<Tabs>` is a component\n", "`<Tabs>` is a component"),
    ],
)
def test_components_fall_away_in_mdx_and_their_children_stay(text: str, kept: str) -> None:
    assert words(text, mdx=True) == kept


_MARKS = st.sampled_from(
    [
        "import A from 'b'\n",
        "export const x = {\n",
        "}\n",
        "```\n",
        "`",
        "{{< a >}}",
        "{% b %}",
        "<Tab a='b'>",
        "</Tab>",
        "> [!note] x\n",
        ":::tip\n",
        "!!! a\n",
        "word ",
        "\n",
        "\r\n",
        "\r",
        "é",
        "{/* c */}",
        "~~~\n",
        "<",
        ">",
        "data:a/b;base64,",
    ]
)


@given(text=st.lists(_MARKS, max_size=40).map("".join), mdx=st.booleans())
def test_every_place_stays_where_it_was(text: str, mdx: bool) -> None:
    blanked = prose(text, mdx=mdx)
    assert len(blanked) == len(text)
    assert all(new in (old, " ") for new, old in zip(blanked, text, strict=True))
    assert [at for at, c in enumerate(blanked) if c in "\r\n"] == [at for at, c in enumerate(text) if c in "\r\n"]
