// SPDX-License-Identifier: Apache-2.0
//! Pages in the place of the server's own words (`--error-page`), read once.

use std::ops::RangeInclusive;

use super::manner::media_type;
use crate::error::Error;
use crate::http::response::Page;
use crate::options::ErrorPage;

/// The pages by their statuses: those of one status before those of a class.
#[derive(Debug, Default)]
pub struct Pages(Vec<(RangeInclusive<u16>, Page)>);

impl Pages {
    pub fn load(wanted: &[ErrorPage]) -> Result<Self, Error> {
        let load = |page: &ErrorPage| {
            let path = page.path.display();
            let body = std::fs::read(&page.path)
                .map_err(|error| Error::config(format!("--error-page {path}: it can't be read: {error}")))?;
            let media_type = media_type(&path.to_string());
            let lines = format!("Content-Type: {media_type}\r\nContent-Length: {}\r\n", body.len());
            Ok((page.statuses.clone(), Page { lines, body: body.into() }))
        };
        let mut pages = wanted.iter().map(load).collect::<Result<Vec<_>, Error>>()?;
        pages.sort_by_key(|(statuses, _)| statuses.end() - statuses.start());
        Ok(Self(pages))
    }

    pub fn of(&self, status: u16) -> Option<&Page> {
        self.0.iter().find(|(statuses, _)| statuses.contains(&status)).map(|(_, page)| page)
    }
}
