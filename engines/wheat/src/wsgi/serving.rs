// SPDX-License-Identifier: Apache-2.0
//! How a Python process becomes a worker: the extension module `wheat._wheat` and its one function.

use std::ffi::{CString, OsString};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;

use pyo3_ffi::*;

use super::environ::Listener;
use super::hooks::Hooks;
use super::input::Input;
use super::modules::Modules;
use super::object::{Object, Raised, Result, Thread, bytes_of, callback, detached, print_exception, take_raised};
use super::plain::Plain;
use super::{Program, Wsgi};
use crate::compress::Compression;
use crate::config::{Command, Config};
use crate::error::{Error, Exit};
use crate::options::Protocol;
use crate::serve::caller::Caller;
use crate::serve::pool::Pool;
use crate::serve::protocol::Application;
use crate::serve::protocols::line::Line;
use crate::serve::reply::Means;
use crate::serve::requests::Reader;
use crate::serve::transport::Opener;
use crate::serve::worker;
use crate::supervise::handover::{self, Context};
use crate::supervise::template::{self, AroundFork};

/// What is in the way of serving: an error of ours, or an exception.
enum Failure {
    Error(Error),
    Raised,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Raised> for Failure {
    fn from(_: Raised) -> Self {
        Self::Raised
    }
}

unsafe extern "C" fn serve(_module: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    callback(|| match run() {
        Ok(code) => exit(code),
        Err(Failure::Raised) => Err(Raised),
        Err(Failure::Error(error)) => {
            eprintln!("wheat: {error}");
            exit(error.exit as i32)
        }
    })
}

/// Ends the process as Python does: by SystemExit.
fn exit(code: i32) -> Result<Object> {
    let code = Object::integer(i64::from(code))?;
    // SAFETY: an exception type and its argument.
    unsafe { PyErr_SetObject(PyExc_SystemExit, code.as_ptr()) };
    Err(Raised)
}

fn run() -> std::result::Result<i32, Failure> {
    match Config::parse(arguments()?.into_iter().skip(1))? {
        Command::Serve(config) => work(&config),
        Command::Check(config) => {
            Opener::new(&config, None)?;
            Compression::of(&config)?;
            handover::change_directory(&config)?;
            hooks_of(&config)?;
            import(&config)?;
            Ok(0)
        }
        Command::Stat(_) | Command::Tell(_) => Err(Error::usage("only wheat itself does that, not a worker").into()),
    }
}

fn work(config: &Config) -> std::result::Result<i32, Failure> {
    let inheritance = handover::inherit(config)?;
    // The terminal's interrupt is for the master, which then says what is to be done.
    // SAFETY: sets a signal's disposition.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let hooks = hooks_of(config)?;
    let (mut context, application) = if config.preload {
        let application = import(config)?;
        make_ready_to_fork();
        let Some(context) = template::live(config, inheritance, &AROUND_FORK)? else {
            // SAFETY: ends the process; what the application wants to do at its end is for the workers.
            unsafe { libc::_exit(0) }
        };
        call_hook(&hooks, "post_fork", context.index)?;
        (context, application)
    } else {
        let context = inheritance.worker()?;
        call_hook(&hooks, "post_fork", context.index)?;
        (context, import(config)?)
    };
    let index = context.index;
    call_hook(&hooks, "post_worker_init", index)?;
    let modules = context.watch.take().map(|watch| Arc::new(Modules::new(watch)));
    let listeners = context.listeners.iter().map(listener_of).collect();
    let program = Arc::new(Program {
        application,
        hooks,
        file_wrapper: Object::import(c"wheat.file_wrapper")?.attribute(c"FileWrapper")?,
        errors: Object::import(c"sys")?.attribute(c"stderr")?,
        empty_input: Input::empty()?.0,
        listeners,
        compression: Compression::of(config)?,
        may_redirect: !config.internals.is_empty(),
        modules,
        secure: config.tls.is_some(),
        threads: config.threads > 1,
        processes: config.workers > 1,
    });
    let code = match config.protocol {
        Protocol::Http => serve_with(config, context, &program, Wsgi::new),
        Protocol::Line => serve_with(config, context, &program, Plain::<Line>::new),
    }?;
    // The worker has ended as it should, whatever becomes of its last words.
    if let Err(Failure::Error(error)) = call_hook(&program.hooks, "worker_exit", index) {
        eprintln!("wheat: {error}");
    }
    if Arc::strong_count(&program) > 1 {
        // A call that does not end within any deadline must not keep the process; finalising Python under it would crash.
        // SAFETY: flushes what Python has buffered; then the process is gone.
        unsafe {
            PyRun_SimpleString(c"import sys; sys.stdout.flush(); sys.stderr.flush()".as_ptr());
            libc::_exit(code);
        }
    }
    Ok(code)
}

/// `make`: for each thread that calls the application.
fn serve_with<A: Application<Protocol: Reader>>(
    config: &Config,
    context: Context,
    program: &Arc<Program>,
    make: fn(&Program, Option<Thread>) -> Result<A>,
) -> std::result::Result<i32, Failure> {
    let means = Means::of(config)?;
    if config.threads <= 1 {
        return Ok(worker::run_with(config, context, Caller::Inline(make(program, None)?), means));
    }
    let theirs = program.clone();
    detached(move || {
        let enter = move || {
            let thread = Thread::attach();
            make(&theirs, Some(thread)).unwrap_or_else(|Raised| std::process::abort()) // no memory for a few dictionaries
        };
        match Pool::start(config, means.clone(), context.slot, enter) {
            Ok(pool) => Ok(worker::run_with(config, context, Caller::Pool(pool), means)),
            Err(error) => {
                Err(Error::unavailable(format!("no threads for --threads {}: {error}", config.threads)).into())
            }
        }
    })
}

/// `sys.argv` as the command line had it.
fn arguments() -> Result<Vec<OsString>> {
    let list = Object::import(c"sys")?.attribute(c"argv")?;
    let mut arguments = Vec::new();
    // SAFETY: a list of str, as long as is asked.
    unsafe {
        for index in 0..PyList_Size(list.as_ptr()) {
            let encoded = Object::owned(PyUnicode_EncodeFSDefault(PyList_GetItem(list.as_ptr(), index)))?;
            arguments.push(OsString::from_vec(bytes_of(&encoded).unwrap_or_default().to_vec()));
        }
    }
    Ok(arguments)
}

fn hooks_of(config: &Config) -> std::result::Result<Hooks, Failure> {
    let hooks = Hooks::load(config.hooks.as_deref()).map_err(|Raised| {
        print_raised();
        let path = config.hooks.as_deref().unwrap_or(Path::new("")).display();
        Error::config(format!("--hooks {path} cannot be loaded: see the traceback above"))
    })?;
    if config.protocol != Protocol::Http && hooks.of_requests()?.is_some_and(|hooks| hooks.are_any()) {
        let text = "on_request and on_response (--hooks) are for --protocol http, whose requests have an environ";
        return Err(Error::config(text).into());
    }
    Ok(hooks)
}

fn call_hook(hooks: &Hooks, name: &str, index: usize) -> std::result::Result<(), Failure> {
    hooks.call(name, index).map_err(|Raised| {
        print_raised();
        Error::config(format!("the hook {name} failed: see the traceback above")).into()
    })
}

// SAFETY of all three: the thread is attached, and it is the one that forks.
const AROUND_FORK: AroundFork = AroundFork {
    before: || unsafe { PyOS_BeforeFork() },
    in_parent: || unsafe { PyOS_AfterFork_Parent() },
    in_child: || unsafe { PyOS_AfterFork_Child() },
};

/// The application is imported. What it has printed is not to be printed again by each worker. Objects that are there are no
/// longer looked at by the garbage collector, which would write to their pages, and so copy them.
fn make_ready_to_fork() {
    let code = c"import gc, sys; sys.stdout.flush(); sys.stderr.flush(); gc.collect(); gc.freeze()";
    // SAFETY: runs a constant.
    unsafe { PyRun_SimpleString(code.as_ptr()) };
    if std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1) {
        eprintln!(
            "wheat: the application has started threads while it was imported, which no worker will have: start them in \
             the hook post_fork (--hooks), or leave --preload out"
        );
    }
}

