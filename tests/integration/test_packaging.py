# SPDX-License-Identifier: Apache-2.0
"""What brings Steelyard to others says what pyproject.toml says: image, recipes, citation, completions, notes."""

import fnmatch
import importlib.metadata
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import steelyard
from tests import processes

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION = PROJECT["project"]["version"]
#: What a package without extras brings along: all that the commands need which only read sessions.
BROUGHT = ("report", "sql", "statistics")
#: The packages that are called otherwise than on PyPI.
NAMES = {"conda": {"duckdb": "python-duckdb", "nlohmann-json": "nlohmann_json"}, "nix": {}}


def requirements(*, of_build: bool = False) -> dict[str, str]:
    """Name and versions of each requirement of pyproject.toml."""
    extras = PROJECT["project"]["optional-dependencies"]
    listed = [*PROJECT["project"]["dependencies"], *(one for name in BROUGHT for one in extras.get(name, []))]
    if of_build:
        listed = PROJECT["build-system"]["requires"]
    parted = [re.fullmatch(r"([\w.-]+)(.*)", one) for one in listed]
    return {one[1]: one[2] for one in parted}


def called(names: dict[str, str], system: str) -> dict[str, str]:
    return {NAMES[system].get(name, name): versions for name, versions in names.items()}


def test_every_version_is_that_of_the_project():
    assert steelyard.__version__ == VERSION
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == VERSION
    assert yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())["context"]["version"] == VERSION
    assert f'version = "{VERSION}";' in (ROOT / "packaging/nix/default.nix").read_text()


def test_the_citation_has_what_the_format_demands_and_invents_nobody():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "license"} <= set(found)
    assert found["license"] == PROJECT["project"]["license"]
    assert found["authors"] == [{"name": "Steelyard contributors"}]


def test_the_conda_recipe_requires_what_the_project_requires():
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())

    def listed(part):
        return dict((*one.split(" ", 1), "")[:2] for one in recipe["requirements"][part] if "{{" not in one)

    python = PROJECT["project"]["requires-python"]
    assert listed("run") == {"python": python, **called(requirements(), "conda")}
    assert called(requirements(of_build=True), "conda").items() <= listed("host").items()
    assert listed("build")["cmake"] == PROJECT["tool"]["scikit-build"]["cmake"]["version"]
    assert (ROOT / "packaging/conda" / recipe["source"]["path"] / "pyproject.toml").samefile(ROOT / "pyproject.toml")
    assert (ROOT / recipe["about"]["license_file"]).exists()


def test_the_nix_expression_names_what_the_project_requires():
    text = re.sub(r"#.*", "", (ROOT / "packaging/nix/default.nix").read_text())
    listed = re.search(r"dependencies = with pkgs.python3Packages; \[([^]]*)\]", text)[1].split()
    assert sorted(listed) == sorted(called(requirements(), "nix"))
    assert listed == sorted(listed)
    for pair in ("{}", "[]", "()"):
        assert text.count(pair[0]) == text.count(pair[1])
    assert (ROOT / "packaging/nix" / re.search(r"cleanSource (\S+);", text)[1]).samefile(ROOT)


# --- the image --------------------------------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(" ", 1)) for line in text.splitlines() if line.strip()]


def kept_from_the_daemon(name: str) -> bool:
    """Whether .dockerignore leaves a path out: the last line that matches it decides."""
    out = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!")
        if line and not line.startswith("#") and fnmatch.fnmatch(name, pattern.removeprefix("**/")):
            out = not line.startswith("!")
    return out


