# SPDX-License-Identifier: Apache-2.0
"""A translation has the headings, commands, links and figures of its original, in the same order."""

import pytest

from tests.golden.translations import LANGUAGE, ROOT, TRANSLATIONS, difference, mended, original

ENGLISH = """# A page

It takes 5 minutes and `steelyard run`, in 3.11 of [them](other.md).

```console
$ steelyard show 7
```

## Next

Of 10 cases 2 fail.
"""
CHINESE = """# 一页

[English](page.md)

需要 5 分钟和 `steelyard run`，见 3.11 的[它们](other.md)。

```console
$ steelyard show 7
```

## 下一步

10 个用例中有 2 个失败。
"""


@pytest.fixture
def pages(tmp_path):
    def written(english=ENGLISH, chinese=CHINESE):
        (tmp_path / "page.md").write_text(english)
        page = tmp_path / f"page{LANGUAGE}.md"
        page.write_text(chinese)
        return page

    return written


@pytest.mark.parametrize("page", TRANSLATIONS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_translation_is_in_step_with_its_original(page):
    assert difference(page) is None


def test_the_readme_and_the_tutorial_are_translated():
    assert {original(page).name for page in TRANSLATIONS} >= {"README.md", "first-session.md"}


def test_pages_that_agree_have_no_difference(pages):
    assert difference(pages()) is None


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("5 minutes", "6 minutes", "page.zh-CN.md:5 has figure 5 where page.md:3 has figure 6: "),
        ("## Next", "### Next", "page.zh-CN.md:11 has heading ## where "),
        (
            "show 7",
            "show 8",
            "page.zh-CN.md:8 has block $ steelyard show 7 where page.md:6 has block $ steelyard show 8: ",
        ),
        ("`steelyard run`", "`steelyard\nrun --quick`", "has code `steelyard run --quick`"),
        ("other.md", "another.md", "has link another.md"),
        ("Of 10 cases 2 fail.", "Of 10 cases 2 fail. Of 3 none.", "page.zh-CN.md has its end where "),
    ],
)
def test_what_differs_is_said_in_a_sentence(before, after, said, pages):
    assert said in difference(pages(ENGLISH.replace(before, after)))


@pytest.mark.parametrize(
    ("before", "after"),
    [("5 minutes", "6 minutes"), ("show 7", "show 8\n$ steelyard doctor"), ("`steelyard run`", "`steelyard\nrun -x`")],
)
def test_code_links_and_figures_are_copied(before, after, pages):
    page = pages(ENGLISH.replace(before, after).replace("Of 10 cases 2 fail", "Of 12 cases 4 fail"))
    page.write_text(mended(page))
    assert difference(page) is None
    assert "12 个用例中有 4 个失败。" in page.read_text()


def test_a_section_that_has_something_new_is_left_and_the_others_are_mended(pages):
    page = pages(ENGLISH.replace("5 minutes", "5 to 6 minutes").replace("10 cases", "11 cases"))
    page.write_text(mended(page))
    assert "11 个用例" in page.read_text()
    assert "has figure 3.11" not in difference(page)
    assert "page.zh-CN.md:5 has code `steelyard run` where " in difference(page)
