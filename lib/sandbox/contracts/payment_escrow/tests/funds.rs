//! Into the escrow and back to the owner.
mod fixture;

use fixture::Fixture;
use payment_escrow::{Error, PaymentEscrow, PaymentEscrowClient};
use soroban_sdk::{
    testutils::{Address as _, AuthorizedFunction},
    Address, BytesN, Env, IntoVal,
};

#[test]
fn initialize_takes_administrator_and_registries_once() {
    let env = Env::default();
    let f = Fixture::new(&env);
    let again = f
        .escrow
        .try_initialize(&f.wallet, &f.agents.address, &f.devices.address);
    assert_eq!(again, Err(Ok(Error::AlreadyInitialized.into())));
    env.as_contract(&f.escrow.address, || {
        let store = env.storage().persistent();
        let key = |name| (f.symbol(name),).into_val(&env);
        assert!(store.has::<soroban_sdk::Vec<soroban_sdk::Val>>(&key("Admin")));
        assert_eq!(store.get(&key("AgentRegistry")), Some(f.agents.address.clone()));
        assert_eq!(store.get(&key("DeviceRegistry")), Some(f.devices.address.clone()));
    });
}

#[test]
fn fund_escrow_moves_the_tokens_and_raises_the_balance() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    f.fund(20);
    f.assert_published((f.symbol("fund"), f.device_hash.clone()), 20);
    assert_eq!(f.escrow.balance_of(&f.device_hash), 120);
    assert_eq!(f.token.balance(&f.wallet), 880);
    assert_eq!(f.token.balance(&f.escrow.address), 120);
}

#[test]
fn fund_escrow_needs_the_wallet_to_authorise_the_transfer_under_it() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    let auths = env.auths();
    let (who, invocation) = &auths[0];
    assert_eq!((auths.len(), who), (1, &f.wallet));
    assert_eq!(invocation.sub_invocations.len(), 1);
    let transfer = &invocation.sub_invocations[0].function;
    let args = (f.wallet.clone(), f.escrow.address.clone(), 100i128).into_val(&env);
    let expected = AuthorizedFunction::Contract((f.token.address.clone(), f.symbol("transfer"), args));
    assert_eq!(transfer, &expected);
}

#[test]
fn fund_escrow_takes_from_any_wallet_but_not_for_an_unknown_device() {
    let env = Env::default();
    let f = Fixture::new(&env);
    let unknown = BytesN::from_array(&env, &[8; 32]);
    let result = f.escrow.try_fund_escrow(&f.token.address, &f.wallet, &unknown, &100);
    assert_eq!(result, Err(Ok(Error::DeviceNotRegistered.into())));
    assert_eq!(f.token.balance(&f.wallet), 1000);
    let friend = Address::generate(&env);
    f.token.transfer(&f.wallet, &friend, &10);
    f.escrow.fund_escrow(&f.token.address, &friend, &f.device_hash, &10);
    assert_eq!(f.escrow.balance_of(&f.device_hash), 10);
}

#[test]
fn fund_escrow_leaves_negative_and_uncovered_amounts_to_the_token() {
    let env = Env::default();
    let f = Fixture::new(&env);
    let fund = |amount: i128| {
        let token = &f.token.address;
        f.escrow.try_fund_escrow(token, &f.wallet, &f.device_hash, &amount)
    };
    // The asset contract's NegativeAmountError and BalanceError.
    let refused = |code| Err(Ok(soroban_sdk::Error::from_contract_error(code)));
    assert_eq!(fund(-1), refused(8));
    assert_eq!(fund(1001), refused(10));
    assert_eq!(f.escrow.balance_of(&f.device_hash), 0);
    assert_eq!(fund(0), Ok(Ok(())));
    assert_eq!(f.escrow.balance_of(&f.device_hash), 0);
}

