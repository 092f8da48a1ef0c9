//! The network settings in force: what the host's own configuration holds, and the limits that only the
//! embedder checks (CAP-46-07, CAP-62, CAP-65, CAP-66).
use crate::ledger::Snapshot;
use crate::Refusal;
use soroban_env_host::{
    budget::Budget,
    storage::SnapshotSource,
    xdr::{ConfigSettingEntry, ConfigSettingId, LedgerEntryData, LedgerKey, LedgerKeyConfigSetting},
};
use soroban_simulation::NetworkConfig;
use std::{cell::RefCell, rc::Rc};

/// Per-transaction limits.
pub struct TransactionLimits {
    pub instructions: i64,
    pub memory_bytes: u32,
    pub disk_read_entries: u32,
    pub disk_read_bytes: u32,
    pub write_entries: u32,
    pub write_bytes: u32,
    pub footprint_entries: u32,
    pub size_bytes: u32,
    /// Contract events and the return value together.
    pub events_bytes: u32,
    pub contract_code_bytes: u32,
    pub contract_data_key_bytes: u32,
    pub contract_data_entry_bytes: u32,
}

pub struct Network {
    pub config: NetworkConfig,
    pub limits: TransactionLimits,
    /// For work nobody pays for, as in stellar-core: parsing modules, sizes for rent.
    pub unmetered: Budget,
}

thread_local! {
    static LOADED: RefCell<Option<Rc<Network>>> = const { RefCell::new(None) };
}

/// The settings of the ledger, read on the first call of an instance.
pub fn current() -> Result<Rc<Network>, Refusal> {
    LOADED.with(|loaded| {
        if let Some(network) = &*loaded.borrow() {
            return Ok(network.clone());
        }
        let network = Rc::new(Network::load(&Snapshot::default())?);
        *loaded.borrow_mut() = Some(network.clone());
        Ok(network)
    })
}

/// `setting!(snapshot, Name)`: the content of `ConfigSettingEntry::Name`.
macro_rules! setting {
    ($snapshot:expr, $name:ident) => {
        match read_setting($snapshot, ConfigSettingId::$name)? {
            ConfigSettingEntry::$name(setting) => setting,
            other => return Err(format!("the ledger holds {other:?} as another setting")),
        }
    };
}

fn read_setting(snapshot: &Snapshot, id: ConfigSettingId) -> Result<ConfigSettingEntry, Refusal> {
    let key = LedgerKey::ConfigSetting(LedgerKeyConfigSetting { config_setting_id: id });
    let stored = snapshot
        .get(&Rc::new(key))
        .map_err(|e| format!("cannot read the setting {id:?}: {:?}", e.error))?;
    match stored.as_ref().map(|(entry, _)| &entry.data) {
        Some(LedgerEntryData::ConfigSetting(setting)) => Ok(setting.clone()),
        _ => Err(format!("the ledger has no setting {id:?}")),
    }
}

impl Network {
    fn load(snapshot: &Snapshot) -> Result<Self, Refusal> {
        let compute = setting!(snapshot, ContractComputeV0);
        let cost = setting!(snapshot, ContractLedgerCostV0);
        let limits = TransactionLimits {
            instructions: compute.tx_max_instructions,
            memory_bytes: compute.tx_memory_limit,
            disk_read_entries: cost.tx_max_disk_read_entries,
            disk_read_bytes: cost.tx_max_disk_read_bytes,
            write_entries: cost.tx_max_write_ledger_entries,
            write_bytes: cost.tx_max_write_bytes,
            footprint_entries: setting!(snapshot, ContractLedgerCostExtV0).tx_max_footprint_entries,
            size_bytes: setting!(snapshot, ContractBandwidthV0).tx_max_size_bytes,
            events_bytes: setting!(snapshot, ContractEventsV0).tx_max_contract_events_size_bytes,
            contract_code_bytes: setting!(snapshot, ContractMaxSizeBytes),
            contract_data_key_bytes: setting!(snapshot, ContractDataKeySizeBytes),
            contract_data_entry_bytes: setting!(snapshot, ContractDataEntrySizeBytes),
        };
        let config = NetworkConfig::load_from_snapshot(snapshot)
            .map_err(|e| format!("cannot load the network settings: {e:?}"))?;
        let unmetered = Budget::try_from_configs(
            u64::MAX,
            u64::MAX,
            config.cpu_cost_params.clone(),
            config.memory_cost_params.clone(),
        )
        .map_err(|e| format!("cannot make a budget of the settings: {e:?}"))?;
        Ok(Self {
            config,
            limits,
            unmetered,
        })
    }

    /// The budget of one transaction that declares `instructions`.
    pub fn transaction_budget(&self, instructions: u32) -> Result<Budget, Refusal> {
        Budget::try_from_configs(
            instructions.into(),
            self.limits.memory_bytes.into(),
            self.config.cpu_cost_params.clone(),
            self.config.memory_cost_params.clone(),
        )
        .map_err(|e| format!("cannot make a budget of the settings: {e:?}"))
    }
}
