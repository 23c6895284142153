# SPDX-License-Identifier: Apache-2.0
"""A page of 15,461 bytes with the results of a search, as the study of 2013 had one: of SQLite's full-text index."""

import os
import random
import sqlite3

import jinja2
from _kept import asking

SIZE = 15_461
_DOCUMENTS = 2000
_HITS = 20
TERM = "balance"
_QUERY = """
SELECT rowid, title, snippet(documents, 1, '<b>', '</b>', ' ... ', 64) FROM documents
WHERE documents MATCH ? ORDER BY bm25(documents), rowid LIMIT 20
"""
_TEXT = (
    "beam load pivot weight thing instrument market eye buyer seller scale gram ounce hook chain brass iron wood "
    "mark arm length lever force rest swing level zero doubt error trust trade silk grain gold tea salt spice "
    "boat harbour street morning evening hand rule law price coin book count sum half third whole part measure "
    "order line"
)
_WORDS = _TEXT.split()
_TEMPLATE = jinja2.Environment(autoescape=True).from_string(
    """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{{ term }}: results</title></head>
<body>
<form action="/"><input name="q" value="{{ term }}"><button>search</button></form>
<p>{{ hits|length }} results for <b>{{ term }}</b></p>
<ol>
{% for id, title, excerpt in hits -%}
<li>
  <a href="/documents/{{ id }}">{{ title|title }}</a>
  <p>{{ excerpt|safe }}</p>
  <cite>/documents/{{ id }}</cite>
</li>
{% endfor -%}
</ol>
</body>
</html>
"""
)


def documents():
    """The same documents for ever, of which every fifth has the term, some more than once."""
    words = random.Random(15_461)  # noqa: S311 - no secret
    for number in range(_DOCUMENTS):
        text = words.choices(_WORDS, k=120)
        for _ in range(words.randrange(1, 4) if number % 5 == 0 else 0):
            text[words.randrange(len(text))] = TERM
        yield " ".join(words.choices(_WORDS, k=4)), " ".join(text)


def prepare(folder):
    """Make the index."""
    with sqlite3.connect(os.path.join(folder, "documents.db")) as database:
        database.execute("CREATE VIRTUAL TABLE documents USING fts5(title, text)")
        database.executemany("INSERT INTO documents VALUES (?, ?)", documents())
    database.close()


def _connect():
    path = os.path.join(os.environ["STEELYARD_REQUEST_DATA"], "documents.db")
    return sqlite3.connect(path, check_same_thread=False)


_hits = asking(_connect, lambda database: database.execute(_QUERY, (TERM,)).fetchall())


def render(found):
    """The page, filled up with blanks to its size."""
    page = _TEMPLATE.render(term=TERM, hits=found).encode()
    if len(found) != _HITS or len(page) > SIZE:
        raise ValueError(f"{len(found)} results on {len(page)} bytes")
    return page.ljust(SIZE)


def expected():
    """What every answer must be; asks the index that `prepare` has made."""
    return render(_hits())


def application(environ, start_response):  # noqa: ARG001 - PEP 3333
    """Answer every request with the results."""
    body = expected()
    start_response("200 OK", [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(body)))])
    return [body]
