// SPDX-License-Identifier: Apache-2.0
//! The format of a line of the access log: text and fields, named as gunicorn names them. Pure.

/// What a field is of, where it is asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    RequestHeader,
    ResponseHeader,
    /// A variable of the environ, as the application leaves it.
    Environ,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Peer,
    /// `-`: nobody asks a client's machine for the user any more.
    Identity,
    User,
    Time,
    RequestLine,
    Method,
    Path,
    Query,
    Protocol,
    Status,
    Bytes,
    Referer,
    UserAgent,
    Seconds,
    Milliseconds,
    Microseconds,
    DecimalSeconds,
    Process,
    /// An index into `Layout::names`.
    Named(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Field(Field),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub pieces: Vec<Piece>,
    pub names: Vec<(Of, String)>,
}

const LETTERS: [(&str, Field); 19] = [
    ("h", Field::Peer),
    ("l", Field::Identity),
    ("u", Field::User),
    ("t", Field::Time),
    ("r", Field::RequestLine),
    ("m", Field::Method),
    ("U", Field::Path),
    ("q", Field::Query),
    ("H", Field::Protocol),
    ("s", Field::Status),
    ("B", Field::Bytes),
    ("b", Field::Bytes),
    ("f", Field::Referer),
    ("a", Field::UserAgent),
    ("T", Field::Seconds),
    ("M", Field::Milliseconds),
    ("D", Field::Microseconds),
    ("L", Field::DecimalSeconds),
    ("p", Field::Process),
];

impl Layout {
    /// What `--access-log combined` writes.
    pub fn combined() -> Self {
        Self::parse(r#"%(h)s %(l)s %(u)s %(t)s "%(r)s" %(s)s %(b)s "%(f)s" "%(a)s""#).expect("a format")
    }

    /// Text with `%(NAME)s` for a field and `%%` for a percent sign.
    pub fn parse(format: &str) -> Result<Self, String> {
        if format.is_empty() || format.contains(char::is_control) {
            return Err(wanted("it is one line".into()));
        }
        let mut layout = Self::default();
        let mut text = String::new();
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            text += &rest[..at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('%') {
                text.push('%');
                rest = after;
                continue;
            }
            let field = rest.strip_prefix('(').and_then(|rest| rest.split_once(")s"));
            let (name, after) =
                field.ok_or_else(|| wanted(format!("a % is part of %(NAME)s or %%, not of %{rest}")))?;
            let field = layout.named(name).ok_or_else(|| wanted(format!("there is no field {name}")))?;
            if !text.is_empty() {
                layout.pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            layout.pieces.push(Piece::Field(field));
            rest = after;
        }
        text += rest;
        if !text.is_empty() {
            layout.pieces.push(Piece::Text(text));
        }
        Ok(layout)
    }

    fn named(&mut self, name: &str) -> Option<Field> {
        if let Some((_, field)) = LETTERS.iter().find(|(letter, _)| *letter == name) {
            return Some(*field);
        }
        let (name, kind) = name.strip_prefix('{')?.split_once('}')?;
        let of = match kind {
            "i" => Of::RequestHeader,
            "o" => Of::ResponseHeader,
            "e" => Of::Environ,
            _ => return None,
        };
        self.names.push((of, name.into()));
        Some(Field::Named(self.names.len() - 1))
    }
}

fn wanted(why: String) -> String {
    let letters: Vec<&str> = LETTERS.iter().map(|(letter, _)| *letter).collect();
    format!(
        "a format such as '%(h)s \"%(r)s\" %(s)s', with the fields {}, {{Header}}i, {{Header}}o and {{VARIABLE}}e ({why})",
        letters.join(" ")
    )
}

#[cfg(test)]
#[path = "../tests/units/layout.rs"]
mod tests;
