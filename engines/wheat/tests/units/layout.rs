// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/layout.rs`.

use super::*;

#[test]
fn a_format_is_text_and_fields() {
    let layout = Layout::parse("a %(h)s%(s)s 100%% %({X-A}i)s %({B}o)s %({c.d}e)s").unwrap();
    let text = |text: &str| Piece::Text(text.into());
    let field = Piece::Field;
    assert_eq!(
        layout.pieces,
        [
            text("a "),
            field(Field::Peer),
            field(Field::Status),
            text(" 100% "),
            field(Field::Named(0)),
            text(" "),
            field(Field::Named(1)),
            text(" "),
            field(Field::Named(2)),
        ]
    );
    let names = [(Of::RequestHeader, "X-A"), (Of::ResponseHeader, "B"), (Of::Environ, "c.d")];
    assert_eq!(layout.names, names.map(|(of, name)| (of, name.to_owned())));
    assert_eq!(Layout::combined().pieces.len(), 18);
}

#[test]
fn mistakes_are_said() {
    for (format, why) in [
        ("%(z)s", "there is no field z"),
        ("%h", "not of %h"),
        ("%(h)d", "not of %(h)d"),
        ("%", "not of %"),
        ("%({A}x)s", "no field {A}x"),
        ("a\nb", "one line"),
        ("", "one line"),
    ] {
        let error = Layout::parse(format).expect_err(format);
        assert!(error.contains(why) && error.contains("{Header}i"), "{format}: {error}");
    }
}
