//! What stellar-core's validation says about a transaction's Soroban data, before anything is applied.
use crate::abi::{to_xdr, Frames, Writer};
use crate::apply::encoded;
use crate::check_operation::{check_operation, is_held_asset};
use crate::diagnostics;
use crate::fees::{archived_entries, disk_read_entries, ResourceFee};
use crate::ledger::take_header;
use crate::network::{self, TransactionLimits};
use crate::Refusal;
use soroban_env_host::{
    ledger_info::get_key_durability,
    xdr::{
        ContractDataDurability, DiagnosticEvent, LedgerKey, OperationBody, ScError, ScErrorCode, SorobanTransactionData,
    },
};
use std::collections::BTreeSet;

/// Higher resource fees are malformed, about 112 million XLM.
const MAX_RESOURCE_FEE: i64 = 1 << 50;

#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Verdict {
    Valid,
    /// `txMALFORMED`
    Malformed,
    /// `txSOROBAN_INVALID`
    SorobanInvalid,
    /// `txFAILED`, with the operation's MALFORMED code
    OperationInvalid,
}

pub struct Invalid {
    verdict: Verdict,
    /// What the diagnostic event says; malformed transactions have none.
    error: Option<ScError>,
    message: String,
    /// What was found and, often, what is allowed.
    args: Vec<u64>,
}

impl Invalid {
    pub fn new(verdict: Verdict, error: ScError, message: &str, args: &[u64]) -> Self {
        Self {
            verdict,
            error: Some(error),
            message: message.to_string(),
            args: args.to_vec(),
        }
    }

    fn resources(error: ScError, message: &str, args: &[u64]) -> Self {
        Self::new(Verdict::SorobanInvalid, error, message, args)
    }

    fn text(&self) -> String {
        let args: Vec<_> = self.args.iter().map(u64::to_string).collect();
        match args.is_empty() {
            true => self.message.clone(),
            false => format!("{} ({})", self.message, args.join(", ")),
        }
    }

    fn event(&self) -> Option<DiagnosticEvent> {
        let error = self.error.clone()?;
        Some(diagnostics::error(error, &self.message, &self.args))
    }
}

pub type Checked = Result<(), Invalid>;

/// Frames of the answer: verdict byte, text, `DiagnosticEvent`s, [i64 non-refundable resource fee in stroops].
///
/// Left to the embedder: that the resource fee is not above the transaction's full fee.
pub fn check(mut frames: Frames, out: &mut Writer) -> Result<(), Refusal> {
    let network = network::current()?;
    let info = take_header(&mut frames, &network)?;
    let operation: OperationBody = frames.take_xdr()?;
    let data: SorobanTransactionData = frames.take_xdr()?;
    let size_bytes = frames.take_u32()?;
    let is_restore = matches!(operation, OperationBody::RestoreFootprint(_));
    let fee = ResourceFee::new(&network, &data, size_bytes, is_restore);
    let checked = check_declared_fee(&data)
        .and_then(|()| check_amounts(&network.limits, &data, is_restore))
        .and_then(|()| check_keys(&network.limits, &data))
        .and_then(|()| check_size(&network.limits, size_bytes))
        .and_then(|()| check_archived_entries(&data))
        .and_then(|()| check_fee_covers(&data, &fee))
        .and_then(|()| check_duplicates(&data))
        .and_then(|()| check_operation(&network.limits, &info, &operation, &data));
    let invalid = checked.err();
    let events: Vec<_> = invalid.iter().filter_map(Invalid::event).collect();
    out.put(&[invalid.as_ref().map_or(Verdict::Valid, |invalid| invalid.verdict) as u8])
        .put(invalid.as_ref().map(Invalid::text).unwrap_or_default().as_bytes())
        .put_list(encoded(&events))
        .put(&fee.non_refundable.to_le_bytes());
    Ok(())
}

fn check_declared_fee(data: &SorobanTransactionData) -> Checked {
    if (0..=MAX_RESOURCE_FEE).contains(&data.resource_fee) {
        return Ok(());
    }
    Err(Invalid {
        verdict: Verdict::Malformed,
        error: None,
        message: format!("the resource fee {} is out of range", data.resource_fee),
        args: vec![],
    })
}

