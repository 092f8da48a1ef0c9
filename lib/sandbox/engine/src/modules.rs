//! Parsed contract modules, kept between calls.
//!
//! The cache is not an optimisation only: simulation charges an invocation as if the module were cached
//! (as it is in stellar-core), so an apply without it would overrun its declared instructions. Parsing is
//! charged to nobody.
use crate::network::Network;
use crate::Refusal;
use soroban_env_host::{
    budget::{AsBudget, Budget},
    e2e_invoke::entry_size_for_rent,
    xdr::{BytesM, ContractCodeEntry, Hash, LedgerEntry, LedgerEntryData},
    CompilationContext, Error, ErrorHandler, HostError, ModuleCache, Val,
};
use std::{cell::RefCell, collections::BTreeMap};

/// The cache starts anew beyond this many bytes of Wasm (32 contracts of the largest size), which bounds the
/// memory that uploads can take: a parsed module is about ten times its code.
const MAX_CACHED_WASM_BYTES: usize = 4 * 1024 * 1024;

/// What the host asks for when it parses outside a transaction.
#[derive(Clone)]
struct Unmetered(Budget);

impl AsBudget for Unmetered {
    fn as_budget(&self) -> &Budget {
        &self.0
    }
}

impl ErrorHandler for Unmetered {
    fn map_err<T, E>(&self, result: Result<T, E>) -> Result<T, HostError>
    where
        Error: From<E>,
        E: std::fmt::Debug,
    {
        result.map_err(|e| HostError::from(Error::from(e)))
    }

    fn error(&self, error: Error, _message: &str, _args: &[Val]) -> HostError {
        HostError::from(error)
    }
}

impl CompilationContext for Unmetered {}

#[derive(Default)]
struct Modules {
    cache: Option<ModuleCache>,
    /// Size for rent (entry and parsed module) of each cached contract.
    rent_sizes: BTreeMap<Hash, u32>,
    wasm_bytes: usize,
}

thread_local! {
    static MODULES: RefCell<Modules> = RefCell::default();
}

/// Makes sure that the module of a `ContractCode` entry is cached and answers the entry's size for rent in
/// bytes. `decode` is called only when it is not cached yet.
pub fn load(
    network: &Network,
    protocol: u32,
    hash: &Hash,
    entry_bytes: usize,
    decode: impl FnOnce() -> Result<LedgerEntry, Refusal>,
) -> Result<u32, Refusal> {
    MODULES.with_borrow_mut(|modules| {
        if let Some(size) = modules.rent_sizes.get(hash) {
            return Ok(*size);
        }
        let entry = decode()?;
        let LedgerEntryData::ContractCode(ContractCodeEntry { code, .. }) = &entry.data else {
            return Err("the ledger holds another entry under the key of a contract code".into());
        };
        let size = entry_size_for_rent(&network.unmetered, &entry, entry_bytes as u32)
            .map_err(|e| format!("cannot size a contract: {:?}", e.error))?;
        modules
            .parse(network, protocol, code)
            .map_err(|e| format!("cannot parse a stored contract: {:?}", e.error))?;
        modules.rent_sizes.insert(hash.clone(), size);
        Ok(size)
    })
}

/// The cache with every module that was loaded.
pub fn cache(network: &Network) -> Result<ModuleCache, Refusal> {
    MODULES.with_borrow_mut(|modules| {
        modules
            .cache_mut(network)
            .cloned()
            .map_err(|e| format!("cannot make a module cache: {:?}", e.error))
    })
}

/// Starts the cache anew when it has grown too large; not during an invocation, which needs all its modules.
pub fn trim() {
    MODULES.with_borrow_mut(|modules| {
        if modules.wasm_bytes > MAX_CACHED_WASM_BYTES {
            *modules = Modules::default();
        }
    });
}

impl Modules {
    fn cache_mut(&mut self, network: &Network) -> Result<&mut ModuleCache, HostError> {
        if self.cache.is_none() {
            self.cache = Some(ModuleCache::new(&Unmetered(network.unmetered.clone()))?);
        }
        Ok(self.cache.as_mut().expect("made above"))
    }

    fn parse(&mut self, network: &Network, protocol: u32, code: &BytesM) -> Result<(), HostError> {
        let context = Unmetered(network.unmetered.clone());
        self.cache_mut(network)?
            .parse_and_cache_module_simple(&context, protocol, code.as_slice())?;
        self.wasm_bytes += code.len();
        Ok(())
    }
}
