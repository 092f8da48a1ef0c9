//! Applies an InvokeHostFunction operation as stellar-core does: reads the footprint, restores what is marked
//! as archived (CAP-66), runs the host, checks what it used against what was declared, charges rent and events.
use crate::abi::{to_xdr, Frames};
use crate::apply::{check_entry_size, Applied, Change, ChangeKind, Outcome, Stop};
use crate::fees::ResourceFee;
use crate::footprint::{self, Input};
use crate::metrics::Metrics;
use crate::network::{self, Network};
use crate::{diagnostics, ledger, modules, protocol, Refusal};
use soroban_env_host::{
    budget::Budget,
    e2e_invoke::{extract_rent_changes, InvokeHostFunctionResult, LedgerEntryChange},
    fees::compute_rent_fee,
    xdr::{DiagnosticEvent, LedgerKey, ScErrorCode, ScErrorType, SorobanTransactionData},
    HostError, LedgerInfo, ModuleCache,
};
use std::{collections::BTreeMap, rc::Rc};

/// One call of the host. XDR, unless said otherwise.
pub struct Call<'a> {
    pub budget: &'a Budget,
    pub host_function: &'a [u8],
    pub resources: &'a [u8],
    /// Places in the read-write footprint of what was archived.
    pub restored: &'a [u32],
    pub source: &'a [u8],
    pub auth: &'a [&'a [u8]],
    pub info: LedgerInfo,
    pub inputs: &'a [Input],
    pub seed: &'a [u8; 32],
    pub modules: ModuleCache,
}

/// One operation while it is applied.
struct Invocation<'a> {
    network: Rc<Network>,
    info: LedgerInfo,
    data: SorobanTransactionData,
    seed: [u8; 32],
    host_function: &'a [u8],
    source: &'a [u8],
    auth: Vec<&'a [u8]>,
    /// One for each key of the footprint, in its order.
    inputs: Vec<Input>,
    metrics: Metrics,
    diagnostic_events: Vec<DiagnosticEvent>,
}

struct Success {
    return_value: Vec<u8>,
    contract_events: Vec<Vec<u8>>,
    changes: Vec<Change>,
    events_fee: i64,
    rent_fee: i64,
}

/// Runs the operation; see [`crate::Method::ApplyInvoke`] for the frames.
pub fn apply(mut frames: Frames) -> Result<Applied, Refusal> {
    let network = network::current()?;
    let info = ledger::take_header(&mut frames, &network)?;
    let data: SorobanTransactionData = frames.take_xdr()?;
    let size_bytes = frames.take_u32()?;
    let fee = ResourceFee::new(&network, &data, size_bytes, false);
    let non_refundable_fee = fee.non_refundable;
    let mut invocation = Invocation {
        network,
        info,
        data,
        seed: frames.take_array()?,
        host_function: frames.take()?,
        source: frames.take()?,
        auth: frames.take_rest()?,
        inputs: vec![],
        metrics: Metrics::default(),
        diagnostic_events: vec![],
    };
    modules::trim();
    let mut applied = match invocation.run(fee) {
        Ok(success) => Applied {
            return_value: success.return_value,
            events_fee: success.events_fee,
            rent_fee: success.rent_fee,
            contract_events: success.contract_events,
            changes: success.changes,
            ..Applied::new(Outcome::Success, String::new(), non_refundable_fee)
        },
        Err(Stop::Failed(outcome, error, events)) => {
            invocation.diagnostic_events.extend(events);
            Applied::new(outcome, error, non_refundable_fee)
        }
        Err(Stop::Refused(refusal)) => return Err(refusal),
    };
    let success = matches!(applied.outcome, Outcome::Success);
    let metrics = invocation.metrics;
    applied.diagnostic_events = invocation.diagnostic_events;
    applied.diagnostic_events.extend(metrics.events(success));
    applied.instructions = metrics.instructions;
    applied.memory_bytes = metrics.memory_bytes;
    Ok(applied)
}

