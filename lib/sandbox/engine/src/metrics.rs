//! What an invocation used, as stellar-core counts it: checked against the declared resources and reported
//! as `core_metrics` diagnostic events.
use crate::diagnostics::core_metric;
use soroban_env_host::xdr::{DiagnosticEvent, LedgerKey};

#[derive(Default)]
pub struct Metrics {
    read_entries: u32,
    write_entries: u32,
    pub disk_read_bytes: u32,
    pub write_bytes: u32,
    read_key_bytes: u32,
    read_data_bytes: u32,
    write_data_bytes: u32,
    read_code_bytes: u32,
    write_code_bytes: u32,
    events: u32,
    /// Contract events and, at the end, the return value.
    pub events_bytes: u32,
    pub instructions: u64,
    pub memory_bytes: u64,
    max_key_bytes: u32,
    max_data_bytes: u32,
    max_code_bytes: u32,
    max_event_bytes: u32,
}

impl Metrics {
    /// Live contract entries are in memory; only their number is counted (CAP-62).
    pub fn note_memory_read(&mut self) {
        self.read_entries += 1;
    }

    pub fn note_disk_read(&mut self, key: &LedgerKey, key_bytes: usize, entry_bytes: usize) {
        let (key_bytes, entry_bytes) = (key_bytes as u32, entry_bytes as u32);
        self.read_entries += 1;
        self.read_key_bytes += key_bytes;
        self.disk_read_bytes += entry_bytes;
        if self.note_sizes(key, key_bytes, entry_bytes) {
            self.read_code_bytes += entry_bytes;
        } else {
            self.read_data_bytes += entry_bytes;
        }
    }

    pub fn note_write(&mut self, key: &LedgerKey, key_bytes: usize, entry_bytes: usize) {
        let entry_bytes = entry_bytes as u32;
        self.write_entries += 1;
        self.write_bytes += entry_bytes;
        if self.note_sizes(key, key_bytes as u32, entry_bytes) {
            self.write_code_bytes += entry_bytes;
        } else {
            self.write_data_bytes += entry_bytes;
        }
    }

    pub fn note_event(&mut self, bytes: usize) {
        self.events += 1;
        self.events_bytes += bytes as u32;
        self.max_event_bytes = self.max_event_bytes.max(bytes as u32);
    }

    /// Answers whether it is a contract's code.
    fn note_sizes(&mut self, key: &LedgerKey, key_bytes: u32, entry_bytes: u32) -> bool {
        self.max_key_bytes = self.max_key_bytes.max(key_bytes);
        let is_code = matches!(key, LedgerKey::ContractCode(_));
        let largest = if is_code {
            &mut self.max_code_bytes
        } else {
            &mut self.max_data_bytes
        };
        *largest = (*largest).max(entry_bytes);
        is_code
    }

    /// The events in stellar-core's order. Written key bytes are not counted there either, and there is no
    /// clock here.
    pub fn events(&self, success: bool) -> impl Iterator<Item = DiagnosticEvent> {
        [
            ("read_entry", self.read_entries.into()),
            ("write_entry", self.write_entries.into()),
            ("ledger_read_byte", self.disk_read_bytes.into()),
            ("ledger_write_byte", self.write_bytes.into()),
            ("read_key_byte", self.read_key_bytes.into()),
            ("write_key_byte", 0),
            ("read_data_byte", self.read_data_bytes.into()),
            ("write_data_byte", self.write_data_bytes.into()),
            ("read_code_byte", self.read_code_bytes.into()),
            ("write_code_byte", self.write_code_bytes.into()),
            ("emit_event", self.events.into()),
            ("emit_event_byte", self.events_bytes.into()),
            ("cpu_insn", self.instructions),
            ("mem_byte", self.memory_bytes),
            ("invoke_time_nsecs", 0),
            ("max_rw_key_byte", self.max_key_bytes.into()),
            ("max_rw_data_byte", self.max_data_bytes.into()),
            ("max_rw_code_byte", self.max_code_bytes.into()),
            ("max_emit_event_byte", self.max_event_bytes.into()),
        ]
        .into_iter()
        .map(move |(name, value)| core_metric(success, name, value))
    }
}
