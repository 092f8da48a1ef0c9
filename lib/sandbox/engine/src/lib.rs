//! The Soroban host of the Stellar network behind a small binary interface, for the embedded sandbox.
//!
//! The engine keeps no ledger: entries live in the embedder and are read through the one import
//! `env.ledger_get`; every call answers what it would change and changes nothing itself. What stays inside
//! between calls is derived from the ledger and can be lost at any time: the network settings (read once per
//! instance) and the parsed contract modules.
//!
//! Requests and answers are sequences of frames, each a little-endian `u32` length and its bytes; a list is a
//! frame that holds frames. See [`Method`] for what each method takes and answers. What the host leaves to
//! its embedder (footprint, archival, fees, resource checks) follows stellar-core of protocol 23 and later.
pub mod abi;
mod apply;
mod check;
mod check_operation;
mod cost_params;
mod diagnostics;
mod fees;
mod footprint;
mod invoke;
mod json;
mod ledger;
mod metrics;
mod modules;
mod network;
#[cfg_attr(feature = "protocol_27", path = "protocol_27.rs")]
#[cfg_attr(feature = "protocol_28", path = "protocol_28.rs")]
mod protocol;
mod settings;
mod simulate;
mod ttl;

use abi::{Frames, Writer};

/// Why a request was refused before anything ran: malformed frames or XDR, XDR nested too deep, a ledger
/// without settings.
pub type Refusal = String;

/// The methods of `call`; `header` is [`ledger::Header`], the rest is XDR unless said otherwise.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Method {
    /// () → key, `LedgerEntry`, key, `LedgerEntry`, …
    DefaultSettings,
    /// header, mode byte, `u32` instruction leeway, 32 bytes of PRNG seed, `HostFunction`, source `AccountId`,
    /// `SorobanAuthorizationEntry`… → see [`simulate::invoke`]
    SimulateInvoke,
    /// header, `u32` extend-to, `LedgerKey`… → error text, `SorobanTransactionData`, and that of the restore
    /// which has to come first (empty: none)
    SimulateExtend,
    /// header, `LedgerKey`… → error text, `SorobanTransactionData`
    SimulateRestore,
    /// header, `OperationBody`, `SorobanTransactionData`, `u32` transaction size in bytes → see [`check::check`]
    CheckResources,
    /// header, `SorobanTransactionData`, `u32` transaction size in bytes, 32 bytes of PRNG seed,
    /// `HostFunction`, source `AccountId`, `SorobanAuthorizationEntry`… → [`apply::Applied`]
    ApplyInvoke,
    /// header, `SorobanTransactionData`, `u32` transaction size in bytes, `u32` extend-to → [`apply::Applied`]
    ApplyExtend,
    /// header, `SorobanTransactionData`, `u32` transaction size in bytes → [`apply::Applied`]
    ApplyRestore,
    /// name of the XDR type, XDR… → JSON text (SEP-51)…
    ToJson,
}

const METHODS: [Method; 9] = [
    Method::DefaultSettings,
    Method::SimulateInvoke,
    Method::SimulateExtend,
    Method::SimulateRestore,
    Method::CheckResources,
    Method::ApplyInvoke,
    Method::ApplyExtend,
    Method::ApplyRestore,
    Method::ToJson,
];

/// Runs one method over its request frames and answers its frames.
pub fn answer(method: u32, request: &[u8]) -> Result<Vec<u8>, Refusal> {
    let method = METHODS
        .get(method as usize)
        .ok_or_else(|| format!("no such method: {method}"))?;
    let frames = Frames::new(request);
    let mut out = Writer::default();
    match method {
        Method::DefaultSettings => settings::write_defaults(&mut out)?,
        Method::SimulateInvoke => simulate::invoke(frames, &mut out)?,
        Method::SimulateExtend => simulate::extend(frames, &mut out)?,
        Method::SimulateRestore => simulate::restore(frames, &mut out)?,
        Method::CheckResources => check::check(frames, &mut out)?,
        Method::ApplyInvoke => invoke::apply(frames)?.write(&mut out),
        Method::ApplyExtend => ttl::apply_extend(frames)?.write(&mut out),
        Method::ApplyRestore => ttl::apply_restore(frames)?.write(&mut out),
        Method::ToJson => json::to_json(frames, &mut out)?,
    }
    Ok(out.into_bytes())
}