impl Invocation<'_> {
    fn run(&mut self, fee: ResourceFee) -> Result<Success, Stop> {
        self.inputs = footprint::read(&self.network, &self.info, &self.data, &mut self.metrics)?;
        let result = self.call_host()?;
        let return_value = match result.encoded_invoke_result {
            Ok(value) => value,
            Err(failure) => return Err(self.host_failed(&failure)),
        };
        let changes = self.changes(&result.ledger_changes)?;
        self.count_events(&result.encoded_contract_events, &return_value)?;
        let rent_fee = compute_rent_fee(
            &extract_rent_changes(&result.ledger_changes),
            &self.network.config.rent_fee_configuration,
            self.info.sequence_number,
        );
        let events_fee = fee.consume(&self.network, self.metrics.events_bytes, rent_fee)?;
        Ok(Success {
            return_value,
            contract_events: result.encoded_contract_events,
            changes,
            events_fee,
            rent_fee,
        })
    }

    fn call_host(&mut self) -> Result<InvokeHostFunctionResult, Stop> {
        let resources = to_xdr(&self.data.resources)?;
        let budget = self.network.transaction_budget(self.data.resources.instructions)?;
        let read_only = self.data.resources.footprint.read_only.len();
        let restored: Vec<u32> = (0u32..)
            .zip(&self.inputs[read_only..])
            .filter_map(|(index, input)| input.restored.then_some(index))
            .collect();
        let call = Call {
            budget: &budget,
            host_function: self.host_function,
            resources: &resources,
            restored: &restored,
            source: self.source,
            auth: &self.auth,
            info: self.info.clone(),
            inputs: &self.inputs,
            seed: &self.seed,
            modules: modules::cache(&self.network)?,
        };
        let result = protocol::invoke(call, &mut self.diagnostic_events);
        self.count_budget(&budget);
        result.map_err(|failure| self.host_failed(&failure))
    }

    fn count_budget(&mut self, budget: &Budget) {
        self.metrics.instructions = budget.get_cpu_insns_consumed().unwrap_or(0);
        self.metrics.memory_bytes = budget.get_mem_bytes_consumed().unwrap_or(0);
    }

    /// As in stellar-core, a limit counts as exceeded only when more was used: a contract that runs out of
    /// instructions on its own has been stopped in time, and trapped.
    fn host_failed(&self, failure: &HostError) -> Stop {
        let text = format!("{:?}", failure.error);
        let event = diagnostics::host_function_failed(failure);
        let (error, metrics) = (failure.error, &self.metrics);
        if error.is_code(ScErrorCode::InternalError) && !error.is_type(ScErrorType::Contract) {
            return Stop::Failed(Outcome::InternalError, text, vec![event]);
        }
        let over_limit = |message, used, allowed| {
            let events = vec![event.clone(), diagnostics::over_limit(message, used, allowed)];
            Stop::Failed(Outcome::ResourceLimitExceeded, text.clone(), events)
        };
        let instructions = u64::from(self.data.resources.instructions);
        if metrics.instructions > instructions {
            let message = "operation instructions exceeds amount specified";
            return over_limit(message, metrics.instructions, instructions);
        }
        let memory_bytes = u64::from(self.network.limits.memory_bytes);
        if metrics.memory_bytes > memory_bytes {
            let message = "operation memory usage exceeds network config limit";
            return over_limit(message, metrics.memory_bytes, memory_bytes);
        }
        Stop::Failed(Outcome::Trapped, text, vec![event])
    }

    /// The changes to the ledger. Every entry of the read-write footprint counts as written, whether it
    /// differs or not, as in stellar-core.
    fn changes(&mut self, ledger_changes: &[LedgerEntryChange]) -> Result<Vec<Change>, Stop> {
        let footprint = self.data.resources.footprint.clone();
        let keys = footprint.read_only.iter().chain(footprint.read_write.iter());
        let inputs = std::mem::take(&mut self.inputs);
        let by_key: BTreeMap<_, _> = ledger_changes
            .iter()
            .map(|change| (&change.encoded_key, change))
            .collect();
        let mut changes = vec![];
        for (key, input) in keys.zip(&inputs) {
            let Some(change) = by_key.get(&input.key) else {
                continue;
            };
            let ttl = change.ttl_change.as_ref();
            let live_until = ttl.map_or(0, |ttl| ttl.new_live_until_ledger);
            let is_extended = ttl.is_some_and(|ttl| live_until > ttl.old_live_until_ledger);
            let kind = match (&change.encoded_new_value, change.read_only) {
                (Some(_), false) => ChangeKind::Written,
                (None, false) if input.entry.is_some() => ChangeKind::Removed,
                (_, true) if is_extended => ChangeKind::Extended,
                _ => continue,
            };
            changes.push(Change {
                kind,
                restored: input.restored,
                key: change.encoded_key.clone(),
                entry: match &change.encoded_new_value {
                    Some(entry) => self.written(key, change.encoded_key.len(), entry.clone())?,
                    None => vec![],
                },
                live_until,
            });
        }
        Ok(changes)
    }

    /// Checks and counts a written entry and stamps it with the ledger's sequence, which the host leaves alone.
    fn written(&mut self, key: &LedgerKey, key_bytes: usize, mut entry: Vec<u8>) -> Result<Vec<u8>, Stop> {
        check_entry_size(&self.network, key, entry.len())?;
        self.metrics.note_write(key, key_bytes, entry.len());
        let (used, declared) = (self.metrics.write_bytes, self.data.resources.write_bytes);
        if used > declared {
            let message = "operation byte-write resources exceeds amount specified";
            return Err(Stop::over_limit(message, used.into(), declared.into()));
        }
        // A LedgerEntry starts with lastModifiedLedgerSeq.
        entry[..4].copy_from_slice(&self.info.sequence_number.to_be_bytes());
        Ok(entry)
    }

    fn count_events(&mut self, events: &[Vec<u8>], return_value: &[u8]) -> Result<(), Stop> {
        let allowed = self.network.limits.events_bytes;
        let over = |message, used: u32| Err(Stop::over_limit(message, used.into(), allowed.into()));
        for event in events {
            self.metrics.note_event(event.len());
            if self.metrics.events_bytes > allowed {
                return over(
                    "total events size exceeds network config maximum",
                    self.metrics.events_bytes,
                );
            }
        }
        self.metrics.events_bytes += return_value.len() as u32;
        if self.metrics.events_bytes > allowed {
            let message = "return value pushes events size above network config maximum";
            return over(message, self.metrics.events_bytes);
        }
        Ok(())
    }
}
