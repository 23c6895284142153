# SPDX-License-Identifier: Apache-2.0
import pytest

from steelyard.judge import forms
from tests.publishing import ENVIRONMENT, FACTS

KNOWN = {
    "cpu": [
        "AMD EPYC",
        "AMD EPYC 9B14",
        "AMD Ryzen 9 5950X 16-Core Processor",
        "AMD Ryzen 7 PRO 7840U w/ Radeon 780M Graphics",
        "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
        "Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz",
        "Intel Xeon Processor (Skylake, IBRS)",
        "13th Gen Intel(R) Core(TM) i7-1360P",
        "QEMU Virtual CPU version 2.5+",
        "Neoverse-N1",
        "0xd0c",
    ],
    "kernel": ["6.1.0-13-cloud-amd64", "5.15.0-1031-aws", "6.6.87.2-microsoft-standard-WSL2", "5.14.0-427.el9.x86_64"],
    "libc": ["glibc 2.36", "musl 1.2.4"],
    "mitigations": [
        "spec_rstack_overflow: Vulnerable: Safe RET, no microcode; spec_store_bypass: Vulnerable; spectre_v1: "
        "Mitigation: usercopy/swapgs barriers and __user pointer sanitization; spectre_v2: Mitigation: Retpolines; "
        "STIBP: disabled; RSB filling; PBRSB-eIBRS: Not affected; BHI: Not affected"
    ],
    "instance type": ["m7i.large", "c7g.metal", "m5.24xlarge"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in KNOWN.items() for text in texts])
def test_what_machines_say_of_themselves_is_published_in_full(name, text):
    assert forms.fact(name, text) == text


@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        ("cpu", "AMD EPYC of alice", "AMD EPYC …"),
        ("cpu", "alice's own AMD", "… AMD"),
        ("cpu", "alice", ""),
        ("kernel", "6.1.0-13-alice-amd64", "6.1.0-13"),
        ("kernel", "6.18.44-fc-v509", "6.18.44"),
        ("kernel", "6.1.0-13amd64", "6.1.0"),
        ("kernel", "alice", ""),
        ("libc", "glibc 2.36 of alice", ""),
        ("memory", "8 GiB\n", ""),
        ("governor", "alice", ""),
        ("kernel version", "#1 SMP", ""),
        ("boot id", "b0a37259-2547-48e9-b096-e074143b227a", ""),
        ("compiler", "GNU 12.2.0", ""),
    ],
)
def test_of_other_texts_only_what_has_a_form_is_published(name, text, kept):
    assert forms.fact(name, text) == kept


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc-compatible 12.2.0", "-O2 -g -Wall -Wextra -Wshadow -Wvla"),
        ("GNU 12.2.0", "-std=c++20 -O2 -g -Wall -Wextra -Wshadow -Wno-missing-field-initializers"),
        ("CPython 3.11.7", "greenlet 3.5.6"),
        ("CPython 3.13.1 without the global interpreter lock", ""),
        ("rustc 1.95.0 (59807616e 2026-04-14)", "opt-level=3 debug=1, tokio 1.51.6"),
        ("OpenJDK 64-Bit Server VM 25.0.3+9-LTS", "-XX:+UseSerialGC -Xms256m -Xmn64m -XX:-UsePerfData"),
        ("go1.26.8", "-trimpath GOMAXPROCS=1"),
        ("Node v20.20.2, V8 11.3.244.8-node.38", "--expose-gc"),
        ("CPython 3.11.7", "gunicorn (gthread) 27.0.1, generator wrk 4.1.0"),
    ],
)
def test_what_our_probes_are_built_with_is_published_in_full(compiler, flags):
    assert (forms.compiler(compiler), forms.flags(flags)) == (compiler, flags)


def test_a_flag_that_somebody_made_up_is_an_ellipsis():
    assert forms.flags("-O2 -DOWNER=alice -I/home/alice -g") == "-O2 … -g"
    assert forms.flags("-I/home/alice") == ""
    assert forms.compiler("gcc /opt/alice/12.2.0") == "gcc …"


def test_what_passed_passes_again():
    texts = [("cpu", "alice's AMD … EPYC"), ("kernel", "6.1.0-x"), *ENVIRONMENT.items(), *FACTS.items()]
    for name, text in texts:
        once = forms.fact(name, text)
        assert forms.fact(name, once) == once
    assert forms.flags(forms.flags("a -O2 b c -g")) == "… -O2 … -g"


def test_facts_that_are_not_named_are_left_out():
    assert forms.facts({**FACTS, **ENVIRONMENT, "user": "yes"}) == {
        name: text for name, text in {**FACTS, **ENVIRONMENT}.items() if name not in ("kernel version", "boot id")
    }
