# SPDX-License-Identifier: Apache-2.0
"""The same page of 11,995 bytes as `page`, its rows asked of PostgreSQL.

The table is a temporary one of each connection: so nothing is left in a database that is not ours, whoever is killed.
"""

import os

import psycopg
from _kept import asking
from page import QUERY, render, right_rows

STORE = "postgresql"
_TABLE = """
CREATE TEMPORARY TABLE books (
    id integer PRIMARY KEY, title text, author text, price integer, stock integer, summary text
)
"""


def prepare(folder):
    """Each connection brings its table."""


def _connect():
    database = psycopg.connect(os.environ["STEELYARD_REQUEST_STORE"], autocommit=True)
    database.execute(_TABLE)
    with database.cursor() as cursor:
        cursor.executemany("INSERT INTO books VALUES (%s, %s, %s, %s, %s, %s)", right_rows())
    database.execute("ANALYZE books")
    return database


_books = asking(_connect, lambda database: database.execute(QUERY).fetchall())


def answered():
    """What PostgreSQL makes of the page."""
    return render(_books())


def expected():
    """What every answer must be; from the rows themselves."""
    return render(right_rows())


def application(environ, start_response):  # noqa: ARG001 - PEP 3333
    """Answer every request with the page."""
    body = answered()
    start_response("200 OK", [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(body)))])
    return [body]
