# SPDX-License-Identifier: Apache-2.0
"""The page of what studies got wrong is what their errata say."""

from tests.golden import errata


def test_the_page_is_generated_from_the_errata():
    assert errata.PAGE.read_text() == errata.page(), "run `python -m tests.golden.errata` and read the difference"
