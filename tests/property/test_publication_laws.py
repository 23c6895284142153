# SPDX-License-Identifier: Apache-2.0
"""Whatever private text stands in a session, and wherever: nothing of it is published."""

import itertools
from functools import cache

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from steelyard.errors import PublishError
from steelyard.judge.publication import prepare
from steelyard.keep import publication as kept
from steelyard.records import Audit, Disturbance, Histogram, Placed, Session, Skip, Variant
from tests.publishing import a_session, known

#: A user, a host, a path, an address, a variable of the environment, the name of a process, an address of a machine.
SECRETS = (
    "alice",
    "build7.corp.example",
    "/home/alice/work",
    "alice@example.org",
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI",
    "sshd: alice [priv]",
    "10.20.30.40",
    "ALICE",
)
HOW = (
    lambda text, secret: secret,
    lambda text, secret: text + secret,
    lambda text, secret: f"{text} {secret}",
    lambda text, secret: f"{secret} {text}",
    lambda text, secret: f"{text}-{secret}",
    lambda text, secret: f"{text}, {secret}: {text}",
    lambda text, secret: f"{text}\n{secret}",
)
#: Fields whose texts a session may not choose, and the moment of its begin, which has to be one.
FIXED = {"type", "role", "status", "placement", "placements", "better", "statistic", "severity", "moment", "started"}
#: Maps whose keys are texts of a session. Those of `probes` are names of probes.
KEYED = {
    "facts",
    "environment",
    "versions",
    "parameters",
    "counts",
    "readings",
    "properties",
    "caveat_metrics",
    "loops",
}


@cache
def a_talkative_session() -> Session:
    """A session that has a text in every field that may have one."""
    session = a_session()
    header = msgspec.structs.replace(
        session.header,
        variants=(Variant(label="a", environment={"PATH": "/bin"}, probes="/probes", python="/bin/python"),),
        placed=Placed(plan="plan", token="node.1", node="node", backend="slurm", job="1"),
    )
    late = Histogram(name="late", unit="s", scale=1e-9, buckets=((1000, 7),))
    said = {"caveats": ("a doubt",), "faults": ("a fault",), "disturbed": ("somebody",), "leftovers": ("a file",)}
    runs = tuple(
        msgspec.structs.replace(run, **said, histograms=(late,), error="none", timed="main") for run in session.runs
    )
    noise = Disturbance(what="a process", advice="end it", severity="note")
    return msgspec.structs.replace(
        session,
        header=header,
        runs=runs,
        skips=(Skip(subject="call/absent", reason="no such thing"),),
        audits=(Audit(moment="before", disturbances=(noise,)),),
    )


@cache
def ours() -> dict:
    return known(a_session())


@cache
def built_in() -> dict:
    return msgspec.to_builtins(a_talkative_session())


@cache
def fields() -> tuple[str, ...]:
    """The names of all fields that hold texts, in order."""
    found: set[str] = set()

    def look(node, within):
        match node:
            case dict():
                found.update(["probe"] if within == "probes" else [within] if within in KEYED else [])
                for name, value in node.items():
                    look(value, name)
            case list() | tuple():
                for item in node:
                    look(item, within if isinstance(item, str) else "")
            case str() if within not in FIXED:
                found.add(within)

    look(built_in(), "")
    return tuple(sorted(found))


def planted(secret: str, how, where: frozenset[str], *, keys: bool) -> Session | None:
    """The session with the secret in all fields of these names; None if it is none any more.

    ``keys``: also in the keys of maps, where a fact is not found any more under its own name.
    """

    def changed(node, within):
        match node:
            case dict():
                keyed = (keys and within in KEYED & where) or (within == "probes" and "probe" in where)
                return {
                    how(name, secret) if keyed else name: changed(value, within if within in KEYED else name)
                    for name, value in node.items()
                }
            case list() | tuple():
                return [changed(item, within if isinstance(item, str) else "") for item in node]
            case str() if within in where and within not in FIXED:
                return how(node, secret)
            case _:
                return node

    try:
        return msgspec.convert(changed(built_in(), ""), Session)
    except msgspec.ValidationError:  # a text that has to be one of a few
        return None


def published(session: Session | None) -> str:
    """What is published of it; nothing where it is refused."""
    if session is None:
        return ""
    try:
        return prepare(session, ours()).publication.text
    except (PublishError, KeyError):  # KeyError: a plan of probes that its header does not have, which no reader passes
        return ""


#: Fields without which a session has no cases, or is none.
NAMES = frozenset(
    {"probe", "case", "name", "over", "per", "unit", "baseline", "parameters", "sha256", "reason", "counts"}
)


def assert_nothing_is_told(text: str, secret: str) -> None:
    told = text.casefold().replace("\\n", "\n")
    assert secret.casefold() not in told
    assert not any(word in told for word in ("alice", "corp", "akey", "wjalr", "priv"))
    if text:
        assert kept.decode(text.encode(), "a file").text == text


@settings(max_examples=30)
@given(
    st.sampled_from(SECRETS),
    st.sampled_from(HOW),
    st.sets(st.sampled_from(fields()), min_size=1).map(frozenset),
    st.booleans(),
)
@example("alice", HOW[1], frozenset(fields()), True)
def test_a_secret_in_any_fields_is_not_published(secret, how, where, keys):
    assert_nothing_is_told(published(planted(secret, how, where, keys=keys)), secret)


@pytest.mark.parametrize("secret", SECRETS)
def test_with_secrets_in_all_other_fields_the_figures_are_published(secret):
    for how, keys in itertools.product(HOW, (False, True)):
        text = published(planted(secret, how, frozenset(fields()) - NAMES, keys=keys))
        assert_nothing_is_told(text, secret)
        assert '"call/direct@same"' in text


def test_secrets_are_planted_in_every_kind_of_field():
    wanted = {
        *("facts", "environment", "command", "path", "id", "key", "node", "caveats", "leftovers", "disturbed", "error"),
        *(
            "what",
            "advice",
            "compiler",
            "flags",
            "title",
            "operation",
            "question",
            "source",
            "sha256",
            "label",
            "python",
        ),
        *("subject", "reason", "probe", "case", "name", "parameters", "versions"),
    }
    assert wanted <= set(fields())
