//! The part of stellar-core's validation that looks at the operation itself.
use crate::apply::has_ttl;
use crate::check::{Checked, Invalid, Verdict};
use crate::network::TransactionLimits;
use soroban_env_host::{
    ledger_info::get_key_durability,
    xdr::{
        AccountId, Asset, ContractDataDurability, ContractIdPreimage, ExtendFootprintTtlOp, HostFunction,
        LedgerFootprint, OperationBody, ScError, ScErrorCode, SorobanTransactionData, TrustLineAsset,
    },
    LedgerInfo,
};

fn invalid(error: ScError, message: &str, args: &[u64]) -> Checked {
    Err(Invalid::new(Verdict::OperationInvalid, error, message, args))
}

fn invalid_input(message: &str) -> Checked {
    invalid(ScError::Storage(ScErrorCode::InvalidInput), message, &[])
}

pub fn check_operation(
    limits: &TransactionLimits,
    info: &LedgerInfo,
    operation: &OperationBody,
    data: &SorobanTransactionData,
) -> Checked {
    let footprint = &data.resources.footprint;
    match operation {
        OperationBody::InvokeHostFunction(invoke) => check_invoke(limits, &invoke.host_function),
        OperationBody::ExtendFootprintTtl(extend) => check_extend(info, extend, footprint),
        OperationBody::RestoreFootprint(_) => check_restore(footprint),
        _ => invalid_input("not a Soroban operation"),
    }
}

fn check_invoke(limits: &TransactionLimits, host_function: &HostFunction) -> Checked {
    match host_function {
        HostFunction::UploadContractWasm(wasm) if wasm.len() > limits.contract_code_bytes as usize => invalid(
            ScError::Budget(ScErrorCode::ExceededLimit),
            "uploaded Wasm size exceeds network config maximum contract size",
            &[wasm.len() as u64, limits.contract_code_bytes.into()],
        ),
        HostFunction::CreateContract(create) => match &create.contract_id_preimage {
            ContractIdPreimage::Asset(asset) if !is_valid_asset(asset) => invalid(
                ScError::Value(ScErrorCode::InvalidInput),
                "invalid asset to create contract from",
                &[],
            ),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn check_extend(info: &LedgerInfo, extend: &ExtendFootprintTtlOp, footprint: &LedgerFootprint) -> Checked {
    let longest = info.max_entry_ttl.saturating_sub(1);
    if !footprint.read_write.is_empty() {
        return invalid_input("read-write footprint must be empty for ExtendFootprintTTL operation");
    }
    if !footprint.read_only.iter().all(has_ttl) {
        return invalid_input("only entries with TTL (contract data or code entries) can have it extended");
    }
    if extend.extend_to > longest {
        let error = ScError::Storage(ScErrorCode::InvalidInput);
        let args = [extend.extend_to.into(), longest.into()];
        return invalid(error, "TTL extension is too large: {} > {}", &args);
    }
    Ok(())
}

fn check_restore(footprint: &LedgerFootprint) -> Checked {
    let persistent = Some(ContractDataDurability::Persistent);
    if !footprint.read_only.is_empty() {
        return invalid_input("read-only footprint must be empty for RestoreFootprint operation");
    }
    if !footprint
        .read_write
        .iter()
        .all(|key| get_key_durability(key) == persistent)
    {
        return invalid_input("only persistent Soroban entries can be restored");
    }
    Ok(())
}

/// Whether `account` can hold a trustline of `asset`.
pub fn is_held_asset(asset: &TrustLineAsset, account: &AccountId) -> bool {
    match asset {
        TrustLineAsset::Native => false,
        TrustLineAsset::CreditAlphanum4(a) => is_valid_code(&a.asset_code.0, 1) && a.issuer != *account,
        TrustLineAsset::CreditAlphanum12(a) => is_valid_code(&a.asset_code.0, 5) && a.issuer != *account,
        TrustLineAsset::PoolShare(_) => true,
    }
}

fn is_valid_asset(asset: &Asset) -> bool {
    match asset {
        Asset::Native => true,
        Asset::CreditAlphanum4(a) => is_valid_code(&a.asset_code.0, 1),
        Asset::CreditAlphanum12(a) => is_valid_code(&a.asset_code.0, 5),
    }
}

/// Letters and digits, at least `shortest` of them, then only zeros.
fn is_valid_code(code: &[u8], shortest: usize) -> bool {
    let len = code.iter().position(|b| *b == 0).unwrap_or(code.len());
    let (text, padding) = code.split_at(len);
    len >= shortest && text.iter().all(u8::is_ascii_alphanumeric) && padding.iter().all(|b| *b == 0)
}