fn check_amounts(limits: &TransactionLimits, data: &SorobanTransactionData, is_restore: bool) -> Checked {
    let resources = &data.resources;
    let footprint = &resources.footprint;
    let budget = ScError::Budget(ScErrorCode::ExceededLimit);
    let storage = ScError::Storage(ScErrorCode::ExceededLimit);
    let amounts = [
        (
            &budget,
            "transaction instructions resources exceed network config limit",
            u64::from(resources.instructions),
            limits.instructions as u64,
        ),
        (
            &storage,
            "transaction byte-read resources exceed network config limit",
            resources.disk_read_bytes.into(),
            limits.disk_read_bytes.into(),
        ),
        (
            &storage,
            "transaction byte-write resources exceed network config limit",
            resources.write_bytes.into(),
            limits.write_bytes.into(),
        ),
        (
            &storage,
            "the number of entries in transaction footprint exceeds the network config limit",
            (footprint.read_only.len() + footprint.read_write.len()) as u64,
            limits.footprint_entries.into(),
        ),
        (
            &storage,
            "transaction entry-disk-read resources exceed network config limit",
            disk_read_entries(data, is_restore).into(),
            limits.disk_read_entries.into(),
        ),
        (
            &storage,
            "transaction entry-write resources exceed network config limit",
            footprint.read_write.len() as u64,
            limits.write_entries.into(),
        ),
    ];
    for (error, message, declared, allowed) in amounts {
        if declared > allowed {
            return Err(Invalid::resources(error.clone(), message, &[declared, allowed]));
        }
    }
    Ok(())
}

fn check_size(limits: &TransactionLimits, size_bytes: u32) -> Checked {
    if size_bytes > limits.size_bytes {
        let message = "total transaction size exceeds network config limit";
        let args = [size_bytes.into(), limits.size_bytes.into()];
        let error = ScError::Budget(ScErrorCode::ExceededLimit);
        return Err(Invalid::resources(error, message, &args));
    }
    Ok(())
}

fn keys(data: &SorobanTransactionData) -> impl Iterator<Item = &LedgerKey> {
    let footprint = &data.resources.footprint;
    footprint.read_only.iter().chain(footprint.read_write.iter())
}

fn check_keys(limits: &TransactionLimits, data: &SorobanTransactionData) -> Checked {
    for key in keys(data) {
        match key {
            LedgerKey::Account(_) | LedgerKey::ContractData(_) | LedgerKey::ContractCode(_) => {}
            LedgerKey::Trustline(line) if is_held_asset(&line.asset, &line.account_id) => {}
            LedgerKey::Trustline(_) => {
                let error = ScError::Storage(ScErrorCode::InvalidInput);
                let message = "transaction footprint contains invalid trustline asset";
                return Err(Invalid::resources(error, message, &[]));
            }
            _ => {
                let error = ScError::Storage(ScErrorCode::UnexpectedType);
                let message = "transaction footprint contains unsupported ledger key type";
                let kind = key.discriminant() as u64;
                return Err(Invalid::resources(error, message, &[kind]));
            }
        }
        let bytes = to_xdr(key).map_or(u64::MAX, |key| key.len() as u64);
        let allowed = limits.contract_data_key_bytes.into();
        if bytes > allowed {
            let error = ScError::Storage(ScErrorCode::ExceededLimit);
            let message = "transaction footprint key exceeds network config limit";
            return Err(Invalid::resources(error, message, &[bytes, allowed]));
        }
    }
    Ok(())
}

fn check_archived_entries(data: &SorobanTransactionData) -> Checked {
    let read_write = &data.resources.footprint.read_write;
    let invalid = |message, args: &[u64]| {
        let error = ScError::Storage(ScErrorCode::InvalidInput);
        Err(Invalid::resources(error, message, args))
    };
    let indices = archived_entries(data);
    if !indices.is_sorted_by(|a, b| a < b) {
        return invalid("archivedSorobanEntries must be sorted in ascending order", &[]);
    }
    for index in indices {
        let Some(key) = read_write.get(*index as usize) else {
            let args = [u64::from(*index), read_write.len() as u64];
            return invalid("archivedSorobanEntries index is out of bounds", &args);
        };
        if get_key_durability(key) != Some(ContractDataDurability::Persistent) {
            let args = [u64::from(*index), key.discriminant() as u64];
            return invalid("archivedSorobanEntries index points to a non-persistent entry", &args);
        }
    }
    Ok(())
}

fn check_fee_covers(data: &SorobanTransactionData, fee: &ResourceFee) -> Checked {
    if data.resource_fee < fee.non_refundable {
        let message = "transaction `sorobanData.resourceFee` is lower than the actual Soroban resource fee";
        let args = [data.resource_fee as u64, fee.non_refundable as u64];
        let error = ScError::Storage(ScErrorCode::ExceededLimit);
        return Err(Invalid::resources(error, message, &args));
    }
    Ok(())
}

fn check_duplicates(data: &SorobanTransactionData) -> Checked {
    let mut seen = BTreeSet::new();
    if !keys(data).all(|key| seen.insert(key)) {
        let message = "Found duplicate key in the Soroban footprint; every key across read-only and read-write footprints has to be unique.";
        let error = ScError::Storage(ScErrorCode::InvalidInput);
        return Err(Invalid::resources(error, message, &[]));
    }
    Ok(())
}
