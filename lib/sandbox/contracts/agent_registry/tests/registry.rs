use agent_registry::{AgentPolicy, AgentRegistry, AgentRegistryClient, Error};
use soroban_sdk::{
    testutils::{Address as _, Events, Ledger},
    vec, Address, BytesN, Env, IntoVal, Map, Symbol, Val, Vec,
};

const NOW: u64 = 1_790_000_000;

struct Fixture<'a> {
    env: &'a Env,
    registry: AgentRegistryClient<'a>,
    wallet: Address,
    agent: Address,
    asset: Address,
    device_hash: BytesN<32>,
}

impl<'a> Fixture<'a> {
    fn new(env: &'a Env) -> Self {
        env.mock_all_auths();
        env.ledger().set_timestamp(NOW);
        Self {
            env,
            registry: AgentRegistryClient::new(env, &env.register(AgentRegistry, ())),
            wallet: Address::generate(env),
            agent: Address::generate(env),
            asset: Address::generate(env),
            device_hash: BytesN::from_array(env, &[7; 32]),
        }
    }

    fn register(&self, max_amount: i128, expires_at: u64) {
        self.registry.register_agent(
            &self.wallet,
            &self.device_hash,
            &self.agent,
            &max_amount,
            &self.asset,
            &expires_at,
        );
    }

    /// The error of registering the device with this policy.
    fn refusal(&self, max_amount: i128, expires_at: u64) -> Option<soroban_sdk::Error> {
        let result = self.registry.try_register_agent(
            &self.wallet,
            &self.device_hash,
            &self.agent,
            &max_amount,
            &self.asset,
            &expires_at,
        );
        result.err().map(|error| error.expect("a contract error"))
    }

    fn allows(&self, amount: i128) -> bool {
        self.registry
            .check_payment(&self.device_hash, &self.agent, &self.asset, &amount)
    }
}

#[test]
fn initialize_takes_the_administrator_once_with_its_authorisation() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.registry.initialize(&f.wallet);
    assert_eq!(env.auths()[0].0, f.wallet);
    assert_eq!(
        f.registry.try_initialize(&f.agent),
        Err(Ok(Error::AlreadyInitialized.into()))
    );
}

#[test]
fn register_agent_stores_the_policy_with_the_authorisation_of_the_wallet() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.register(50, NOW + 60);
    assert_eq!(env.auths().len(), 1);
    assert_eq!(env.auths()[0].0, f.wallet);
    let policy = AgentPolicy {
        agent: f.agent.clone(),
        max_amount: 50,
        asset: f.asset.clone(),
        expires_at: NOW + 60,
    };
    assert_eq!(f.registry.get_policy(&f.device_hash), policy);
    assert_eq!(f.registry.get_agent(&f.device_hash), f.agent);
    env.as_contract(&f.registry.address, || {
        let key: Vec<Val> = (Symbol::new(&env, "AgentMap"), f.device_hash.clone()).into_val(&env);
        assert_eq!(env.storage().persistent().get(&key), Some(policy));
    });
}

#[test]
fn register_agent_publishes_the_agent_under_the_device() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.register(0, 0);
    let topics: Vec<Val> = (Symbol::new(&env, "agent_reg"), f.device_hash.clone()).into_val(&env);
    assert_eq!(
        env.events().all(),
        vec![&env, (f.registry.address.clone(), topics, f.agent.to_val())]
    );
}

#[test]
fn register_agent_refuses_a_negative_cap_and_an_expiry_that_is_not_ahead() {
    let env = Env::default();
    let f = Fixture::new(&env);
    let invalid = Some(Error::InvalidPolicy.into());
    for (max_amount, expires_at) in [(-1, 0), (i128::MIN, 0), (0, 1), (0, NOW - 1), (0, NOW)] {
        assert_eq!(f.refusal(max_amount, expires_at), invalid, "{max_amount}, {expires_at}");
    }
    assert_eq!(f.refusal(i128::MAX, NOW + 1), None);
}

