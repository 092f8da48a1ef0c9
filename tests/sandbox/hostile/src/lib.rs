#![no_std]
//! What a stranger's contract may try against the sandbox engine.
use core::hint::black_box;
use soroban_sdk::{contract, contractevent, contractimpl, Bytes, Env, Symbol, Val, Vec};

#[contractevent]
pub struct Noise {
    pub bytes: Bytes,
}

#[contract]
pub struct Hostile;

#[contractimpl]
impl Hostile {
    /// Never returns.
    pub fn spin() {
        let mut n = 0u64;
        loop {
            n = black_box(n.wrapping_add(1));
        }
    }

    /// Calls itself without end.
    pub fn recurse() -> u64 {
        descend(black_box(0))
    }

    /// Takes linear memory page by page, without end.
    pub fn hog_memory() {
        while core::arch::wasm32::memory_grow(0, 1) != usize::MAX {}
        panic!();
    }

    /// Makes the host hold ever larger values.
    pub fn hog_host(env: Env) -> u32 {
        let mut bytes = Bytes::from_array(&env, &[1; 64]);
        loop {
            bytes.append(&bytes.clone());
        }
    }

    /// Answers a vector in a vector, `depth` times.
    pub fn nest(env: Env, depth: u32) -> Vec<Val> {
        let mut nested = Vec::new(&env);
        for _ in 0..depth {
            nested = Vec::from_array(&env, [nested.to_val()]);
        }
        nested
    }

    /// Publishes `count` events of about a kilobyte.
    pub fn shout(env: Env, count: u32) {
        for _ in 0..count {
            let bytes = Bytes::from_array(&env, &[1; 1000]);
            Noise { bytes }.publish(&env);
        }
    }

    /// Stores an entry of `kilobytes`.
    pub fn store(env: Env, kilobytes: u32) {
        let mut bytes = Bytes::new(&env);
        for _ in 0..kilobytes {
            bytes.extend_from_array(&[1; 1000]);
        }
        env.storage().persistent().set(&Symbol::new(&env, "entry"), &bytes);
    }

    pub fn length(values: Vec<Val>) -> u32 {
        values.len()
    }
}

#[allow(unconditional_recursion)]
fn descend(n: u64) -> u64 {
    black_box(descend(black_box(n + 1)) + 1)
}
