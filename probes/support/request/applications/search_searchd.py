# SPDX-License-Identifier: Apache-2.0
"""The same page of 15,461 bytes as `search`, its results and excerpts asked of Sphinx's searchd."""

import os

import pymysql
from _kept import asking
from search import TERM, documents, render

STORE = "searchd"
_QUERY = """
SELECT id, title, SNIPPET(text, 'balance', 'before_match=<b>', 'after_match=</b>', 'limit=400', 'around=30')
FROM documents WHERE MATCH('balance') ORDER BY WEIGHT() DESC, id ASC LIMIT 20
"""


def prepare(folder):
    """Write down what is to be indexed."""
    with open(os.path.join(folder, "documents.tsv"), "w") as file:
        for number, (title, text) in enumerate(documents(), start=1):
            file.write(f"{number}\t{title}\t{text}\n")


def _connect():
    # What only a database has is left out: searchd knows no transactions.
    return pymysql.connect(unix_socket=os.environ["STEELYARD_REQUEST_STORE"], charset="utf8", autocommit=None)


def _ask(daemon):
    with daemon.cursor() as cursor:
        cursor.execute(_QUERY)
        return cursor.fetchall()


_hits = asking(_connect, _ask)


def answered():
    """What searchd makes of the page."""
    return render(_hits())


def expected():
    """What every answer must be: as asked here, and only of documents that have the term."""
    found = _hits()
    text_of = dict(enumerate(documents(), start=1))
    if any(TERM not in text_of[number][1].split() for number, _, _ in found):
        raise ValueError("searchd finds documents that have not what is searched for")
    return render(found)


def application(environ, start_response):  # noqa: ARG001 - PEP 3333
    """Answer every request with the results."""
    body = answered()
    start_response("200 OK", [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(body)))])
    return [body]
