#![no_std]
//! Which wallet owns a device (a card, named by the SHA-256 of its UID) and which agent it was issued with.
use soroban_sdk::{
    contract, contracterror, contractevent, contractimpl, contracttype, panic_with_error, Address, BytesN, Env,
};

#[contracterror]
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum Error {
    AlreadyInitialized = 1,
    DeviceNotFound = 2,
    NotOwner = 3,
    AlreadyRegistered = 4,
}

#[contracttype]
pub enum DataKey {
    Admin,
    WalletDeviceCount(Address),
    /// Indices run from 0 to the count, without gaps, in the order of registration.
    WalletDeviceByIndex(Address, u32),
    Device(BytesN<32>),
}

#[contracttype]
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeviceInfo {
    pub owner: Address,
    pub agent: Address,
    /// 0: active.
    pub status: u32,
    /// Unix seconds.
    pub created_at: u64,
}

#[contractevent(topics = ["register"], data_format = "single-value")]
pub struct Register {
    #[topic]
    pub device_hash: BytesN<32>,
    pub agent: Address,
}

#[contractevent(topics = ["revoke"])]
pub struct Revoke {
    #[topic]
    pub device_hash: BytesN<32>,
}

const ACTIVE: u32 = 0;

#[contract]
pub struct DeviceRegistry;

#[contractimpl]
impl DeviceRegistry {
    /// Sets the administrator, once.
    pub fn initialize(env: Env, admin: Address) {
        admin.require_auth();
        let store = env.storage().persistent();
        if store.has(&DataKey::Admin) {
            panic_with_error!(&env, Error::AlreadyInitialized);
        }
        store.set(&DataKey::Admin, &admin);
    }

    /// Registers a device and appends it to the wallet's list.
    pub fn register(env: Env, wallet: Address, device_hash: BytesN<32>, agent: Address) {
        wallet.require_auth();
        let store = env.storage().persistent();
        let key = DataKey::Device(device_hash.clone());
        if store.has(&key) {
            panic_with_error!(&env, Error::AlreadyRegistered);
        }
        let info = DeviceInfo {
            owner: wallet.clone(),
            agent: agent.clone(),
            status: ACTIVE,
            created_at: env.ledger().timestamp(),
        };
        store.set(&key, &info);
        let count = device_count(&env, &wallet);
        store.set(&DataKey::WalletDeviceByIndex(wallet.clone(), count), &device_hash);
        store.set(&DataKey::WalletDeviceCount(wallet), &(count + 1));
        Register { device_hash, agent }.publish(&env);
    }

    /// Removes a device, so that its hash can be registered again, and closes the gap in the wallet's list.
    pub fn revoke(env: Env, wallet: Address, device_hash: BytesN<32>) {
        wallet.require_auth();
        if device(&env, &device_hash).owner != wallet {
            panic_with_error!(&env, Error::NotOwner);
        }
        env.storage().persistent().remove(&DataKey::Device(device_hash.clone()));
        remove_from_list(&env, &wallet, &device_hash);
        Revoke { device_hash }.publish(&env);
    }

    pub fn get_device(env: Env, device_hash: BytesN<32>) -> DeviceInfo {
        device(&env, &device_hash)
    }

    pub fn wallet_device_count(env: Env, wallet: Address) -> u32 {
        device_count(&env, &wallet)
    }

    pub fn wallet_device_at(env: Env, wallet: Address, index: u32) -> BytesN<32> {
        match device_at(&env, &wallet, index) {
            Some(device_hash) => device_hash,
            None => panic_with_error!(&env, Error::DeviceNotFound),
        }
    }

    /// Whether `agent` is the one the active device was registered with.
    pub fn is_authorized(env: Env, device_hash: BytesN<32>, agent: Address) -> bool {
        find_device(&env, &device_hash).is_some_and(|info| info.agent == agent && info.status == ACTIVE)
    }

    pub fn get_agent(env: Env, device_hash: BytesN<32>) -> Address {
        device(&env, &device_hash).agent
    }

    pub fn get_owner(env: Env, device_hash: BytesN<32>) -> Address {
        device(&env, &device_hash).owner
    }
}

fn find_device(env: &Env, device_hash: &BytesN<32>) -> Option<DeviceInfo> {
    let key = DataKey::Device(device_hash.clone());
    env.storage().persistent().get(&key)
}

fn device(env: &Env, device_hash: &BytesN<32>) -> DeviceInfo {
    match find_device(env, device_hash) {
        Some(info) => info,
        None => panic_with_error!(env, Error::DeviceNotFound),
    }
}

fn device_count(env: &Env, wallet: &Address) -> u32 {
    let key = DataKey::WalletDeviceCount(wallet.clone());
    env.storage().persistent().get(&key).unwrap_or(0)
}

fn device_at(env: &Env, wallet: &Address, index: u32) -> Option<BytesN<32>> {
    let key = DataKey::WalletDeviceByIndex(wallet.clone(), index);
    env.storage().persistent().get(&key)
}

/// Moves what follows the device down by one, so the list keeps its order.
fn remove_from_list(env: &Env, wallet: &Address, device_hash: &BytesN<32>) {
    let store = env.storage().persistent();
    let count = device_count(env, wallet);
    let Some(place) = (0..count).find(|i| device_at(env, wallet, *i).as_ref() == Some(device_hash)) else {
        return;
    };
    let last = count - 1;
    for index in place..last {
        if let Some(next) = device_at(env, wallet, index + 1) {
            store.set(&DataKey::WalletDeviceByIndex(wallet.clone(), index), &next);
        }
    }
    store.remove(&DataKey::WalletDeviceByIndex(wallet.clone(), last));
    store.set(&DataKey::WalletDeviceCount(wallet.clone()), &last);
}
