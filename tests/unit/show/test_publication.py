# SPDX-License-Identifier: Apache-2.0
import json

from steelyard.show import publication
from tests.publishing import a_session, prepared
from tests.reporting import printed


def test_every_field_of_the_file_is_shown_before_it_is_written():
    found = prepared(a_session(), instance="m7a.large", usd_an_hour=0.1)
    text = " ".join(printed(publication.show, found).split())
    of = json.loads(found.publication.text)
    for value in (of["date"], of["digest"], of["instance"], "0.1", *of["facts"].values()):
        assert value in text
    for probe in of["probes"]:
        assert probe["probe"] in text
    for control in of["controls"]:
        assert f"{control['name']} {control['state']}" in text
    assert "gcc-compatible 12.2.0 -O2 -g -Wall" in text


def test_what_is_left_out_is_said():
    found = prepared(a_session())
    always, facts = publication.left_out(found)
    assert "paths" in always
    assert "kernel version, boot id" in facts


def test_a_summary_counts():
    of = prepared(a_session()).publication
    assert publication.summary(of) == f"4 cases of 4 mechanisms, {len(of.text)} bytes"
