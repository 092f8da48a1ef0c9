use device_registry::{DeviceInfo, DeviceRegistry, DeviceRegistryClient, Error};
use soroban_sdk::{
    testutils::{Address as _, AuthorizedFunction, Events, Ledger},
    vec, Address, BytesN, Env, IntoVal, Map, Symbol, Val, Vec,
};

const NOW: u64 = 1_790_000_000;

fn registry(env: &Env) -> DeviceRegistryClient<'_> {
    env.mock_all_auths();
    env.ledger().set_timestamp(NOW);
    DeviceRegistryClient::new(env, &env.register(DeviceRegistry, ()))
}

fn hash(env: &Env, byte: u8) -> BytesN<32> {
    BytesN::from_array(env, &[byte; 32])
}

/// Registers a device for a new wallet with a new agent.
fn registered(env: &Env, registry: &DeviceRegistryClient, device_hash: &BytesN<32>) -> (Address, Address) {
    let (wallet, agent) = (Address::generate(env), Address::generate(env));
    registry.register(&wallet, device_hash, &agent);
    (wallet, agent)
}

/// Who had to authorise the last call, and with which function and arguments.
fn last_auth(env: &Env) -> std::vec::Vec<(Address, Symbol, Vec<Val>)> {
    let auths = env.auths();
    let call = |(who, invocation): &(Address, soroban_sdk::testutils::AuthorizedInvocation)| {
        assert!(invocation.sub_invocations.is_empty());
        match &invocation.function {
            AuthorizedFunction::Contract((_, function, args)) => (who.clone(), function.clone(), args.clone()),
            other => panic!("{other:?}"),
        }
    };
    auths.iter().map(call).collect()
}

#[test]
fn initialize_takes_the_administrator_once_with_its_authorisation() {
    let env = Env::default();
    let registry = registry(&env);
    let admin = Address::generate(&env);
    registry.initialize(&admin);
    let args = vec![&env, admin.to_val()];
    assert_eq!(
        last_auth(&env),
        [(admin.clone(), Symbol::new(&env, "initialize"), args)]
    );
    let again = registry.try_initialize(&Address::generate(&env));
    assert_eq!(again, Err(Ok(Error::AlreadyInitialized.into())));
    env.as_contract(&registry.address, || {
        let key: Vec<Val> = (Symbol::new(&env, "Admin"),).into_val(&env);
        assert_eq!(env.storage().persistent().get(&key), Some(admin));
    });
}

#[test]
fn register_stores_the_device_and_appends_it_to_the_list_of_the_wallet() {
    let env = Env::default();
    let registry = registry(&env);
    let device_hash = hash(&env, 1);
    let (wallet, agent) = registered(&env, &registry, &device_hash);
    let args: Vec<Val> = (wallet.clone(), device_hash.clone(), agent.clone()).into_val(&env);
    assert_eq!(last_auth(&env), [(wallet.clone(), Symbol::new(&env, "register"), args)]);
    let info = DeviceInfo {
        owner: wallet.clone(),
        agent: agent.clone(),
        status: 0,
        created_at: NOW,
    };
    assert_eq!(registry.get_device(&device_hash), info);
    assert_eq!(registry.get_agent(&device_hash), agent);
    assert_eq!(registry.get_owner(&device_hash), wallet);
    assert_eq!(registry.wallet_device_count(&wallet), 1);
    assert_eq!(registry.wallet_device_at(&wallet, &0), device_hash);
}

#[test]
fn register_publishes_the_agent_under_the_device() {
    let env = Env::default();
    let registry = registry(&env);
    let device_hash = hash(&env, 1);
    let (_, agent) = registered(&env, &registry, &device_hash);
    let topics: Vec<Val> = (Symbol::new(&env, "register"), device_hash).into_val(&env);
    assert_eq!(
        env.events().all(),
        vec![&env, (registry.address.clone(), topics, agent.to_val())]
    );
}

#[test]
fn register_refuses_a_hash_that_is_taken_by_whomever() {
    let env = Env::default();
    let registry = registry(&env);
    let device_hash = hash(&env, 1);
    let (wallet, agent) = registered(&env, &registry, &device_hash);
    let taken = Err(Ok(Error::AlreadyRegistered.into()));
    assert_eq!(registry.try_register(&wallet, &device_hash, &agent), taken);
    assert_eq!(
        registry.try_register(&Address::generate(&env), &device_hash, &agent),
        taken
    );
}

