# SPDX-License-Identifier: Apache-2.0
"""The nouns: what is said between the wings and what a session file is made of.

Records that are stored ignore unknown fields and give new fields defaults, so that an older Steelyard reads a newer
file of the same schema. All times are in seconds or, where the name says so, in nanoseconds.
"""

# A record is taken from here, whatever module of `nouns` it stands in.
from steelyard.nouns.base import *  # noqa: F403
from steelyard.nouns.case import *  # noqa: F403
from steelyard.nouns.fleet import *  # noqa: F403
from steelyard.nouns.foreign import *  # noqa: F403
from steelyard.nouns.gallery import *  # noqa: F403
from steelyard.nouns.live import *  # noqa: F403
from steelyard.nouns.numbers import *  # noqa: F403
from steelyard.nouns.probe import *  # noqa: F403
from steelyard.nouns.run import *  # noqa: F403
from steelyard.nouns.session import *  # noqa: F403
