//! Resource fees in stroops (CAP-46-07): what the declared resources cost, and what an applied transaction
//! consumes of the refundable rest.
use crate::apply::{Outcome, Stop};
use crate::diagnostics;
use crate::network::Network;
use soroban_env_host::{
    fees::{compute_transaction_resource_fee, TransactionResources},
    ledger_info::get_key_durability,
    xdr::{SorobanTransactionData, SorobanTransactionDataExt},
};

/// How many entries are read from disk: the classic ones and those marked as archived; all of a restore
/// (CAP-62, CAP-66).
pub fn disk_read_entries(data: &SorobanTransactionData, is_restore: bool) -> u32 {
    let footprint = &data.resources.footprint;
    if is_restore {
        return footprint.read_write.len() as u32;
    }
    let keys = footprint.read_only.iter().chain(footprint.read_write.iter());
    let classic = keys.filter(|key| get_key_durability(key).is_none()).count();
    (classic + archived_entries(data).len()) as u32
}

/// Indices into the read-write footprint of the entries to restore before the invocation.
pub fn archived_entries(data: &SorobanTransactionData) -> &[u32] {
    match &data.ext {
        SorobanTransactionDataExt::V0 => &[],
        SorobanTransactionDataExt::V1(ext) => &ext.archived_soroban_entries,
    }
}

/// The resource fee of one transaction, split.
pub struct ResourceFee {
    pub non_refundable: i64,
    /// What the declared fee leaves for events and rent; negative when it does not cover the rest.
    pub maximum_refundable: i64,
    resources: TransactionResources,
}

impl ResourceFee {
    /// `size_bytes` is the size of the transaction envelope, the inner one of a fee bump.
    pub fn new(network: &Network, data: &SorobanTransactionData, size_bytes: u32, is_restore: bool) -> Self {
        let resources = TransactionResources {
            instructions: data.resources.instructions,
            disk_read_entries: disk_read_entries(data, is_restore),
            write_entries: data.resources.footprint.read_write.len() as u32,
            disk_read_bytes: data.resources.disk_read_bytes,
            write_bytes: data.resources.write_bytes,
            contract_events_size_bytes: 0,
            transaction_size_bytes: size_bytes,
        };
        let configuration = &network.config.fee_configuration;
        let (non_refundable, _) = compute_transaction_resource_fee(&resources, configuration);
        Self {
            non_refundable,
            maximum_refundable: data.resource_fee.saturating_sub(non_refundable),
            resources,
        }
    }

    /// Answers the fee for `events_bytes` of events and return value. Fails the transaction when the
    /// refundable part does not cover it together with the rent.
    pub fn consume(mut self, network: &Network, events_bytes: u32, rent: i64) -> Result<i64, Stop> {
        let maximum = self.maximum_refundable;
        let too_little = |message, needed: i64| {
            let event = diagnostics::over_limit(message, needed as u64, maximum as u64);
            Err(Stop::failed(Outcome::InsufficientRefundableFee, message, event))
        };
        if maximum < rent {
            let message = "refundable resource fee was not sufficient to cover the ledger storage rent: {} > {}";
            return too_little(message, rent);
        }
        self.resources.contract_events_size_bytes = events_bytes;
        let (_, events_fee) = compute_transaction_resource_fee(&self.resources, &network.config.fee_configuration);
        if maximum < rent.saturating_add(events_fee) {
            let message = "refundable resource fee was not sufficient to cover the events fee after paying for ledger storage rent: {} > {}";
            return too_little(message, events_fee);
        }
        Ok(events_fee)
    }
}
