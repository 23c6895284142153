// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/http/forwarded.rs`.

use super::*;

fn told<'b>(fields: Fields, headers: &[(&'b str, &'b str)], peer: &str) -> (String, Option<bool>, Option<&'b str>) {
    let networks = crate::options::networks("10.0.0.0/8,::1").unwrap();
    let headers: Vec<Header> = headers.iter().map(|(name, value)| Header { name, value: value.as_bytes() }).collect();
    let origin = Trust { networks, fields }.origin(&headers, Some(peer.parse().unwrap()));
    (origin.address.unwrap().to_string(), origin.is_secure, origin.host)
}

#[test]
fn the_last_address_that_is_no_proxy_is_the_client() {
    for (value, client) in [
        ("192.0.2.1", "192.0.2.1"),
        ("6.6.6.6, 192.0.2.1", "192.0.2.1"),
        ("6.6.6.6, 192.0.2.1, 10.2.2.2", "192.0.2.1"),
        ("10.9.9.9,10.2.2.2", "10.9.9.9"),
        ("192.0.2.1:4711", "192.0.2.1"),
        ("[2001:db8::1]:80", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("6.6.6.6, nonsense", "10.1.1.1"),
        ("6.6.6.6, nonsense, 10.2.2.2", "10.2.2.2"),
        ("6.6.6.6, ", "6.6.6.6"),
        ("", "10.1.1.1"),
        ("1.2.3.4:x", "10.1.1.1"),
        ("[1::]x", "10.1.1.1"),
    ] {
        assert_eq!(told(Fields::XForwarded, &[("X-Forwarded-For", value)], "10.1.1.1").0, client, "{value}");
    }
    // Fields of one name are one list.
    let several = [("X-Forwarded-For", "6.6.6.6"), ("x-forwarded-for", "192.0.2.1"), ("X-FORWARDED-FOR", "10.2.2.2")];
    assert_eq!(told(Fields::XForwarded, &several, "10.1.1.1").0, "192.0.2.1");
}

#[test]
fn scheme_and_host_are_those_of_the_last_proxy() {
    let headers = [
        ("X-Forwarded-Proto", "http, HTTPS"),
        ("X-Forwarded-Host", "evil, shop.example:8443"),
        ("Forwarded", "proto=http"),
    ];
    let expected = ("10.1.1.1".to_owned(), Some(true), Some("shop.example:8443"));
    assert_eq!(told(Fields::XForwarded, &headers, "10.1.1.1"), expected);
    let bad = [("X-Forwarded-Proto", "gopher"), ("X-Forwarded-Host", "a b")];
    assert_eq!(told(Fields::XForwarded, &bad, "10.1.1.1"), ("10.1.1.1".to_owned(), None, None));
}

#[test]
fn nobody_else_is_believed() {
    let headers = [("X-Forwarded-For", "6.6.6.6"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "evil")];
    assert_eq!(told(Fields::XForwarded, &headers, "192.0.2.9"), ("192.0.2.9".to_owned(), None, None));
    assert_eq!(told(Fields::Forwarded, &headers, "10.1.1.1"), ("10.1.1.1".to_owned(), None, None));
}

#[test]
fn forwarded_says_it_proxy_by_proxy() {
    for (value, expected) in [
        ("for=192.0.2.1;proto=https;host=\"shop.example\"", ("192.0.2.1", Some(true), Some("shop.example"))),
        ("for=6.6.6.6;host=evil, For=\"[2001:db8::1]:80\";Proto=http", ("2001:db8::1", Some(false), None)),
        ("for=6.6.6.6, for=192.0.2.1;proto=https, for=10.3.3.3", ("192.0.2.1", Some(true), None)),
        ("for=192.0.2.1;x=\"a,b;c\\\",\"", ("192.0.2.1", None, None)),
        ("for=_hidden;proto=https", ("10.1.1.1", Some(true), None)),
        ("for=unknown, for=10.3.3.3", ("10.3.3.3", None, None)),
        ("nonsense", ("10.1.1.1", None, None)),
    ] {
        let (address, is_secure, host) = told(Fields::Forwarded, &[("Forwarded", value)], "10.1.1.1");
        assert_eq!((address.as_str(), is_secure, host), expected, "{value}");
    }
}