#[test]
fn defund_escrow_pays_back_to_the_owner_with_its_authorisation() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    f.escrow.defund_escrow(&f.token.address, &f.device_hash, &30);
    let auths = env.auths();
    assert_eq!((auths.len(), &auths[0].0), (1, &f.wallet));
    f.assert_published((f.symbol("defund"), f.device_hash.clone()), 30);
    assert_eq!(f.escrow.balance_of(&f.device_hash), 70);
    assert_eq!(f.token.balance(&f.wallet), 930);
}

#[test]
fn defund_escrow_refuses_more_than_the_balance_and_a_negative_amount() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    let defund = |amount: i128| f.escrow.try_defund_escrow(&f.token.address, &f.device_hash, &amount);
    assert_eq!(defund(101), Err(Ok(Error::InsufficientBalance.into())));
    let negative = soroban_sdk::Error::from_contract_error(8);
    assert_eq!(defund(-1), Err(Ok(negative)));
    assert_eq!(f.escrow.balance_of(&f.device_hash), 100);
}

#[test]
fn defund_and_sweep_pass_on_that_the_device_registry_does_not_know_the_device() {
    let env = Env::default();
    let f = Fixture::new(&env);
    let unknown = BytesN::from_array(&env, &[8; 32]);
    let not_found = device_registry::Error::DeviceNotFound;
    assert_eq!(
        f.escrow.try_defund_escrow(&f.token.address, &unknown, &1),
        Err(Ok(not_found.into()))
    );
    assert_eq!(
        f.escrow.try_sweep_on_revoke(&f.token.address, &unknown, &f.agent),
        Err(Ok(not_found.into()))
    );
}

#[test]
fn sweep_on_revoke_pays_everything_back_once_the_agent_is_revoked() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    let sweep = || f.escrow.try_sweep_on_revoke(&f.token.address, &f.device_hash, &f.agent);
    assert_eq!(sweep(), Err(Ok(Error::AgentStillActive.into())));
    f.agents.revoke_agent(&f.wallet, &f.device_hash);
    assert_eq!(sweep(), Ok(Ok(100)));
    assert_eq!(env.auths()[0].0, f.wallet);
    f.assert_published((f.symbol("sweep"), f.device_hash.clone()), 100);
    assert_eq!(f.escrow.balance_of(&f.device_hash), 0);
    assert_eq!(f.token.balance(&f.wallet), 1000);
    assert_eq!(sweep(), Ok(Ok(0)));
    assert!(soroban_sdk::testutils::Events::all(&env.events()).events().is_empty());
}

#[test]
fn an_escrow_without_registries_knows_no_owner_and_no_agent() {
    let env = Env::default();
    let f = Fixture::new(&env);
    let bare = PaymentEscrowClient::new(&env, &env.register(PaymentEscrow, ()));
    let (token, device_hash) = (&f.token.address, &f.device_hash);
    assert_eq!(
        bare.try_defund_escrow(token, device_hash, &1),
        Err(Ok(Error::NotDeviceOwner.into()))
    );
    assert_eq!(
        bare.try_authorize(&f.agent, device_hash, &f.merchant, token, &1, &1),
        Err(Ok(Error::AgentNotAuthorized.into()))
    );
    assert_eq!(bare.balance_of(device_hash), 0);
    assert_eq!(bare.pending_balance(&f.merchant), 0);
}

#[test]
fn every_change_needs_its_authorisation() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.fund(100);
    f.authorize(40, 1);
    env.set_auths(&[]);
    let (token, device_hash) = (&f.token.address, &f.device_hash);
    assert!(f.escrow.try_fund_escrow(token, &f.wallet, device_hash, &1).is_err());
    assert!(f.escrow.try_defund_escrow(token, device_hash, &1).is_err());
    assert!(f.escrow.try_claim(token, &f.merchant).is_err());
    assert!(f.escrow.try_sweep_on_revoke(token, device_hash, &f.wallet).is_err());
    let agent = &f.agent;
    assert!(f
        .escrow
        .try_authorize(agent, device_hash, &f.merchant, token, &1, &2)
        .is_err());
}
