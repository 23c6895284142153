# SPDX-License-Identifier: Apache-2.0
"""Applications of Flask, Django, Falcon, Bottle and Pyramid, as installed: forms, JSON, uploads, streams, cookies and
errors. All five answer the same requests with the same bodies, so that one test asks them all."""

import http.client
import importlib.util
import json
from pathlib import Path

import pytest
from running import missing, serving

FLASK = """
from flask import Flask, Response, jsonify, request

application = Flask(__name__)

@application.get("/hello")
def hello():
    return f"hello {request.args['name']}"

@application.post("/form")
def form():
    return jsonify(request.form.to_dict())

@application.post("/json")
def take_json():
    return jsonify(request.get_json())

@application.post("/upload")
def upload():
    file = request.files["file"]
    return jsonify(name=file.filename, length=len(file.read()))

@application.get("/stream")
def stream():
    return Response((f"line {n}\\n" for n in range(1000)), mimetype="text/plain")

@application.get("/cookie")
def cookie():
    response = Response(request.cookies.get("seen", "never"))
    response.set_cookie("seen", "before")
    return response

@application.get("/fails")
def fails():
    raise RuntimeError("on purpose")
"""

DJANGO = """
import json
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path

def hello(request):
    return HttpResponse(f"hello {request.GET['name']}")

def form(request):
    return JsonResponse(request.POST.dict())

def take_json(request):
    return JsonResponse(json.loads(request.body))

def upload(request):
    file = request.FILES["file"]
    return JsonResponse({"name": file.name, "length": len(file.read())})

def stream(request):
    return StreamingHttpResponse((f"line {n}\\n" for n in range(1000)), content_type="text/plain")

def cookie(request):
    response = HttpResponse(request.COOKIES.get("seen", "never"))
    response.set_cookie("seen", "before")
    return response

def fails(request):
    raise RuntimeError("on purpose")

def one(request):
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return HttpResponse(str(cursor.fetchone()[0]))

def rows(request):  # from the database, whose connection is kept in the thread
    def lines():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999) "
                           "SELECT i, hex(zeroblob(5000)) FROM n")
            for number, zeros in cursor:
                yield f"{number} {zeros}\\n"
    return StreamingHttpResponse(lines(), content_type="text/plain")

urlpatterns = [path("one", one), path("rows", rows), path("hello", hello),
               path("form", form), path("json", take_json), path("upload", upload),
               path("stream", stream), path("cookie", cookie), path("fails", fails)]
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1"], SECRET_KEY="of a test",
                   DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}})
application = get_wsgi_application()
"""

FALCON = """
import falcon

class Hello:
    def on_get(self, request, response):
        response.text = f"hello {request.get_param('name')}"

class Form:
    def on_post(self, request, response):
        response.media = request.get_media()

class Upload:
    def on_post(self, request, response):
        for part in request.get_media():
            response.media = {"name": part.filename, "length": len(part.stream.read())}

class Stream:
    def on_get(self, request, response):
        response.content_type = "text/plain"
        response.stream = (f"line {n}\\n".encode() for n in range(1000))

class Cookie:
    def on_get(self, request, response):
        response.text = request.cookies.get("seen", "never")
        response.set_cookie("seen", "before", secure=False)

class Fails:
    def on_get(self, request, response):
        raise RuntimeError("on purpose")

application = falcon.App()
for name, resource in {"hello": Hello(), "form": Form(), "json": Form(), "upload": Upload(), "stream": Stream(),
                       "cookie": Cookie(), "fails": Fails()}.items():
    application.add_route(f"/{name}", resource)
"""

BOTTLE = """
from bottle import Bottle, request, response

application = Bottle()

@application.get("/hello")
def hello():
    return f"hello {request.query.name}"

@application.post("/form")
def form():
    return {name: request.forms.getunicode(name) for name in request.forms}

@application.post("/json")
def take_json():
    return request.json

@application.post("/upload")
def upload():
    file = request.files["file"]
    return {"name": file.filename, "length": len(file.file.read())}

@application.get("/stream")
def stream():
    response.content_type = "text/plain"
    return (f"line {n}\\n" for n in range(1000))

@application.get("/cookie")
def cookie():
    response.set_cookie("seen", "before")
    return request.get_cookie("seen", "never")

@application.get("/fails")
def fails():
    raise RuntimeError("on purpose")
"""