#[test]
fn register_agent_refuses_a_device_that_has_an_agent_until_it_is_revoked() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.register(0, 0);
    assert_eq!(f.refusal(0, 0), Some(Error::AlreadyRegistered.into()));
    f.registry.revoke_agent(&f.wallet, &f.device_hash);
    assert_eq!(f.refusal(0, 0), None);
}

#[test]
fn revoke_agent_removes_the_policy_and_publishes_an_empty_map() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.register(0, 0);
    f.registry.revoke_agent(&f.wallet, &f.device_hash);
    assert_eq!(env.auths()[0].0, f.wallet);
    let topics: Vec<Val> = (Symbol::new(&env, "agent_rev"), f.device_hash.clone()).into_val(&env);
    let data = Map::<Val, Val>::new(&env).to_val();
    assert_eq!(
        env.events().all(),
        vec![&env, (f.registry.address.clone(), topics, data)]
    );
    let not_found = Error::AgentNotFound;
    assert_eq!(f.registry.try_get_agent(&f.device_hash), Err(Ok(not_found.into())));
    assert_eq!(f.registry.try_get_policy(&f.device_hash), Err(Ok(not_found.into())));
    assert_eq!(
        f.registry.try_revoke_agent(&f.wallet, &f.device_hash),
        Err(Ok(not_found.into()))
    );
}

#[test]
fn revoke_agent_asks_only_for_the_authorisation_of_the_wallet_it_is_given() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.register(0, 0);
    f.registry.revoke_agent(&Address::generate(&env), &f.device_hash);
    assert!(f.registry.try_get_agent(&f.device_hash).is_err());
}

#[test]
fn is_auth_holds_for_the_agent_until_the_policy_expires() {
    let env = Env::default();
    let f = Fixture::new(&env);
    let is_auth = |agent: &Address| f.registry.is_auth(&f.device_hash, agent);
    assert!(!is_auth(&f.agent));
    f.register(1, NOW + 10);
    assert!(is_auth(&f.agent));
    assert!(!is_auth(&f.wallet));
    env.ledger().set_timestamp(NOW + 10);
    assert!(is_auth(&f.agent));
    env.ledger().set_timestamp(NOW + 11);
    assert!(!is_auth(&f.agent));
    assert_eq!(f.registry.get_agent(&f.device_hash), f.agent);
}

#[test]
fn check_payment_keeps_to_agent_asset_cap_and_expiry() {
    let env = Env::default();
    let f = Fixture::new(&env);
    assert!(!f.allows(1));
    f.register(50, NOW + 10);
    assert!(f.allows(1) && f.allows(50));
    assert!(!f.allows(51) && !f.allows(0) && !f.allows(-1));
    let check = |agent: &Address, asset: &Address| f.registry.check_payment(&f.device_hash, agent, asset, &1);
    assert!(!check(&f.wallet, &f.asset));
    assert!(!check(&f.agent, &f.wallet));
    env.ledger().set_timestamp(NOW + 10);
    assert!(f.allows(50));
    env.ledger().set_timestamp(NOW + 11);
    assert!(!f.allows(50));
}

#[test]
fn a_cap_and_an_expiry_of_zero_mean_none() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.register(0, 0);
    env.ledger().set_timestamp(u64::MAX);
    assert!(f.allows(i128::MAX));
    assert!(!f.allows(0));
}

#[test]
fn every_change_needs_its_authorisation() {
    let env = Env::default();
    let f = Fixture::new(&env);
    f.register(0, 0);
    f.env.set_auths(&[]);
    assert!(f.registry.try_initialize(&f.wallet).is_err());
    assert!(f.registry.try_revoke_agent(&f.wallet, &f.device_hash).is_err());
    let other = BytesN::from_array(&env, &[8; 32]);
    let result = f
        .registry
        .try_register_agent(&f.wallet, &other, &f.agent, &0, &f.asset, &0);
    assert!(result.is_err());
}
