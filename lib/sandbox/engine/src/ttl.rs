//! Applies ExtendFootprintTtl and RestoreFootprint, which the host does not know (CAP-46-12, CAP-62, CAP-66).
use crate::abi::{from_xdr, read_entry, to_xdr, Frames, StoredEntry};
use crate::apply::{check_entry_size, Applied, Change, ChangeKind, Outcome, Stop};
use crate::fees::ResourceFee;
use crate::ledger::take_header;
use crate::network::{self, Network};
use crate::Refusal;
use soroban_env_host::{
    e2e_invoke::entry_size_for_rent,
    fees::{compute_rent_fee, LedgerEntryRentChange},
    ledger_info::get_key_durability,
    xdr::{ContractDataDurability, LedgerEntry, LedgerKey, SorobanTransactionData},
    LedgerInfo,
};
use std::rc::Rc;

struct Operation {
    network: Rc<Network>,
    info: LedgerInfo,
    data: SorobanTransactionData,
    size_bytes: u32,
    changes: Vec<Change>,
    rent_changes: Vec<LedgerEntryRentChange>,
}

/// Extends the live entries of the read-only footprint; archived and missing ones are passed over.
pub fn apply_extend(mut frames: Frames) -> Result<Applied, Refusal> {
    let mut operation = Operation::take(&mut frames)?;
    let extend_to = frames.take_u32()?;
    let result = operation.extend(extend_to);
    operation.finish(result, false)
}

/// Restores the archived entries of the read-write footprint; live and missing ones are passed over.
pub fn apply_restore(mut frames: Frames) -> Result<Applied, Refusal> {
    let mut operation = Operation::take(&mut frames)?;
    let result = operation.restore();
    operation.finish(result, true)
}

impl Operation {
    fn take(frames: &mut Frames) -> Result<Self, Refusal> {
        let network = network::current()?;
        Ok(Self {
            info: take_header(frames, &network)?,
            network,
            data: frames.take_xdr()?,
            size_bytes: frames.take_u32()?,
            changes: vec![],
            rent_changes: vec![],
        })
    }

    fn extend(&mut self, extend_to: u32) -> Result<(), Stop> {
        let sequence = self.info.sequence_number;
        let new_live_until = sequence
            .checked_add(extend_to)
            .ok_or("the live-until ledger overflows".to_string())?;
        let keys = self.data.resources.footprint.read_only.clone();
        for key in keys.iter() {
            let Some((encoded_key, StoredEntry { entry, live_until })) = stored(key)? else {
                continue;
            };
            let old_live_until = live_until.unwrap_or(0);
            if old_live_until < sequence || old_live_until >= new_live_until {
                continue;
            }
            check_entry_size(&self.network, key, entry.len())?;
            let size = self.rent_size(&entry)?;
            self.rent_changes.push(LedgerEntryRentChange {
                is_persistent: is_persistent(key),
                is_code_entry: matches!(key, LedgerKey::ContractCode(_)),
                old_size_bytes: size,
                new_size_bytes: size,
                old_live_until_ledger: old_live_until,
                new_live_until_ledger: new_live_until,
            });
            self.note_change(encoded_key, false, new_live_until);
        }
        Ok(())
    }

    fn restore(&mut self) -> Result<(), Stop> {
        let live_until_ledger = self
            .info
            .min_live_until_ledger_checked(ContractDataDurability::Persistent)
            .ok_or("the live-until ledger overflows".to_string())?;
        let resources = self.data.resources.clone();
        let mut restored_bytes = 0u32;
        for key in resources.footprint.read_write.iter() {
            let Some((encoded_key, StoredEntry { entry, live_until })) = stored(key)? else {
                continue;
            };
            if live_until.is_none_or(|live_until| live_until >= self.info.sequence_number) {
                continue;
            }
            restored_bytes += entry.len() as u32;
            let over = |message, declared: u32| Err(Stop::over_limit(message, restored_bytes.into(), declared.into()));
            if restored_bytes > resources.disk_read_bytes {
                let message = "operation byte-read resources exceeds amount specified";
                return over(message, resources.disk_read_bytes);
            }
            check_entry_size(&self.network, key, entry.len())?;
            if restored_bytes > resources.write_bytes {
                let message = "operation byte-write resources exceeds amount specified";
                return over(message, resources.write_bytes);
            }
            // A restored entry pays as a new one.
            self.rent_changes.push(LedgerEntryRentChange {
                is_persistent: true,
                is_code_entry: matches!(key, LedgerKey::ContractCode(_)),
                old_size_bytes: 0,
                new_size_bytes: self.rent_size(&entry)?,
                old_live_until_ledger: 0,
                new_live_until_ledger: live_until_ledger,
            });
            self.note_change(encoded_key, true, live_until_ledger);
        }
        Ok(())
    }

    fn rent_size(&self, encoded_entry: &[u8]) -> Result<u32, Refusal> {
        let entry: LedgerEntry = from_xdr(encoded_entry)?;
        entry_size_for_rent(&self.network.unmetered, &entry, encoded_entry.len() as u32)
            .map_err(|e| format!("cannot size an entry: {:?}", e.error))
    }

    fn note_change(&mut self, key: Vec<u8>, restored: bool, live_until: u32) {
        self.changes.push(Change {
            kind: ChangeKind::Extended,
            restored,
            key,
            entry: vec![],
            live_until,
        });
    }

    fn finish(self, result: Result<(), Stop>, is_restore: bool) -> Result<Applied, Refusal> {
        let fee = ResourceFee::new(&self.network, &self.data, self.size_bytes, is_restore);
        let non_refundable_fee = fee.non_refundable;
        let rent_fee = compute_rent_fee(
            &self.rent_changes,
            &self.network.config.rent_fee_configuration,
            self.info.sequence_number,
        );
        match result.and_then(|()| fee.consume(&self.network, 0, rent_fee)) {
            Ok(events_fee) => Ok(Applied {
                events_fee,
                rent_fee,
                changes: self.changes,
                ..Applied::new(Outcome::Success, String::new(), non_refundable_fee)
            }),
            Err(Stop::Failed(outcome, error, diagnostic_events)) => Ok(Applied {
                diagnostic_events,
                ..Applied::new(outcome, error, non_refundable_fee)
            }),
            Err(Stop::Refused(refusal)) => Err(refusal),
        }
    }
}

fn stored(key: &LedgerKey) -> Result<Option<(Vec<u8>, StoredEntry)>, Refusal> {
    let encoded_key = to_xdr(key)?;
    Ok(read_entry(&encoded_key).map(|stored| (encoded_key, stored)))
}

fn is_persistent(key: &LedgerKey) -> bool {
    get_key_durability(key) == Some(ContractDataDurability::Persistent)
}
