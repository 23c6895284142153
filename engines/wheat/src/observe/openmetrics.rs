// SPDX-License-Identifier: Apache-2.0
//! Counters as OpenMetrics 1.0 text.

use std::fmt::Write;

use crate::observe::counters::{FAMILIES, Snapshot, State};

pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub fn render(snapshot: &Snapshot) -> String {
    let mut out = String::new();
    let totals = snapshot.totals();
    for (family, values) in FAMILIES.iter().zip(&totals.0) {
        let unit = family.unit.map_or(String::new(), |unit| format!("_{unit}"));
        let name = format!("wheat_{}{unit}", family.name);
        head(&mut out, &name, "counter", family.unit, family.help);
        match family.labels {
            None => values.iter().for_each(|value| line(&mut out, &format!("{name}_total"), *value)),
            Some((label, parts)) => {
                for (part, value) in parts.iter().zip(values) {
                    line(&mut out, &format!("{name}_total{{{label}=\"{part}\"}}"), *value);
                }
            }
        }
    }
    let ends = [("died", snapshot.died), ("hung", snapshot.hung)];
    head(&mut out, "wheat_worker_ends", "counter", None, "workers that ended unasked, by how");
    for (how, value) in ends {
        line(&mut out, &format!("wheat_worker_ends_total{{how=\"{how}\"}}"), value);
    }
    let states = [("starting", State::Starting), ("ready", State::Ready), ("finishing", State::Finishing)];
    head(&mut out, "wheat_workers", "gauge", None, "worker processes by state");
    for (name, state) in states {
        let count = snapshot.workers.iter().filter(|worker| worker.state == state).count();
        line(&mut out, &format!("wheat_workers{{state=\"{name}\"}}"), count as u64);
    }
    head(&mut out, "wheat_workers_wanted", "gauge", None, "worker processes that there should be");
    line(&mut out, "wheat_workers_wanted", snapshot.wanted);
    head(&mut out, "wheat_generation", "gauge", None, "which load of the application is wanted, from 1");
    line(&mut out, "wheat_generation", snapshot.generation);
    head(&mut out, "wheat_connections", "gauge", None, "connections that are open");
    line(&mut out, "wheat_connections", snapshot.workers.iter().map(|worker| worker.connections_open).sum());
    head(&mut out, "wheat_requests_in_flight", "gauge", None, "requests that are being answered");
    line(&mut out, "wheat_requests_in_flight", snapshot.workers.iter().map(|worker| worker.in_flight).sum());
    head(&mut out, "wheat_up_seconds", "gauge", Some("seconds"), "how long the master has been running");
    let _ = writeln!(out, "wheat_up_seconds {:.3}", snapshot.up_ns as f64 / 1e9);
    head(&mut out, "wheat", "info", None, "which server this is");
    let (name, addresses) = (escaped(&snapshot.name), escaped(&snapshot.addresses));
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(out, "wheat_info{{name=\"{name}\",addresses=\"{addresses}\",version=\"{version}\"}} 1");
    out.push_str("# EOF\n");
    out
}

fn head(out: &mut String, name: &str, kind: &str, unit: Option<&str>, help: &str) {
    let _ = writeln!(out, "# TYPE {name} {kind}");
    if let Some(unit) = unit {
        let _ = writeln!(out, "# UNIT {name} {unit}");
    }
    let _ = writeln!(out, "# HELP {name} {help}");
}

fn line(out: &mut String, name: &str, value: u64) {
    let _ = writeln!(out, "{name} {value}");
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