#[test]
fn revoke_removes_the_device_and_keeps_the_rest_of_the_list_in_order() {
    let env = Env::default();
    let registry = registry(&env);
    let (wallet, agent) = (Address::generate(&env), Address::generate(&env));
    for byte in 1..=4 {
        registry.register(&wallet, &hash(&env, byte), &agent);
    }
    registry.revoke(&wallet, &hash(&env, 2));
    let args: Vec<Val> = (wallet.clone(), hash(&env, 2)).into_val(&env);
    assert_eq!(last_auth(&env), [(wallet.clone(), Symbol::new(&env, "revoke"), args)]);
    let listed: std::vec::Vec<_> = (0..registry.wallet_device_count(&wallet))
        .map(|index| registry.wallet_device_at(&wallet, &index))
        .collect();
    assert_eq!(listed, [1, 3, 4].map(|byte| hash(&env, byte)));
    let not_found = Err(Ok(Error::DeviceNotFound.into()));
    assert_eq!(registry.try_get_device(&hash(&env, 2)), not_found);
    assert_eq!(
        registry.try_wallet_device_at(&wallet, &3),
        Err(Ok(Error::DeviceNotFound.into()))
    );
}

#[test]
fn revoke_publishes_an_empty_map_and_frees_the_hash() {
    let env = Env::default();
    let registry = registry(&env);
    let device_hash = hash(&env, 1);
    let (wallet, _) = registered(&env, &registry, &device_hash);
    registry.revoke(&wallet, &device_hash);
    let topics: Vec<Val> = (Symbol::new(&env, "revoke"), device_hash.clone()).into_val(&env);
    let data = Map::<Val, Val>::new(&env).to_val();
    assert_eq!(env.events().all(), vec![&env, (registry.address.clone(), topics, data)]);
    assert_eq!(registry.wallet_device_count(&wallet), 0);
    let (other, _) = registered(&env, &registry, &device_hash);
    assert_eq!(registry.get_owner(&device_hash), other);
}

#[test]
fn revoke_refuses_an_unknown_device_and_a_wallet_that_does_not_own_it() {
    let env = Env::default();
    let registry = registry(&env);
    let device_hash = hash(&env, 1);
    let stranger = Address::generate(&env);
    assert_eq!(
        registry.try_revoke(&stranger, &device_hash),
        Err(Ok(Error::DeviceNotFound.into()))
    );
    registered(&env, &registry, &device_hash);
    assert_eq!(
        registry.try_revoke(&stranger, &device_hash),
        Err(Ok(Error::NotOwner.into()))
    );
}

#[test]
fn is_authorized_holds_for_the_agent_of_a_known_device_only() {
    let env = Env::default();
    let registry = registry(&env);
    let device_hash = hash(&env, 1);
    let (wallet, agent) = registered(&env, &registry, &device_hash);
    assert!(registry.is_authorized(&device_hash, &agent));
    assert!(!registry.is_authorized(&device_hash, &wallet));
    assert!(!registry.is_authorized(&hash(&env, 2), &agent));
}

#[test]
fn the_getters_refuse_an_unknown_device_and_count_none_for_an_unknown_wallet() {
    let env = Env::default();
    let registry = registry(&env);
    let unknown = hash(&env, 9);
    let wallet = Address::generate(&env);
    assert_eq!(registry.try_get_device(&unknown), Err(Ok(Error::DeviceNotFound.into())));
    assert_eq!(registry.try_get_agent(&unknown), Err(Ok(Error::DeviceNotFound.into())));
    assert_eq!(registry.try_get_owner(&unknown), Err(Ok(Error::DeviceNotFound.into())));
    assert_eq!(
        registry.try_wallet_device_at(&wallet, &0),
        Err(Ok(Error::DeviceNotFound.into()))
    );
    assert_eq!(registry.wallet_device_count(&wallet), 0);
}

#[test]
fn every_change_needs_its_authorisation() {
    let env = Env::default();
    let registry = registry(&env);
    let device_hash = hash(&env, 1);
    let (wallet, agent) = registered(&env, &registry, &device_hash);
    env.set_auths(&[]);
    assert!(registry.try_initialize(&wallet).is_err());
    assert!(registry.try_register(&wallet, &hash(&env, 2), &agent).is_err());
    assert!(registry.try_revoke(&wallet, &device_hash).is_err());
}

#[test]
fn storage_keys_are_vectors_of_a_symbol_and_the_arguments_in_persistent_storage() {
    let env = Env::default();
    let registry = registry(&env);
    let device_hash = hash(&env, 1);
    let (wallet, _) = registered(&env, &registry, &device_hash);
    env.as_contract(&registry.address, || {
        let store = env.storage().persistent();
        let device: Vec<Val> = (Symbol::new(&env, "Device"), device_hash.clone()).into_val(&env);
        let count: Vec<Val> = (Symbol::new(&env, "WalletDeviceCount"), wallet.clone()).into_val(&env);
        let at: Vec<Val> = (Symbol::new(&env, "WalletDeviceByIndex"), wallet.clone(), 0u32).into_val(&env);
        assert!(store.get::<_, DeviceInfo>(&device).is_some());
        assert_eq!(store.get(&count), Some(1u32));
        assert_eq!(store.get(&at), Some(device_hash.clone()));
    });
}
