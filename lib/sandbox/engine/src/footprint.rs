//! Reads the entries of an invocation's footprint, restoring those that are marked as archived (CAP-66).
use crate::abi::{from_xdr, read_entry, to_xdr, StoredEntry};
use crate::apply::{check_entry_size, Outcome, Stop};
use crate::fees::archived_entries;
use crate::metrics::Metrics;
use crate::network::Network;
use crate::{diagnostics, modules, Refusal};
use soroban_env_host::{
    ledger_info::get_key_durability,
    xdr::{ContractDataDurability, LedgerKey, ScBytes, ScError, ScErrorCode, ScVal, SorobanTransactionData},
    LedgerInfo,
};

/// What the host is given for one key of the footprint.
#[derive(Default)]
pub struct Input {
    pub key: Vec<u8>,
    pub entry: Option<Vec<u8>>,
    pub ttl: Option<Ttl>,
    pub restored: bool,
}

#[derive(Clone, Copy)]
pub struct Ttl {
    pub live_until_ledger: u32,
    /// The host of protocol 27 computes it by itself.
    #[cfg_attr(feature = "protocol_27", allow(dead_code))]
    pub entry_size_for_rent: u32,
}

/// Answers one input for each key, read-only ones first. Counts what is read from disk against the declared
/// bytes.
pub fn read(
    network: &Network,
    info: &LedgerInfo,
    data: &SorobanTransactionData,
    metrics: &mut Metrics,
) -> Result<Vec<Input>, Stop> {
    let mut reader = Reader {
        network,
        info,
        data,
        metrics,
    };
    let footprint = &data.resources.footprint;
    let mut inputs = vec![];
    for key in footprint.read_only.iter() {
        inputs.push(reader.read(key, false)?);
    }
    for (index, key) in (0u32..).zip(footprint.read_write.iter()) {
        inputs.push(reader.read(key, archived_entries(data).contains(&index))?);
    }
    Ok(inputs)
}

struct Reader<'a> {
    network: &'a Network,
    info: &'a LedgerInfo,
    data: &'a SorobanTransactionData,
    metrics: &'a mut Metrics,
}

impl Reader<'_> {
    fn read(&mut self, key: &LedgerKey, may_restore: bool) -> Result<Input, Stop> {
        let encoded_key = to_xdr(key)?;
        let stored = read_entry(&encoded_key);
        let input = match (get_key_durability(key), stored) {
            (None, stored) => self.read_classic(key, encoded_key.len(), stored)?,
            (Some(_), None) => {
                self.metrics.note_memory_read();
                Input::default()
            }
            (Some(durability), Some(stored)) => {
                self.read_contract(key, encoded_key.len(), durability, stored, may_restore)?
            }
        };
        Ok(Input {
            key: encoded_key,
            ..input
        })
    }

    fn read_classic(&mut self, key: &LedgerKey, key_bytes: usize, stored: Option<StoredEntry>) -> Result<Input, Stop> {
        let entry = stored.map(|stored| stored.entry);
        self.note_disk_read(key, key_bytes, entry.as_ref().map_or(0, Vec::len))?;
        Ok(Input {
            entry,
            ..Input::default()
        })
    }

    fn read_contract(
        &mut self,
        key: &LedgerKey,
        key_bytes: usize,
        durability: ContractDataDurability,
        stored: StoredEntry,
        may_restore: bool,
    ) -> Result<Input, Stop> {
        let StoredEntry { entry, live_until } = stored;
        let mut live_until = live_until.ok_or("a contract entry is stored without a live-until ledger".to_string())?;
        let is_live = live_until >= self.info.sequence_number;
        if is_live || durability == ContractDataDurability::Temporary {
            self.metrics.note_memory_read();
        } else if may_restore {
            live_until = self.restored_live_until()?;
            self.note_disk_read(key, key_bytes, entry.len())?;
        } else {
            return Err(archived(key));
        }
        if !is_live && durability == ContractDataDurability::Temporary {
            return Ok(Input::default());
        }
        check_entry_size(self.network, key, entry.len())?;
        let ttl = Ttl {
            live_until_ledger: live_until,
            entry_size_for_rent: self.rent_size(key, &entry)?,
        };
        Ok(Input {
            entry: Some(entry),
            ttl: Some(ttl),
            restored: !is_live,
            ..Input::default()
        })
    }

    fn note_disk_read(&mut self, key: &LedgerKey, key_bytes: usize, entry_bytes: usize) -> Result<(), Stop> {
        self.metrics.note_disk_read(key, key_bytes, entry_bytes);
        let (used, declared) = (self.metrics.disk_read_bytes, self.data.resources.disk_read_bytes);
        if used > declared {
            let message = "operation byte-read resources exceeds amount specified";
            return Err(Stop::over_limit(message, used.into(), declared.into()));
        }
        Ok(())
    }

    fn restored_live_until(&self) -> Result<u32, Refusal> {
        self.info
            .min_live_until_ledger_checked(ContractDataDurability::Persistent)
            .ok_or_else(|| "the live-until ledger overflows".to_string())
    }

    fn rent_size(&self, key: &LedgerKey, entry: &[u8]) -> Result<u32, Refusal> {
        match key {
            LedgerKey::ContractCode(code) => {
                let protocol = self.info.protocol_version;
                modules::load(self.network, protocol, &code.hash, entry.len(), || from_xdr(entry))
            }
            _ => Ok(entry.len() as u32),
        }
    }
}

fn archived(key: &LedgerKey) -> Stop {
    let (message, args) = match key {
        LedgerKey::ContractCode(code) => {
            let hash = code.hash.0.to_vec().try_into().expect("32 bytes");
            (
                "trying to access an archived contract code entry",
                vec![ScVal::Bytes(ScBytes(hash))],
            )
        }
        LedgerKey::ContractData(data) => (
            "trying to access an archived contract data entry",
            vec![ScVal::Address(data.contract.clone()), data.key.clone()],
        ),
        _ => ("trying to access an archived entry", vec![]),
    };
    let event = diagnostics::error_about(ScError::Value(ScErrorCode::InvalidInput), message, args);
    Stop::failed(Outcome::EntryArchived, message, event)
}