/// To standard error as Python has it.
fn print_raised() {
    if let (Some(exception), Ok(errors)) =
        (take_raised(), Object::import(c"sys").and_then(|sys| sys.attribute(c"stderr")))
    {
        print_exception(&exception, &errors, "");
    }
}

/// `module`, `module:name`, `module:name.of.attribute`, `module:factory()`.
fn import(config: &Config) -> std::result::Result<Object, Failure> {
    let named = config.application.as_deref().unwrap_or_default();
    let refuse = |why: &str| {
        let text = format!("the application {named} {why}");
        Failure::Error(Error { exit: Exit::Application, text })
    };
    let (module, path) = named.split_once(':').unwrap_or((named, "application"));
    let (path, is_factory) = path.strip_suffix("()").map_or((path, false), |path| (path, true));
    let c_string = |text: &str| CString::new(text).map_err(|_| refuse("has a NUL in its name"));
    // As for a script in the current folder.
    // SAFETY: runs a constant.
    unsafe { PyRun_SimpleString(c"import os, sys; sys.path.insert(0, os.getcwd())".as_ptr()) };
    let failed = |why: &str| {
        print_raised();
        refuse(why)
    };
    let mut found =
        Object::import(&c_string(module)?).map_err(|Raised| failed("cannot be imported: see the traceback above"))?;
    for name in path.split('.') {
        found = found.attribute(&c_string(name)?).map_err(|Raised| {
            take_raised();
            refuse(&format!("has no {name}"))
        })?;
    }
    if is_factory {
        found = found.call().map_err(|Raised| failed("cannot be made: see the traceback above"))?;
    }
    // SAFETY: a valid object.
    if unsafe { PyCallable_Check(found.as_ptr()) } == 0 {
        return Err(refuse("cannot be called"));
    }
    if is_coroutine_function(&found) {
        return Err(refuse("is an ASGI application, which this WSGI server cannot call: take an ASGI server"));
    }
    Ok(found)
}

