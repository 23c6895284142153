# SPDX-License-Identifier: Apache-2.0
"""What a person types and reads."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from running import run

FOLDER = Path(__file__).parents[1]
README = (FOLDER / "README.md").read_text()


def test_versions_agree(tmp_path):
    of_the_crate = tomllib.loads((FOLDER / "Cargo.toml").read_text())["package"]["version"]
    of_the_wheel = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]["version"]
    assert run("--version", folder=tmp_path).stdout == f"wheat {of_the_crate}\n"
    assert of_the_wheel == of_the_crate


def test_the_readme_has_the_help_as_it_is(tmp_path):
    assert run("--help", folder=tmp_path).stdout in README


def test_every_option_of_the_readme_exists(tmp_path):
    known = run("--help", folder=tmp_path).stdout + run("stat", "--help", folder=tmp_path).stdout
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README))
    assert {option for option in named if option not in known} == set()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 64, "nothing to serve"),
        (["app:application", "--wokers", "2"], 64, "did you mean --workers?"),
        (["app", "--bind", "here"], 64, "HOST:PORT"),
        (["--static", "/=none"], 78, "it does not exist"),
        (["--static", "/=/etc/hostname"], 78, "it is not a folder"),
        (["--static", "/=.", "--tls-certificate", "none", "--tls-key", "none"], 78, "it does not exist"),
        (["--static", "/=.", "--bind", "name.invalid:80"], 69, "the name is not known here"),
        (["--static", "/=.", "--bind", "unix:/none/a.sock"], 69, "its folder does not exist"),
        (["--static", "/=.", "--bind", "192.0.2.1:0"], 69, "this machine has no such address"),
        (["--static", "/=.", "--bind", "127.0.0.1:0", "--pid-file", "/none/pid"], 69, "it does not exist"),
        (["app", "--chdir", "none"], 78, "it is not a folder"),
        (["--static", "/a=.", "--static", "/a/=."], 64, "given twice"),
        (["--static", "/a/../b=."], 64, "without . and .."),
        (["app", "--name", ""], 64, "--name is a name"),
        (["app", "--limit-headers", "257"], 64, "from 1 to 256"),
        (["app", "-b", "127.0.0.1:1", "--bind", "127.0.0.1:1"], 64, "--bind 127.0.0.1:1 is given twice"),
        (["stat", "no such server"], 69, 'no server "no such server" is running'),
        (["stat", "a", "b"], 64, "wheat stat --help"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, arguments, code, words):
    done = run(*arguments, folder=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert re.fullmatch(r"wheat: .*\n", done.stderr), done.stderr
    assert words in done.stderr


def test_a_good_configuration_is_said_to_be_good(tmp_path):
    (tmp_path / "app.py").write_text("def make():\n    return lambda environ, start_response: []\n")
    done = run("app:make()", "--check", "--workers", "4", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "wheat: the configuration is good\n")


@pytest.mark.parametrize(
    "definition",
    [
        "async def app(scope, receive, send): ...",
        """
class App:
    async def __call__(self, scope, receive, send): ...
app = App()
""",
    ],
)
def test_an_asgi_application_is_refused(tmp_path, definition):
    (tmp_path / "app.py").write_text(definition)
    done = run("app:app", "--check", folder=tmp_path)
    assert done.returncode == 78
    assert "app:app is an ASGI application" in done.stderr


def test_the_package_runs_as_a_module(tmp_path):
    done = subprocess.run([sys.executable, "-m", "wheat", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, run("--version", folder=tmp_path).stdout)
