//! What the escrow stores. Amounts are in the asset's smallest unit.
use soroban_sdk::{contracterror, contracttype, Address, BytesN, Env};

#[contracterror]
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum Error {
    AlreadyInitialized = 1,
    InsufficientBalance = 2,
    AgentNotAuthorized = 3,
    NotDeviceOwner = 4,
    NothingToClaim = 5,
    DuplicateAuth = 6,
    AgentStillActive = 7,
    DeviceNotRegistered = 8,
}

#[contracttype]
pub enum DataKey {
    Admin,
    AgentRegistry,
    DeviceRegistry,
    EscrowBalance(BytesN<32>),
    /// How many payments were authorised for a merchant since its last claim.
    PendingIndex(Address),
    /// Temporary; the second part runs from 1 to `PendingIndex`.
    PendingPayment((Address, u32)),
    /// The last nonce of a device and an agent.
    AuthNonce((BytesN<32>, Address)),
}

#[contracttype]
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Payment {
    pub device_hash: BytesN<32>,
    pub amount: i128,
    /// Unix seconds.
    pub timestamp: u64,
}

pub fn balance(env: &Env, device_hash: &BytesN<32>) -> i128 {
    let key = DataKey::EscrowBalance(device_hash.clone());
    env.storage().persistent().get(&key).unwrap_or(0)
}

pub fn set_balance(env: &Env, device_hash: &BytesN<32>, balance: i128) {
    let key = DataKey::EscrowBalance(device_hash.clone());
    env.storage().persistent().set(&key, &balance);
}

pub fn add_pending_payment(env: &Env, merchant: &Address, device_hash: &BytesN<32>, amount: i128) {
    let index = pending_index(env, merchant) + 1;
    let index_key = DataKey::PendingIndex(merchant.clone());
    env.storage().persistent().set(&index_key, &index);
    let payment = Payment {
        device_hash: device_hash.clone(),
        amount,
        timestamp: env.ledger().timestamp(),
    };
    let key = DataKey::PendingPayment((merchant.clone(), index));
    env.storage().temporary().set(&key, &payment);
}

/// The payments of a merchant that are still there, with their keys.
pub fn pending_payments<'a>(env: &'a Env, merchant: &'a Address) -> impl Iterator<Item = (DataKey, Payment)> + 'a {
    (1..=pending_index(env, merchant)).filter_map(|index| {
        let key = DataKey::PendingPayment((merchant.clone(), index));
        let payment = env.storage().temporary().get(&key)?;
        Some((key, payment))
    })
}

fn pending_index(env: &Env, merchant: &Address) -> u32 {
    let key = DataKey::PendingIndex(merchant.clone());
    env.storage().persistent().get(&key).unwrap_or(0)
}