/// Whether calling it, or its `__call__`, gives a coroutine. By the flag of its code: `inspect` would cost memory.
fn is_coroutine_function(callable: &Object) -> bool {
    const CO_COROUTINE: std::ffi::c_long = 0x80;
    let flags = |of: Result<Object>| of?.attribute(c"__code__")?.attribute(c"co_flags");
    let found = flags(Ok(callable.clone())).or_else(|Raised| {
        take_raised();
        flags(callable.attribute(c"__call__"))
    });
    match found {
        // SAFETY: a valid object.
        Ok(flags) => (unsafe { PyLong_AsLong(flags.as_ptr()) } & CO_COROUTINE) != 0,
        Err(Raised) => {
            take_raised();
            false
        }
    }
}

/// What an application is told about where it is served: never empty (PEP 3333).
fn listener_of(socket: &std::os::fd::OwnedFd) -> Listener {
    let address = rustix::net::getsockname(socket).ok().and_then(|address| SocketAddr::try_from(address).ok());
    let (server_name, server_port) = match address {
        Some(address) => (address.ip().to_string(), address.port().to_string()),
        None => ("localhost".to_owned(), "80".to_owned()), // a UNIX socket has neither
    };
    Listener { server_name, server_port }
}

static mut METHODS: [PyMethodDef; 2] = [
    PyMethodDef {
        ml_name: c"serve".as_ptr(),
        ml_meth: PyMethodDefPointer { PyCFunction: serve },
        ml_flags: METH_NOARGS,
        ml_doc: c"Serves as a worker of the master that started this process, until that says otherwise.".as_ptr(),
    },
    PyMethodDef::zeroed(),
];

static mut SLOTS: [PyModuleDef_Slot; 1 + cfg!(Py_GIL_DISABLED) as usize] = [
    #[cfg(Py_GIL_DISABLED)]
    PyModuleDef_Slot { slot: Py_mod_gil, value: Py_MOD_GIL_NOT_USED },
    PyModuleDef_Slot { slot: 0, value: null_mut() },
];

static mut MODULE: PyModuleDef = PyModuleDef {
    m_base: PyModuleDef_HEAD_INIT,
    m_name: c"_wheat".as_ptr(),
    m_doc: c"The worker of wheat.".as_ptr(),
    m_size: 0,
    m_methods: (&raw mut METHODS).cast(),
    m_slots: (&raw mut SLOTS).cast(),
    m_traverse: None,
    m_clear: None,
    m_free: None,
};

/// # Safety
/// Called by Python's import, attached.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyInit__wheat() -> *mut PyObject {
    // SAFETY: a static definition.
    unsafe { PyModuleDef_Init(&raw mut MODULE) }
}
