# SPDX-License-Identifier: Apache-2.0
from steelyard.records import Disturbance
from steelyard.show import machine
from tests.making import a_machine
from tests.reporting import printed


def test_the_machine_is_shown_with_what_to_do():
    noise = Disturbance(what="noise", advice="close the window", severity="warning")
    text = printed(machine.show, a_machine(), [noise], [])
    assert "0123456789ab" in text
    assert "warning: noise; close the window" in text
