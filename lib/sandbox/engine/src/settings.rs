//! The default network settings, as the ledger entries a new sandbox starts with.
//!
//! The values are those of the public network at protocol 27 (October 2026): the settings voted in with SLP-1
//! to SLP-5, as kept in stellar/quickstart `local/core/etc/config-settings/mainnet.json` and, for fees and
//! limits, confirmed by the "current" columns of SLP-7. Testnet differs in its lifetimes (persistent 120,960
//! ledgers, temporary 720) and its target size of the state (4 GB).
use crate::abi::{to_xdr, Writer};
use crate::{cost_params, Refusal};
use soroban_env_host::xdr::*;

/// What the embedder's ledger is taken to hold. Below two thirds of the target size the rent rate is at its
/// minimum of 1,000 stroops per KB.
const LIVE_SOROBAN_STATE_BYTES: u64 = 1_000_000;

pub fn write_defaults(out: &mut Writer) -> Result<(), Refusal> {
    for setting in defaults() {
        let key = LedgerKey::ConfigSetting(LedgerKeyConfigSetting {
            config_setting_id: setting.discriminant(),
        });
        let entry = LedgerEntry {
            last_modified_ledger_seq: 1,
            data: LedgerEntryData::ConfigSetting(setting),
            ext: LedgerEntryExt::V0,
        };
        out.put(&to_xdr(&key)?).put(&to_xdr(&entry)?);
    }
    Ok(())
}

/// All settings that are ledger entries, by their ids.
fn defaults() -> Vec<ConfigSettingEntry> {
    vec![
        ConfigSettingEntry::ContractMaxSizeBytes(131_072),
        ConfigSettingEntry::ContractComputeV0(ConfigSettingContractComputeV0 {
            ledger_max_instructions: 580_000_000,
            tx_max_instructions: 400_000_000,
            fee_rate_per_instructions_increment: 7,
            tx_memory_limit: 41_943_040,
        }),
        ConfigSettingEntry::ContractLedgerCostV0(ledger_cost()),
        ConfigSettingEntry::ContractHistoricalDataV0(ConfigSettingContractHistoricalDataV0 {
            fee_historical1_kb: 4_059,
        }),
        ConfigSettingEntry::ContractEventsV0(ConfigSettingContractEventsV0 {
            tx_max_contract_events_size_bytes: 16_384,
            fee_contract_events1_kb: 5_000,
        }),
        ConfigSettingEntry::ContractBandwidthV0(ConfigSettingContractBandwidthV0 {
            ledger_max_txs_size_bytes: 266_240,
            tx_max_size_bytes: 132_096,
            fee_tx_size1_kb: 406,
        }),
        ConfigSettingEntry::ContractCostParamsCpuInstructions(cost_params::cpu_instructions()),
        ConfigSettingEntry::ContractCostParamsMemoryBytes(cost_params::memory_bytes()),
        ConfigSettingEntry::ContractDataKeySizeBytes(250),
        ConfigSettingEntry::ContractDataEntrySizeBytes(65_536),
        ConfigSettingEntry::StateArchival(state_archival()),
        ConfigSettingEntry::ContractExecutionLanes(ConfigSettingContractExecutionLanesV0 {
            ledger_max_tx_count: 2_000,
        }),
        live_state_size_window(),
        ConfigSettingEntry::EvictionIterator(EvictionIterator {
            bucket_list_level: state_archival().starting_eviction_scan_level,
            is_curr_bucket: true,
            bucket_file_offset: 0,
        }),
        ConfigSettingEntry::ContractParallelComputeV0(ConfigSettingContractParallelComputeV0 {
            ledger_max_dependent_tx_clusters: 2,
        }),
        ConfigSettingEntry::ContractLedgerCostExtV0(ConfigSettingContractLedgerCostExtV0 {
            tx_max_footprint_entries: 400,
            fee_write1_kb: 875,
        }),
        ConfigSettingEntry::ScpTiming(ConfigSettingScpTiming {
            ledger_target_close_time_milliseconds: 5_000,
            nomination_timeout_initial_milliseconds: 1_000,
            nomination_timeout_increment_milliseconds: 1_000,
            ballot_timeout_initial_milliseconds: 1_000,
            ballot_timeout_increment_milliseconds: 1_000,
        }),
        ConfigSettingEntry::FrozenLedgerKeys(FrozenLedgerKeys { keys: VecM::default() }),
        ConfigSettingEntry::FreezeBypassTxs(FreezeBypassTxs {
            tx_hashes: VecM::default(),
        }),
    ]
}

fn ledger_cost() -> ConfigSettingContractLedgerCostV0 {
    ConfigSettingContractLedgerCostV0 {
        ledger_max_disk_read_entries: 1_000,
        ledger_max_disk_read_bytes: 400_000,
        ledger_max_write_ledger_entries: 1_000,
        ledger_max_write_bytes: 286_720,
        tx_max_disk_read_entries: 200,
        tx_max_disk_read_bytes: 200_000,
        tx_max_write_ledger_entries: 200,
        tx_max_write_bytes: 132_096,
        fee_disk_read_ledger_entry: 1_563,
        fee_write_ledger_entry: 2_500,
        fee_disk_read1_kb: 447,
        soroban_state_target_size_bytes: 3_000_000_000,
        rent_fee1_kb_soroban_state_size_low: -17_000,
        rent_fee1_kb_soroban_state_size_high: 10_000,
        soroban_state_rent_fee_growth_factor: 5_000,
    }
}

fn state_archival() -> StateArchivalSettings {
    StateArchivalSettings {
        max_entry_ttl: 3_110_400,
        min_temporary_ttl: 17_280,
        min_persistent_ttl: 2_073_600,
        persistent_rent_rate_denominator: 1_215,
        temp_rent_rate_denominator: 2_430,
        max_entries_to_archive: 1_000,
        live_soroban_state_size_window_sample_size: 30,
        live_soroban_state_size_window_sample_period: 64,
        eviction_scan_size: 500_000,
        starting_eviction_scan_level: 7,
    }
}

fn live_state_size_window() -> ConfigSettingEntry {
    let samples = state_archival().live_soroban_state_size_window_sample_size as usize;
    let window = vec![LIVE_SOROBAN_STATE_BYTES; samples];
    ConfigSettingEntry::LiveSorobanStateSizeWindow(window.try_into().expect("30 samples"))
}
