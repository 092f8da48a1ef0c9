#![no_std]
//! Which agent may spend from a device's escrow, and within which policy.
use soroban_sdk::{
    contract, contracterror, contractevent, contractimpl, contracttype, panic_with_error, Address, BytesN, Env,
};

#[contracterror]
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum Error {
    AlreadyInitialized = 1,
    AgentNotFound = 2,
    AlreadyRegistered = 3,
    InvalidPolicy = 4,
}

#[contracttype]
pub enum DataKey {
    Admin,
    AgentMap(BytesN<32>),
}

#[contracttype]
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AgentPolicy {
    pub agent: Address,
    /// Per payment, in the asset's smallest unit; 0: no cap.
    pub max_amount: i128,
    pub asset: Address,
    /// Unix seconds, the last at which the policy holds; 0: never expires.
    pub expires_at: u64,
}

#[contractevent(topics = ["agent_reg"], data_format = "single-value")]
pub struct AgentRegistered {
    #[topic]
    pub device_hash: BytesN<32>,
    pub agent: Address,
}

#[contractevent(topics = ["agent_rev"])]
pub struct AgentRevoked {
    #[topic]
    pub device_hash: BytesN<32>,
}

#[contract]
pub struct AgentRegistry;

#[contractimpl]
impl AgentRegistry {
    /// Sets the administrator, once.
    pub fn initialize(env: Env, admin: Address) {
        admin.require_auth();
        let store = env.storage().persistent();
        if store.has(&DataKey::Admin) {
            panic_with_error!(&env, Error::AlreadyInitialized);
        }
        store.set(&DataKey::Admin, &admin);
    }

    /// Gives a device its agent. Whoever registers first has the device: its owner is not asked.
    pub fn register_agent(
        env: Env,
        wallet: Address,
        device_hash: BytesN<32>,
        agent: Address,
        max_amount: i128,
        asset: Address,
        expires_at: u64,
    ) {
        wallet.require_auth();
        let policy = AgentPolicy {
            agent: agent.clone(),
            max_amount,
            asset,
            expires_at,
        };
        let has_ended = expires_at != 0 && expires_at <= env.ledger().timestamp();
        if max_amount < 0 || has_ended {
            panic_with_error!(&env, Error::InvalidPolicy);
        }
        let store = env.storage().persistent();
        let key = DataKey::AgentMap(device_hash.clone());
        if store.has(&key) {
            panic_with_error!(&env, Error::AlreadyRegistered);
        }
        store.set(&key, &policy);
        AgentRegistered { device_hash, agent }.publish(&env);
    }

    /// Removes a device's agent. Any wallet may, as in the deployed contract.
    pub fn revoke_agent(env: Env, wallet: Address, device_hash: BytesN<32>) {
        wallet.require_auth();
        let store = env.storage().persistent();
        let key = DataKey::AgentMap(device_hash.clone());
        if !store.has(&key) {
            panic_with_error!(&env, Error::AgentNotFound);
        }
        store.remove(&key);
        AgentRevoked { device_hash }.publish(&env);
    }

    pub fn get_agent(env: Env, device_hash: BytesN<32>) -> Address {
        policy(&env, &device_hash).agent
    }

    pub fn get_policy(env: Env, device_hash: BytesN<32>) -> AgentPolicy {
        policy(&env, &device_hash)
    }

    /// Whether `agent` is the device's and its policy has not expired.
    pub fn is_auth(env: Env, device_hash: BytesN<32>, agent: Address) -> bool {
        find_policy(&env, &device_hash).is_some_and(|policy| policy.agent == agent && !has_expired(&env, &policy))
    }

    /// Whether the policy allows `agent` to pay `amount` of `asset`.
    pub fn check_payment(env: Env, device_hash: BytesN<32>, agent: Address, asset: Address, amount: i128) -> bool {
        find_policy(&env, &device_hash).is_some_and(|policy| {
            let within_cap = policy.max_amount == 0 || amount <= policy.max_amount;
            policy.agent == agent && policy.asset == asset && amount > 0 && within_cap && !has_expired(&env, &policy)
        })
    }
}

fn find_policy(env: &Env, device_hash: &BytesN<32>) -> Option<AgentPolicy> {
    let key = DataKey::AgentMap(device_hash.clone());
    env.storage().persistent().get(&key)
}

fn policy(env: &Env, device_hash: &BytesN<32>) -> AgentPolicy {
    match find_policy(env, device_hash) {
        Some(policy) => policy,
        None => panic_with_error!(env, Error::AgentNotFound),
    }
}

fn has_expired(env: &Env, policy: &AgentPolicy) -> bool {
    policy.expires_at != 0 && env.ledger().timestamp() > policy.expires_at
}
