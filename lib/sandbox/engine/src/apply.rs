//! What applying an operation answers.
use crate::abi::{to_xdr, Writer};
use crate::diagnostics;
use crate::network::Network;
use crate::Refusal;
use soroban_env_host::{
    ledger_info::get_key_durability,
    xdr::{DiagnosticEvent, LedgerKey},
};

/// The operation's result code. The embedder gives each its code of the operation at hand.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Outcome {
    Success,
    Trapped,
    ResourceLimitExceeded,
    EntryArchived,
    InsufficientRefundableFee,
    /// The host failed, not the contract: the transaction is `txINTERNAL_ERROR`.
    InternalError,
}

/// Why an operation ended early.
pub enum Stop {
    /// With a text for whoever looks into it, and the events it adds.
    Failed(Outcome, String, Vec<DiagnosticEvent>),
    Refused(Refusal),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Stop::Refused(refusal)
    }
}

impl Stop {
    pub fn failed(outcome: Outcome, message: &str, event: DiagnosticEvent) -> Self {
        Stop::Failed(outcome, message.to_string(), vec![event])
    }

    /// `used` of a resource is more than was declared or the network allows.
    pub fn over_limit(message: &str, used: u64, allowed: u64) -> Self {
        let event = diagnostics::over_limit(message, used, allowed);
        Stop::failed(Outcome::ResourceLimitExceeded, message, event)
    }
}

/// Refuses a contract entry that is larger than the network allows.
pub fn check_entry_size(network: &Network, key: &LedgerKey, entry_bytes: usize) -> Result<(), Stop> {
    let (allowed, message) = match key {
        LedgerKey::ContractCode(_) => (
            network.limits.contract_code_bytes,
            "Wasm size exceeds network config maximum contract size",
        ),
        LedgerKey::ContractData(_) => (
            network.limits.contract_data_entry_bytes,
            "ContractData size exceeds network config maximum size",
        ),
        _ => return Ok(()),
    };
    if entry_bytes > allowed as usize {
        return Err(Stop::over_limit(message, entry_bytes as u64, allowed.into()));
    }
    Ok(())
}

pub fn has_ttl(key: &LedgerKey) -> bool {
    get_key_durability(key).is_some()
}

#[derive(Clone, Copy)]
#[repr(u8)]
pub enum ChangeKind {
    Removed,
    Written,
    /// The entry stays as it is, its live-until ledger grows.
    Extended,
}

/// A ledger entry that changes.
pub struct Change {
    pub kind: ChangeKind,
    /// It was archived and comes back first.
    pub restored: bool,
    pub key: Vec<u8>,
    /// The new `LedgerEntry`; empty unless written.
    pub entry: Vec<u8>,
    /// 0 for entries that never expire or are removed.
    pub live_until: u32,
}

impl Change {
    fn details(&self) -> [u8; 6] {
        let live_until = self.live_until.to_le_bytes();
        let mut details = [self.kind as u8, self.restored as u8, 0, 0, 0, 0];
        details[2..].copy_from_slice(&live_until);
        details
    }
}

/// Fees in stroops. A failed operation changes nothing and consumes no refundable fee.
pub struct Applied {
    pub outcome: Outcome,
    pub error: String,
    pub return_value: Vec<u8>,
    pub instructions: u64,
    pub memory_bytes: u64,
    pub non_refundable_fee: i64,
    pub events_fee: i64,
    pub rent_fee: i64,
    pub contract_events: Vec<Vec<u8>>,
    pub diagnostic_events: Vec<DiagnosticEvent>,
    pub changes: Vec<Change>,
}

impl Applied {
    pub fn new(outcome: Outcome, error: String, non_refundable_fee: i64) -> Self {
        Self {
            outcome,
            error,
            return_value: vec![],
            instructions: 0,
            memory_bytes: 0,
            non_refundable_fee,
            events_fee: 0,
            rent_fee: 0,
            contract_events: vec![],
            diagnostic_events: vec![],
            changes: vec![],
        }
    }

    /// Frames: outcome byte, error text, return `ScVal`, [u64 instructions, u64 memory, i64 non-refundable,
    /// i64 events, i64 rent], `ContractEvent`s, `DiagnosticEvent`s, changes (key, `LedgerEntry`, [kind byte,
    /// restored byte, u32 live-until ledger])…
    pub fn write(&self, out: &mut Writer) {
        let used = [self.instructions, self.memory_bytes].map(u64::to_le_bytes);
        let fees = [self.non_refundable_fee, self.events_fee, self.rent_fee].map(i64::to_le_bytes);
        out.put(&[self.outcome as u8])
            .put(self.error.as_bytes())
            .put(&self.return_value)
            .put(&[used.concat(), fees.concat()].concat())
            .put_list(&self.contract_events)
            .put_list(encoded(&self.diagnostic_events))
            .put_list(
                self.changes
                    .iter()
                    .flat_map(|change| [change.key.clone(), change.entry.clone(), change.details().to_vec()]),
            );
    }
}

/// Diagnostic events are a help: one that cannot be encoded (nested too deep) is left out.
pub fn encoded(events: &[DiagnosticEvent]) -> impl Iterator<Item = Vec<u8>> + '_ {
    events.iter().filter_map(|event| to_xdr(event).ok())
}
