// SPDX-License-Identifier: Apache-2.0
//! `--user` and `--group`: whom workers run as. The master, which is root then, reads no request.

use std::ffi::{CStr, CString};
use std::io;

use crate::config::Config;
use crate::error::Error;

#[derive(Debug, PartialEq, Eq)]
pub struct Identity {
    user: Option<libc::uid_t>,
    group: libc::gid_t,
    /// All groups, the one above included.
    groups: Vec<libc::gid_t>,
    /// Name and home folder, where the user has them.
    pub account: Option<(CString, CString)>,
}

impl Identity {
    /// None: workers run as who starts the master.
    pub fn of(config: &Config) -> Result<Option<Self>, Error> {
        let (user, group) = (config.user.as_deref(), config.group.as_deref());
        if user.is_none() && group.is_none() {
            return Ok(None);
        }
        let option = if user.is_some() { "--user" } else { "--group" };
        if !rustix::process::geteuid().is_root() {
            let text = format!("{option}: only root can have workers run as somebody else: start wheat as root");
            return Err(Error::unavailable(text));
        }
        let group = group.map(group_named).transpose()?;
        let Some(name) = user else {
            let group = group.unwrap_or_default();
            return Ok(Some(Self { user: None, group, groups: vec![group], account: None }));
        };
        let found = account(name);
        let (user, own_group) = match (&found, name.parse::<libc::uid_t>()) {
            (Some(found), _) => (found.user, Some(found.group)),
            (None, Ok(number)) => (number, None),
            (None, Err(_)) => return Err(Error::config(format!("--user {name}: there is no such user"))),
        };
        let group = group
            .or(own_group)
            .ok_or_else(|| Error::usage(format!("--user {name}: this number is of no user: say --group too")))?;
        let groups = found.as_ref().map_or(vec![group], |found| groups_of(&found.name, group));
        Ok(Some(Self { user: Some(user), group, groups, account: found.map(|found| (found.name, found.home)) }))
    }

    /// Once a process, for ever. Async-signal-safe.
    pub fn take_on(&self) -> io::Result<()> {
        let checked = |result: libc::c_int| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
        // SAFETY: system calls, of which the first reads as many groups as there are. The user goes last, who may not do the others.
        unsafe {
            checked(libc::setgroups(self.groups.len(), self.groups.as_ptr()))?;
            checked(libc::setresgid(self.group, self.group, self.group))?;
            self.user.map_or(Ok(()), |user| checked(libc::setresuid(user, user, user)))
        }
    }
}

struct Account {
    name: CString,
    home: CString,
    user: libc::uid_t,
    group: libc::gid_t,
}

/// By name or number.
fn account(wanted: &str) -> Option<Account> {
    let name = CString::new(wanted).ok()?;
    // SAFETY: the master has one thread; what the functions give is copied before any of them is called again.
    unsafe {
        let mut found = libc::getpwnam(name.as_ptr());
        if let (true, Ok(number)) = (found.is_null(), wanted.parse::<libc::uid_t>()) {
            found = libc::getpwuid(number);
        }
        let found = found.as_ref()?;
        Some(Account {
            name: CStr::from_ptr(found.pw_name).to_owned(),
            home: CStr::from_ptr(found.pw_dir).to_owned(),
            user: found.pw_uid,
            group: found.pw_gid,
        })
    }
}

fn group_named(wanted: &str) -> Result<libc::gid_t, Error> {
    let unknown = || Error::config(format!("--group {wanted}: there is no such group"));
    let name = CString::new(wanted).map_err(|_| unknown())?;
    // SAFETY: as above.
    match unsafe { libc::getgrnam(name.as_ptr()).as_ref() } {
        Some(found) => Ok(found.gr_gid),
        None => wanted.parse().map_err(|_| unknown()),
    }
}

/// All groups of a user, this one first.
fn groups_of(name: &CStr, group: libc::gid_t) -> Vec<libc::gid_t> {
    let mut groups = vec![group; 64];
    loop {
        let mut count = groups.len() as libc::c_int;
        // SAFETY: writes at most `count` groups, and to `count` how many there are.
        if unsafe { libc::getgrouplist(name.as_ptr(), group, groups.as_mut_ptr(), &raw mut count) } >= 0 {
            groups.truncate(count as usize);
            return groups;
        }
        groups.resize((count as usize).max(groups.len() + 1), group);
    }
}

#[cfg(test)]
#[path = "../../tests/units/supervise/identity.rs"]
mod tests;
