// SPDX-License-Identifier: Apache-2.0
//! Who calls the application.

use super::pool::Pool;
use super::protocol::Application;

pub enum Caller<A: Application> {
    /// There is none.
    None,
    /// The event loop itself.
    Inline(A),
    Pool(Pool<A>),
}

impl<A: Application> Caller<A> {
    pub fn wait<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        match self {
            Self::Inline(application) => application.wait(wait),
            Self::None | Self::Pool(_) => wait(),
        }
    }

    /// Whether there is anybody to let run while the event loop waits for nothing.
    pub fn others_wait(&mut self) -> bool {
        match self {
            Self::Inline(application) => application.others_wait(),
            Self::None | Self::Pool(_) => false,
        }
    }

    /// At the end of a turn of the event loop. False: the application wants the worker to end.
    pub fn turn(&mut self) -> bool {
        match self {
            Self::Inline(application) => application.turn(),
            Self::None | Self::Pool(_) => true,
        }
    }

    pub fn release(&mut self, held: A::Held) {
        match self {
            Self::Inline(application) => application.release(held),
            Self::Pool(pool) => pool.release(held),
            Self::None => {}
        }
    }
}