PYRAMID = """
from pyramid.config import Configurator
from pyramid.response import Response

def hello(request):
    return Response(f"hello {request.GET.get('name')}")

def form(request):
    return dict(request.POST)

def take_json(request):
    return request.json_body

def upload(request):
    file = request.POST["file"]
    return {"name": file.filename, "length": len(file.file.read())}

def stream(request):
    return Response(app_iter=(f"line {n}\\n".encode() for n in range(1000)), content_type="text/plain")

def cookie(request):
    response = Response(request.cookies.get("seen", "never"))
    response.set_cookie("seen", "before")
    return response

def fails(request):
    raise RuntimeError("on purpose")

with Configurator() as config:
    for view in (hello, form, take_json, upload, stream, cookie, fails):
        name = view.__name__.removeprefix("take_")
        config.add_route(name, "/" + name)
        config.add_view(view, route_name=name, renderer="json")
    application = config.make_wsgi_app()
"""

APPLICATIONS = {"flask": FLASK, "django": DJANGO, "falcon": FALCON, "bottle": BOTTLE, "pyramid": PYRAMID}
UPLOAD = b"x" * 700_000  # longer than what is kept in memory


def multipart(content: bytes) -> tuple[bytes, str]:
    head = b'--cut\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n'
    head += b"Content-Type: application/octet-stream\r\n\r\n"
    return head + content + b"\r\n--cut--\r\n", "multipart/form-data; boundary=cut"


def in_chunks(body: bytes) -> list[bytes]:
    return [body[at : at + 100_000] for at in range(0, len(body), 100_000)]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("framework", APPLICATIONS)
def test_it_serves_what_is_written_for(framework: str, threads: int, tmp_path: Path):
    if importlib.util.find_spec(framework) is None:
        missing(f"{framework} is not installed")
    (tmp_path / "app.py").write_text(APPLICATIONS[framework])
    with serving("app", "--threads", threads, folder=tmp_path) as server:
        connection = server.connect()

        def ask(method: str, path: str, body=None, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
            """All on one connection: what follows also shows that what came before ended where it should."""
            chunked = isinstance(body, list)
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, names, encode_chunked=chunked)
            response = connection.getresponse()
            return response, response.read()

        response, body = ask("GET", "/hello?name=w%C3%B6rld")
        assert (response.status, body) == (200, "hello wörld".encode())
        response, body = ask("HEAD", "/hello?name=x")
        assert body == b""
        form = {"Content_Type": "application/x-www-form-urlencoded"}
        response, body = ask("POST", "/form", "a=1&b=%C3%BC+2", **form)
        assert json.loads(body) == {"a": "1", "b": "ü 2"}
        response, body = ask("POST", "/json", json.dumps({"deep": [1, None, "ü"]}), Content_Type="application/json")
        assert json.loads(body) == {"deep": [1, None, "ü"]}
        content, kind = multipart(UPLOAD)
        response, body = ask("POST", "/upload", content, Content_Type=kind)
        assert json.loads(body) == {"name": "a.bin", "length": len(UPLOAD)}
        if framework != "bottle":  # which reads no body without a Content-Length of its own
            response, body = ask(
                "POST",
                "/json",
                in_chunks(b'{"a":"' + b"y" * 300_000 + b'"}'),
                Content_Type="application/json",
                Transfer_Encoding="chunked",
            )
            assert json.loads(body) == {"a": "y" * 300_000}
        response, body = ask("GET", "/stream")
        assert body.decode().splitlines() == [f"line {n}" for n in range(1000)]
        response, body = ask("GET", "/cookie")
        assert body == b"never"
        cookie = response.getheader("Set-Cookie")
        assert cookie
        response, body = ask("GET", "/cookie", Cookie=cookie.split(";")[0])
        assert body == b"before"
        response, body = ask("GET", "/fails")
        assert response.status == 500
        response, body = ask("GET", "/none")
        assert response.status == 404
        response, body = ask("GET", "/hello?name=last")
        assert body == b"hello last"
        connection.close()


@pytest.mark.parametrize("threads", [1, 4])
def test_django_streams_from_its_database_to_slow_clients(threads: int, tmp_path: Path):
    if importlib.util.find_spec("django") is None:
        missing("django is not installed")
    (tmp_path / "app.py").write_text(DJANGO)
    with serving("app", "--threads", threads, folder=tmp_path) as server:
        slow = server.connect()
        slow.request("GET", "/rows")
        response = slow.getresponse()
        assert response.status == 200
        for _ in range(3):
            assert server.get("/one") == (200, b"1")
        lines = response.read().splitlines()
        assert [len(lines), lines[-1]] == [2000, b"1999 " + b"0" * 10_000]
        slow.close()
        assert not server.heard("Traceback")
