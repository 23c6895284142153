# SPDX-License-Identifier: Apache-2.0
from steelyard.show.plain import plain


def test_control_characters_become_spaces_and_words_stay():
    assert plain("kernel 6.1 µ → ✓") == "kernel 6.1 µ → ✓"
    assert plain("\x1b[2J\x1b]0;title\x07a\nb\u202e") == " [2J ]0;title a b "
