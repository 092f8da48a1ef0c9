//! XDR as JSON (SEP-51), written by the XDR crate itself: what an RPC node answers for `xdrFormat: "json"`.
use crate::abi::{from_xdr, Frames, Writer};
use crate::Refusal;
use soroban_env_host::xdr::{
    ContractEvent, DiagnosticEvent, LedgerCloseMeta, LedgerEntry, LedgerEntryData, LedgerEntryExt, LedgerHeader,
    LedgerHeaderHistoryEntry, LedgerKey, ReadXdr, ScVal, SorobanAuthorizationEntry, SorobanTransactionData,
    TransactionEnvelope, TransactionEvent, TransactionMeta, TransactionResult,
};

/// `json_of!(bytes, name, Type, …)`: the JSON of `bytes` as the type that is called `name`.
macro_rules! json_of {
    ($bytes:expr, $name:expr, $($kind:ident),* $(,)?) => {
        match $name {
            $(stringify!($kind) => json::<$kind>($bytes),)*
            other => Err(format!("no JSON of the XDR type {other}")),
        }
    };
}

/// Answers a JSON text for each XDR value; see [`crate::Method::ToJson`] for the frames.
pub fn to_json(mut frames: Frames, out: &mut Writer) -> Result<(), Refusal> {
    let name = std::str::from_utf8(frames.take()?).map_err(|e| format!("cannot read the name of a type: {e}"))?;
    for bytes in frames.take_rest()? {
        let text = json_of!(
            bytes,
            name,
            ContractEvent,
            DiagnosticEvent,
            LedgerCloseMeta,
            LedgerEntry,
            LedgerEntryData,
            LedgerEntryExt,
            LedgerHeader,
            LedgerHeaderHistoryEntry,
            LedgerKey,
            ScVal,
            SorobanAuthorizationEntry,
            SorobanTransactionData,
            TransactionEnvelope,
            TransactionEvent,
            TransactionMeta,
            TransactionResult,
        )?;
        out.put(text.as_bytes());
    }
    Ok(())
}

fn json<T: ReadXdr + serde::Serialize>(bytes: &[u8]) -> Result<String, Refusal> {
    let value: T = from_xdr(bytes)?;
    serde_json::to_string(&value).map_err(|e| format!("cannot write the JSON: {e}"))
}