def test_the_image_copies_what_there_is_and_all_that_the_build_needs():
    copied = [shlex.split(text) for name, text in instructions() if name == "COPY"]
    sources = [one for words in copied if not words[0].startswith("--from") for one in words[:-1]]
    for source in sources:
        assert (ROOT / source).exists(), source
        assert not kept_from_the_daemon(source), source
    needed = {"pyproject.toml", "CMakeLists.txt", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    needed |= set(re.findall(r"(?:\$\{CMAKE_SOURCE_DIR\}/|[\s(])(\w+)/", (ROOT / "CMakeLists.txt").read_text()))
    assert {name for name in needed if (ROOT / name).exists()} <= set(sources)
    [stage] = [words[0].removeprefix("--from=") for words in copied if words[0].startswith("--from")]
    assert stage in [text.split(" AS ")[1] for name, text in instructions() if name == "FROM" and " AS " in text]


def test_the_image_names_packages_that_debian_has_and_commands_that_there_are():
    listed = {line.split()[0] for line in (ROOT / ".ci/packages").read_text().splitlines()}
    # What comes with a compiler or an interpreter elsewhere.
    listed |= {"ca-certificates", "default-jre-headless", "libc6-dev", "libstdc++6", "python3", "python3-venv"}
    for name, text in instructions():
        if name == "RUN":
            for command in map(shlex.split, text.split("&&")):
                assert command[0] == "/opt/steelyard/bin/pip" or processes.tool(command[0])
                if command[:2] == ["apt-get", "install"]:
                    assert {word for word in command[2:] if not word.startswith("--")} <= listed
    [run] = [text for name, text in instructions() if name == "ENTRYPOINT"]
    assert run == '["steelyard"]'
    assert "steelyard" in PROJECT["project"]["scripts"]


def test_the_image_installs_extras_that_there_are():
    installed = re.search(r"pip install --no-cache-dir '\.\[(\S+)\]'", (ROOT / "Dockerfile").read_text())[1].split(",")
    assert set(installed) - set(BROUGHT) <= set(PROJECT["project"]["optional-dependencies"])
    assert set(BROUGHT) <= set(installed)


# --- installed files --------------------------------------------------------------------------------------------------

SHARE = ROOT / "packaging" / "share"


def test_man_page_and_completions_are_installed_with_the_package():
    installed = {Path(sys.prefix, "share", *file.parts[file.parts.index("share") + 1 :]) for file in _installed()}
    for file in (path for path in SHARE.rglob("*") if path.is_file()):
        place = Path(sys.prefix, "share", file.relative_to(SHARE))
        assert place in installed, f"{place} is not installed: `make build` does it"
        assert place.exists()


def _installed() -> list[Path]:
    files = importlib.metadata.files("steelyard") or []
    return [Path(file) for file in files if "share" in file.parts]


@pytest.mark.parametrize(
    ("shell", "printed", "script"),
    [
        ("bash", "complete -W asked steelyard", ". {file} && complete -p steelyard"),
        ("fish", "complete -c steelyard -a asked", "source {file}; complete -c steelyard"),
        (
            "zsh",
            "_cyclopts_steelyard() {{ print asked $1 }}",
            "fpath=({file.parent} $fpath); autoload -Uz compinit; compinit -D -u; $_comps[steelyard] of zsh",
        ),
    ],
)
def test_a_shell_asks_the_program_that_is_installed(shell, printed, script, tmp_path):
    [file] = [path for path in SHARE.rglob("*steelyard*") if path.is_file() and shell in str(path.relative_to(SHARE))]
    program = tmp_path / "bin" / "steelyard"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$*" = "completion {shell}" ] && echo \'{printed.format()}\'\n')
    program.chmod(0o755)
    done = subprocess.run(
        [processes.tool(shell), "-c", script.format(file=file)],
        env={"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "asked" in done.stdout


# --- release notes ----------------------------------------------------------------------------------------------------


def test_release_notes_are_the_part_of_the_changelog():
    def notes(version):
        command = ["make", "--silent", "notes", f"VERSION={version}"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    done, text = notes("Unreleased"), (ROOT / "CHANGELOG.md").read_text()
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert done.stdout.strip() in text.partition("## Unreleased\n")[2]
    assert "\n## " not in done.stdout
    assert 'CHANGELOG.md has no part "## 9.9.9"' in notes("9.9.9").stderr
