//! From the agent's authorisation to the merchant's claim.
mod fixture;

use fixture::{Fixture, NOW};
use payment_escrow::{Error, Payment};
use soroban_sdk::{
    testutils::{storage::Temporary, Address as _, Ledger},
    Address, Env, IntoVal, Val, Vec,
};

#[test]
fn authorize_reserves_the_amount_for_the_merchant_and_moves_no_token() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    f.authorize(40, 1);
    let auths = env.auths();
    assert_eq!((auths.len(), &auths[0].0), (1, &f.agent));
    assert!(auths[0].1.sub_invocations.is_empty());
    let topics = (f.symbol("authorize"), f.device_hash.clone(), f.merchant.clone());
    f.assert_published(topics, 40);
    assert_eq!(f.escrow.balance_of(&f.device_hash), 60);
    assert_eq!(f.escrow.pending_balance(&f.merchant), 40);
    assert_eq!(f.token.balance(&f.escrow.address), 100);
}

#[test]
fn authorize_wants_a_nonce_above_the_last_of_device_and_agent() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    let duplicate = Some(Error::DuplicateAuth.into());
    assert_eq!(f.authorize_refusal(1, 0), duplicate);
    f.authorize(1, 5);
    assert_eq!(f.authorize_refusal(1, 5), duplicate);
    assert_eq!(f.authorize_refusal(1, 4), duplicate);
    f.authorize(1, u64::MAX);
    assert_eq!(f.authorize_refusal(1, u64::MAX), duplicate);
}

#[test]
fn a_refused_authorize_uses_up_no_nonce() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(10);
    assert_eq!(f.authorize_refusal(11, 1), Some(Error::InsufficientBalance.into()));
    f.authorize(10, 1);
}

#[test]
fn authorize_refuses_what_the_policy_does_not_allow() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    let refused = Some(Error::AgentNotAuthorized.into());
    for amount in [51, 0, -1] {
        assert_eq!(f.authorize_refusal(amount, 1), refused, "{amount}");
    }
    let (stranger, other_asset) = (Address::generate(&env), Address::generate(&env));
    let authorize = |agent: &Address, asset: &Address| {
        f.escrow
            .try_authorize(agent, &f.device_hash, &f.merchant, asset, &1, &1)
    };
    assert_eq!(
        authorize(&stranger, &f.token.address),
        Err(Ok(Error::AgentNotAuthorized.into()))
    );
    assert_eq!(
        authorize(&f.agent, &other_asset),
        Err(Ok(Error::AgentNotAuthorized.into()))
    );
    f.agents.revoke_agent(&f.wallet, &f.device_hash);
    assert_eq!(f.authorize_refusal(1, 1), refused);
    f.register_agent();
    f.authorize(1, 1);
}

#[test]
fn authorize_refuses_more_than_the_balance() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(30);
    assert_eq!(f.authorize_refusal(31, 1), Some(Error::InsufficientBalance.into()));
    f.authorize(30, 1);
    assert_eq!(f.authorize_refusal(1, 2), Some(Error::InsufficientBalance.into()));
}

#[test]
fn claim_pays_everything_that_is_pending_with_the_authorisation_of_the_merchant() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    for (nonce, amount) in [(1, 10), (2, 20), (3, 30)] {
        f.authorize(amount, nonce);
    }
    f.escrow.claim(&f.token.address, &f.merchant);
    let auths = env.auths();
    assert_eq!((auths.len(), &auths[0].0), (1, &f.merchant));
    f.assert_published((f.symbol("claim"), f.merchant.clone()), 60);
    assert_eq!(f.token.balance(&f.merchant), 60);
    assert_eq!(f.token.balance(&f.escrow.address), 40);
    assert_eq!(f.escrow.pending_balance(&f.merchant), 0);
    let again = f.escrow.try_claim(&f.token.address, &f.merchant);
    assert_eq!(again, Err(Ok(Error::NothingToClaim.into())));
}

#[test]
fn claim_refuses_a_merchant_for_whom_nothing_is_pending() {
    let env = Env::default();
    let f = Fixture::new(&env);
    let result = f.escrow.try_claim(&f.token.address, &f.merchant);
    assert_eq!(result, Err(Ok(Error::NothingToClaim.into())));
}

#[test]
fn merchants_and_devices_do_not_touch_one_another() {
    let env = Env::default();
    let f = Fixture::new(&env);
    let other = Address::generate(&env);
    f.fund(100);
    f.authorize(10, 1);
    f.escrow
        .authorize(&f.agent, &f.device_hash, &other, &f.token.address, &5, &2);
    f.escrow.claim(&f.token.address, &other);
    assert_eq!(f.token.balance(&other), 5);
    assert_eq!(f.escrow.pending_balance(&f.merchant), 10);
}

#[test]
fn a_payment_that_expired_is_neither_pending_nor_claimed() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    f.authorize(10, 1);
    let key = pending_key(&f, 1);
    let ttl = env.as_contract(&f.escrow.address, || env.storage().temporary().get_ttl(&key));
    env.ledger().set_sequence_number(env.ledger().sequence() + ttl + 1);
    f.authorize(20, 2);
    assert_eq!(f.escrow.pending_balance(&f.merchant), 20);
    f.escrow.claim(&f.token.address, &f.merchant);
    assert_eq!(f.token.balance(&f.merchant), 20);
}

#[test]
fn pending_payments_are_temporary_and_numbered_from_one_to_the_index() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    f.authorize(10, 1);
    f.authorize(20, 2);
    let index: Vec<Val> = (f.symbol("PendingIndex"), f.merchant.clone()).into_val(&env);
    let stored = |n| env.as_contract(&f.escrow.address, || env.storage().temporary().get(&pending_key(&f, n)));
    let pending_index = || env.as_contract(&f.escrow.address, || env.storage().persistent().get(&index));
    let payment = |amount| Payment {
        device_hash: f.device_hash.clone(),
        amount,
        timestamp: NOW,
    };
    assert_eq!(
        [0, 1, 2, 3].map(stored),
        [None, Some(payment(10)), Some(payment(20)), None]
    );
    assert_eq!(pending_index(), Some(2u32));
    f.escrow.claim(&f.token.address, &f.merchant);
    assert_eq!([1, 2].map(stored), [None, None]);
    assert_eq!(pending_index(), Some(0u32));
}

#[test]
fn balances_and_nonces_are_persistent() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    f.authorize(10, 3);
    let balance: Vec<Val> = (f.symbol("EscrowBalance"), f.device_hash.clone()).into_val(&env);
    let nonce: Vec<Val> = (f.symbol("AuthNonce"), (f.device_hash.clone(), f.agent.clone())).into_val(&env);
    env.as_contract(&f.escrow.address, || {
        let store = env.storage().persistent();
        assert_eq!(store.get(&balance), Some(90i128));
        assert_eq!(store.get(&nonce), Some(3u64));
    });
}

fn pending_key(f: &Fixture, index: u32) -> Vec<Val> {
    (f.symbol("PendingPayment"), (f.merchant.clone(), index)).into_val(f.env)
}
