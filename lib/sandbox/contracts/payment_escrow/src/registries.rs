//! What the escrow calls in the two registries.
use soroban_sdk::{contractclient, Address, BytesN, Env};

#[contractclient(name = "AgentRegistryClient")]
#[allow(dead_code, reason = "only the client made of it is used")]
pub trait AgentRegistry {
    fn is_auth(env: Env, device_hash: BytesN<32>, agent: Address) -> bool;
    fn check_payment(env: Env, device_hash: BytesN<32>, agent: Address, asset: Address, amount: i128) -> bool;
}

#[contractclient(name = "DeviceRegistryClient")]
#[allow(dead_code, reason = "only the client made of it is used")]
pub trait DeviceRegistry {
    fn get_owner(env: Env, device_hash: BytesN<32>) -> Address;
}
