//! The embedder's ledger as the host reads it, and the header of the ledger that is being built.
use crate::abi::{from_xdr, read_entry, Frames};
use crate::network::Network;
use crate::Refusal;
use soroban_env_host::{
    storage::{EntryWithLiveUntil, SnapshotSource},
    xdr::{LedgerKey, ScErrorCode, ScErrorType, WriteXdr},
    HostError, LedgerInfo, DEFAULT_XDR_RW_LIMITS,
};
use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

/// Takes the header frame, 52 bytes: protocol version, sequence (`u32` each), close time in Unix seconds
/// (`u64`), base reserve in stroops (`u32`), all little-endian, and the 32 bytes of the network id.
pub fn take_header(frames: &mut Frames, network: &Network) -> Result<LedgerInfo, Refusal> {
    let bytes: [u8; 52] = frames.take_array()?;
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let mut info = LedgerInfo {
        protocol_version: word(0),
        sequence_number: word(4),
        timestamp: u64::from(word(8)) | u64::from(word(12)) << 32,
        base_reserve: word(16),
        network_id: bytes[20..].try_into().expect("32 bytes"),
        ..Default::default()
    };
    network.config.fill_config_fields_in_ledger_info(&mut info);
    Ok(info)
}

/// The embedder's ledger, each entry read and decoded once.
#[derive(Default)]
pub struct Snapshot {
    entries: RefCell<BTreeMap<Rc<LedgerKey>, Option<EntryWithLiveUntil>>>,
}

impl SnapshotSource for Snapshot {
    fn get(&self, key: &Rc<LedgerKey>) -> Result<Option<EntryWithLiveUntil>, HostError> {
        if let Some(known) = self.entries.borrow().get(key) {
            return Ok(known.clone());
        }
        let broken = || HostError::from((ScErrorType::Storage, ScErrorCode::InternalError));
        let encoded = key.to_xdr(DEFAULT_XDR_RW_LIMITS).map_err(|_| broken())?;
        let entry = match read_entry(&encoded) {
            Some(stored) => {
                let entry = from_xdr(&stored.entry).map_err(|_| broken())?;
                Some((Rc::new(entry), stored.live_until))
            }
            None => None,
        };
        self.entries.borrow_mut().insert(key.clone(), entry.clone());
        Ok(entry)
    }
}
