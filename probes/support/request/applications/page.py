# SPDX-License-Identifier: Apache-2.0
"""A page of 11,995 bytes, as the study of 2013 had one: twenty rows of a database through a template."""

import os
import random
import sqlite3

import jinja2
from _kept import asking

SIZE = 11_995
_ROWS = 20
QUERY = "SELECT id, title, author, price, stock, summary FROM books ORDER BY id LIMIT 20"
_TEXT = (
    "a balance beam carries the load near its pivot and a small weight far from it so that many things can be "
    "weighed with one instrument in the market under the eyes of both who buy and who sell"
)
_WORDS = _TEXT.split()
_TEMPLATE = jinja2.Environment(autoescape=True).from_string(
    """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{{ title }}</title></head>
<body>
<h1>{{ title }}</h1>
<p>{{ books|length }} of {{ total }} books</p>
<table>
<tr><th>no.</th><th>title</th><th>author</th><th>price</th><th>stock</th><th>what it is about</th></tr>
{% for id, name, author, price, stock, summary in books -%}
<tr class="{{ loop.cycle('odd', 'even') }}">
  <td><a href="/books/{{ id }}">{{ id }}</a></td>
  <td>{{ name|title }}</td>
  <td>{{ author|title }}</td>
  <td>{{ '%.2f' % (price / 100) }}</td>
  <td>{% if stock %}{{ stock }} in stock{% else %}<em>sold out</em>{% endif %}</td>
  <td>{{ summary }}</td>
</tr>
{% endfor -%}
</table>
</body>
</html>
"""
)


def rows(padding):
    """The same books for ever; the last summary takes up what the page lacks to its size."""
    words = random.Random(11_995)  # noqa: S311 - no secret
    made = []
    for number in range(1, _ROWS + 1):
        title, author, summary = (" ".join(words.choices(_WORDS, k=count)) for count in (5, 2, 80))
        made.append([number, title, author, words.randrange(500, 5000), words.randrange(4), summary])
    made[-1][-1] += "x" * padding
    return made


def render(books):
    """The page."""
    return _TEMPLATE.render(title="Books on weighing", total=_ROWS, books=books).encode()


def right_rows():
    """The rows with which the page has its size to the byte."""
    return rows(SIZE - len(render(rows(0))))


def expected():
    """What every answer must be."""
    return render(right_rows())


def prepare(folder):
    """Make the database."""
    with sqlite3.connect(os.path.join(folder, "books.db")) as database:
        database.execute("CREATE TABLE books (id INTEGER PRIMARY KEY, title, author, price, stock, summary)")
        database.executemany("INSERT INTO books VALUES (?, ?, ?, ?, ?, ?)", right_rows())
    database.close()


def _connect():
    path = os.path.join(os.environ["STEELYARD_REQUEST_DATA"], "books.db")
    return sqlite3.connect(path, check_same_thread=False)


_books = asking(_connect, lambda database: database.execute(QUERY).fetchall())


def application(environ, start_response):  # noqa: ARG001 - PEP 3333
    """Answer every request with the page."""
    body = render(_books())
    start_response("200 OK", [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(body)))])
    return [body]
