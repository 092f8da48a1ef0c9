//! Simulation, as the preflight of the real RPC node runs it.
use crate::abi::{to_xdr, Frames, Writer};
use crate::apply::encoded;
use crate::ledger::{take_header, Snapshot};
use crate::network;
use crate::Refusal;
use soroban_env_host::{
    e2e_invoke::RecordingInvocationAuthMode,
    xdr::{LedgerKey, ReadXdr, SorobanTransactionData, WriteXdr},
};
use soroban_simulation::{
    simulation::{
        simulate_extend_ttl_op, simulate_invoke_host_function_op, simulate_restore_op, LedgerEntryDiff,
        SimulationAdjustmentConfig,
    },
    AutoRestoringSnapshotSource,
};
use std::rc::Rc;

/// The mode byte: the lower two bits say how authorisation is treated, the third whether recorded credentials
/// are `SOROBAN_CREDENTIALS_ADDRESS_V2`.
const ENFORCE: u8 = 0;
const RECORD: u8 = 1;
const RECORD_ALLOW_NONROOT: u8 = 2;
const ADDRESS_V2: u8 = 4;

/// Frames of the answer: error text (empty when it worked), return `ScVal`, `SorobanTransactionData`,
/// [u64 instructions, u64 bytes of memory], `SorobanAuthorizationEntry`s, `ContractEvent`s, `DiagnosticEvent`s,
/// state changes (key, `LedgerEntry` before, after; empty where there is none)…
pub fn invoke(mut frames: Frames, out: &mut Writer) -> Result<(), Refusal> {
    let network = network::current()?;
    let info = take_header(&mut frames, &network)?;
    let [mode] = frames.take_array()?;
    let mut adjustment = SimulationAdjustmentConfig::default_adjustment();
    let leeway = frames.take_u32()?;
    adjustment.instructions.additive_factor = adjustment.instructions.additive_factor.max(leeway);
    let seed = frames.take_array()?;
    let host_function = frames.take_xdr()?;
    let source = frames.take_xdr()?;
    let auth_mode = match mode & 3 {
        ENFORCE => RecordingInvocationAuthMode::Enforcing(take_xdrs(frames)?),
        RECORD => RecordingInvocationAuthMode::recording(true, mode & ADDRESS_V2 != 0),
        RECORD_ALLOW_NONROOT => RecordingInvocationAuthMode::recording(false, mode & ADDRESS_V2 != 0),
        _ => return Err(format!("no such authorisation mode: {mode}")),
    };
    let result = simulate_invoke_host_function_op(
        Rc::new(Snapshot::default()),
        &network.config,
        &adjustment,
        &info,
        host_function,
        auth_mode,
        &source,
        seed,
        true,
    )
    .map_err(|e| format!("cannot simulate: {e:?}"))?;
    match &result.invoke_result {
        Ok(value) => out.put(b"").put(&to_xdr(value)?),
        Err(error) => out.put(format!("{error:?}").as_bytes()).put(b""),
    };
    let used = [result.simulated_instructions, result.simulated_memory];
    out.put(&encoded_data(result.transaction_data.as_ref())?)
        .put(&used.map(|n| u64::from(n).to_le_bytes()).concat())
        .put_list(to_xdrs(&result.auth)?)
        .put_list(to_xdrs(&result.contract_events)?)
        .put_list(encoded(&result.diagnostic_events))
        .put_list(state_changes(&result.modified_entries)?);
    Ok(())
}

/// Archived entries are simulated as if restored; what it takes to restore them first is answered too.
pub fn extend(mut frames: Frames, out: &mut Writer) -> Result<(), Refusal> {
    let network = network::current()?;
    let info = take_header(&mut frames, &network)?;
    let extend_to = frames.take_u32()?;
    let keys: Vec<LedgerKey> = take_xdrs(frames)?;
    let adjustment = SimulationAdjustmentConfig::default_adjustment();
    let snapshot = AutoRestoringSnapshotSource::new(Rc::new(Snapshot::default()), &info)
        .map_err(|e| format!("cannot simulate: {e:?}"))?;
    let simulated =
        simulate_extend_ttl_op(&snapshot, &network.config, &adjustment, &info, &keys, extend_to).and_then(|extend| {
            let restore = snapshot.simulate_restore_keys_op(&network.config, &adjustment, &info)?;
            Ok((extend.transaction_data, restore.map(|r| r.transaction_data)))
        });
    match simulated {
        Ok((data, restore)) => out.put(b"").put(&to_xdr(&data)?).put(&encoded_data(restore.as_ref())?),
        Err(error) => out.put(format!("{error:?}").as_bytes()).put(b"").put(b""),
    };
    Ok(())
}

pub fn restore(mut frames: Frames, out: &mut Writer) -> Result<(), Refusal> {
    let network = network::current()?;
    let info = take_header(&mut frames, &network)?;
    let keys: Vec<LedgerKey> = take_xdrs(frames)?;
    let adjustment = SimulationAdjustmentConfig::default_adjustment();
    match simulate_restore_op(&Snapshot::default(), &network.config, &adjustment, &info, &keys) {
        Ok(result) => out.put(b"").put(&to_xdr(&result.transaction_data)?),
        Err(error) => out.put(format!("{error:?}").as_bytes()).put(b""),
    };
    Ok(())
}

fn take_xdrs<T: ReadXdr>(frames: Frames) -> Result<Vec<T>, Refusal> {
    let rest = frames.take_rest()?;
    rest.into_iter().map(crate::abi::from_xdr).collect()
}

fn to_xdrs<T: WriteXdr>(values: &[T]) -> Result<Vec<Vec<u8>>, Refusal> {
    values.iter().map(to_xdr).collect()
}

fn encoded_data(data: Option<&SorobanTransactionData>) -> Result<Vec<u8>, Refusal> {
    data.map(to_xdr).transpose().map(Option::unwrap_or_default)
}

fn state_changes(diffs: &[LedgerEntryDiff]) -> Result<Vec<Vec<u8>>, Refusal> {
    let mut frames = vec![];
    for LedgerEntryDiff {
        state_before,
        state_after,
    } in diffs
    {
        // A key that was read for writing and is absent before and after is no change.
        let Some(entry) = state_after.as_ref().or(state_before.as_ref()) else {
            continue;
        };
        frames.push(to_xdr(&entry.to_key())?);
        for entry in [state_before, state_after] {
            frames.push(entry.as_ref().map(to_xdr).transpose()?.unwrap_or_default());
        }
    }
    Ok(frames)
}
