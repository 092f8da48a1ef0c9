#![no_std]
//! Holds the funds of devices. An agent authorises payments out of a device's balance, at once and without
//! moving tokens; merchants claim what was authorised for them; owners take back what is left.
use soroban_sdk::{contract, contractimpl, panic_with_error, token::TokenClient, Address, BytesN, Env};

mod events;
mod registries;
mod storage;

pub use storage::{DataKey, Error, Payment};

use events::{Authorize, Claim, Defund, Fund, Sweep};
use registries::{AgentRegistryClient, DeviceRegistryClient};
use storage::{balance, pending_payments, set_balance};

#[contract]
pub struct PaymentEscrow;

#[contractimpl]
impl PaymentEscrow {
    /// Sets the administrator and the two registries, once.
    pub fn initialize(env: Env, admin: Address, agent_registry_id: Address, device_registry_id: Address) {
        admin.require_auth();
        let store = env.storage().persistent();
        if store.has(&DataKey::Admin) {
            panic_with_error!(&env, Error::AlreadyInitialized);
        }
        store.set(&DataKey::Admin, &admin);
        store.set(&DataKey::AgentRegistry, &agent_registry_id);
        store.set(&DataKey::DeviceRegistry, &device_registry_id);
    }

    /// Adds to the balance of a registered device. Any wallet may.
    pub fn fund_escrow(env: Env, token: Address, wallet: Address, device_hash: BytesN<32>, amount: i128) {
        wallet.require_auth();
        let owner = device_registry(&env).try_get_owner(&device_hash);
        if !matches!(owner, Ok(Ok(_))) {
            panic_with_error!(&env, Error::DeviceNotRegistered);
        }
        TokenClient::new(&env, &token).transfer(&wallet, env.current_contract_address(), &amount);
        set_balance(&env, &device_hash, balance(&env, &device_hash) + amount);
        Fund { device_hash, amount }.publish(&env);
    }

    /// Reserves `amount` of a device's balance for a merchant, within the agent's policy. No token moves.
    pub fn authorize(
        env: Env,
        agent: Address,
        device_hash: BytesN<32>,
        merchant: Address,
        asset: Address,
        amount: i128,
        nonce: u64,
    ) {
        agent.require_auth();
        let store = env.storage().persistent();
        let nonce_key = DataKey::AuthNonce((device_hash.clone(), agent.clone()));
        if nonce <= store.get(&nonce_key).unwrap_or(0) {
            panic_with_error!(&env, Error::DuplicateAuth);
        }
        store.set(&nonce_key, &nonce);
        if !agent_registry(&env).check_payment(&device_hash, &agent, &asset, &amount) {
            panic_with_error!(&env, Error::AgentNotAuthorized);
        }
        let held = balance(&env, &device_hash);
        if held < amount {
            panic_with_error!(&env, Error::InsufficientBalance);
        }
        set_balance(&env, &device_hash, held - amount);
        storage::add_pending_payment(&env, &merchant, &device_hash, amount);
        Authorize {
            device_hash,
            merchant,
            amount,
        }
        .publish(&env);
    }

    /// Pays a merchant all payments that are still pending. Those that expired are lost to the merchant.
    pub fn claim(env: Env, token: Address, merchant: Address) {
        merchant.require_auth();
        let mut total = 0i128;
        for (key, payment) in pending_payments(&env, &merchant) {
            total += payment.amount;
            env.storage().temporary().remove(&key);
        }
        if total == 0 {
            panic_with_error!(&env, Error::NothingToClaim);
        }
        let index_key = DataKey::PendingIndex(merchant.clone());
        env.storage().persistent().set(&index_key, &0u32);
        pay(&env, &token, &merchant, total);
        Claim { merchant, total }.publish(&env);
    }

    /// Pays a part of a device's balance back to its owner.
    pub fn defund_escrow(env: Env, token: Address, device_hash: BytesN<32>, amount: i128) {
        let owner = device_registry(&env).get_owner(&device_hash);
        owner.require_auth();
        let held = balance(&env, &device_hash);
        if held < amount {
            panic_with_error!(&env, Error::InsufficientBalance);
        }
        set_balance(&env, &device_hash, held - amount);
        // A negative amount ends here: no token transfers one.
        pay(&env, &token, &owner, amount);
        Defund { device_hash, amount }.publish(&env);
    }

    /// Pays all of a device's balance back to its owner, once `agent` has been revoked; answers how much.
    pub fn sweep_on_revoke(env: Env, token: Address, device_hash: BytesN<32>, agent: Address) -> i128 {
        let owner = device_registry(&env).get_owner(&device_hash);
        owner.require_auth();
        if agent_registry(&env).is_auth(&device_hash, &agent) {
            panic_with_error!(&env, Error::AgentStillActive);
        }
        let balance = balance(&env, &device_hash);
        if balance <= 0 {
            return 0;
        }
        set_balance(&env, &device_hash, 0);
        pay(&env, &token, &owner, balance);
        Sweep { device_hash, balance }.publish(&env);
        balance
    }

    pub fn balance_of(env: Env, device_hash: BytesN<32>) -> i128 {
        balance(&env, &device_hash)
    }

    /// What a merchant could claim now.
    pub fn pending_balance(env: Env, merchant: Address) -> i128 {
        pending_payments(&env, &merchant)
            .map(|(_, payment)| payment.amount)
            .sum()
    }
}

fn pay(env: &Env, token: &Address, to: &Address, amount: i128) {
    TokenClient::new(env, token).transfer(&env.current_contract_address(), to, &amount);
}

fn agent_registry(env: &Env) -> AgentRegistryClient<'_> {
    match env.storage().persistent().get(&DataKey::AgentRegistry) {
        Some(id) => AgentRegistryClient::new(env, &id),
        None => panic_with_error!(env, Error::AgentNotAuthorized),
    }
}

fn device_registry(env: &Env) -> DeviceRegistryClient<'_> {
    match env.storage().persistent().get(&DataKey::DeviceRegistry) {
        Some(id) => DeviceRegistryClient::new(env, &id),
        None => panic_with_error!(env, Error::NotDeviceOwner),
    }
}
