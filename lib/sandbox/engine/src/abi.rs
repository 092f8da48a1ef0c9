//! The binary interface: memory exports, the one import that reads the ledger, and the frames of requests
//! and answers.
use crate::Refusal;
use soroban_env_host::xdr::{Limits, ReadXdr, WriteXdr};
use soroban_env_host::DEFAULT_XDR_RW_LIMITS;
use std::alloc::Layout;

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "env")]
extern "C" {
    /// Looks a `LedgerKey` up. 0 when there is no such entry, else a pointer from `alloc` to
    /// [u32 length of the rest][u32 live-until ledger, 0 for none][`LedgerEntry`], which the engine frees.
    fn ledger_get(key: *const u8, len: usize) -> *mut u8;
    /// Takes the text of a panic, which the trap itself does not carry.
    fn panicked(text: *const u8, len: usize);
}

fn layout(len: usize) -> Layout {
    Layout::from_size_align(len.max(1), 8).expect("a length that fits the address space")
}

/// Memory for the embedder to write to; null when there is none left.
#[no_mangle]
pub extern "C" fn alloc(len: usize) -> *mut u8 {
    unsafe { std::alloc::alloc(layout(len)) }
}

/// # Safety
/// `ptr` must come from `alloc` with the same `len`.
#[no_mangle]
pub unsafe extern "C" fn dealloc(ptr: *mut u8, len: usize) {
    std::alloc::dealloc(ptr, layout(len))
}

/// Runs a method over `len` request bytes. Answers [u32 length of the rest][status byte: 0 answered, 1
/// refused][frames, or the refusal as text], to be freed with `dealloc(ptr, length + 4)`.
///
/// # Safety
/// `ptr` and `len` must name readable memory, as from `alloc`.
#[cfg(target_arch = "wasm32")]
#[no_mangle]
pub unsafe extern "C" fn call(method: u32, ptr: *const u8, len: usize) -> *mut u8 {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        unsafe { panicked(text.as_ptr(), text.len()) }
    }));
    let (status, body) = match crate::answer(method, std::slice::from_raw_parts(ptr, len)) {
        Ok(frames) => (0u8, frames),
        Err(text) => (1, text.into_bytes()),
    };
    let at = alloc(body.len() + 5);
    std::ptr::copy_nonoverlapping((body.len() as u32 + 1).to_le_bytes().as_ptr(), at, 4);
    *at.add(4) = status;
    std::ptr::copy_nonoverlapping(body.as_ptr(), at.add(5), body.len());
    at
}

/// An entry as the embedder stores it. Archived and expired entries are there too.
pub struct StoredEntry {
    pub entry: Vec<u8>,
    /// None for entries that never expire.
    pub live_until: Option<u32>,
}

#[cfg(target_arch = "wasm32")]
pub fn read_entry(key: &[u8]) -> Option<StoredEntry> {
    unsafe {
        let at = ledger_get(key.as_ptr(), key.len());
        if at.is_null() {
            return None;
        }
        let word = |offset: usize| u32::from_le_bytes(*at.add(offset).cast::<[u8; 4]>());
        let (len, live_until) = (word(0) as usize, word(4));
        let entry = std::slice::from_raw_parts(at.add(8), len - 4).to_vec();
        dealloc(at, len + 4);
        Some(StoredEntry {
            entry,
            live_until: (live_until != 0).then_some(live_until),
        })
    }
}

/// Outside wasm (the crate's own tests) the ledger is empty.
#[cfg(not(target_arch = "wasm32"))]
pub fn read_entry(_key: &[u8]) -> Option<StoredEntry> {
    None
}

/// Decodes all of `bytes`; refuses what is nested deeper than the network accepts.
pub fn from_xdr<T: ReadXdr>(bytes: &[u8]) -> Result<T, Refusal> {
    let limits = Limits {
        depth: DEFAULT_XDR_RW_LIMITS.depth,
        len: bytes.len(),
    };
    T::from_xdr(bytes, limits).map_err(|e| format!("cannot decode the XDR: {e}"))
}

pub fn to_xdr<T: WriteXdr>(value: &T) -> Result<Vec<u8>, Refusal> {
    value
        .to_xdr(DEFAULT_XDR_RW_LIMITS)
        .map_err(|e| format!("cannot encode the XDR: {e}"))
}

/// The frames of a request, taken one after the other.
pub struct Frames<'a>(&'a [u8]);

impl<'a> Frames<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn take(&mut self) -> Result<&'a [u8], Refusal> {
        let short = || "the request has too few frames".to_string();
        let (len, rest) = self.0.split_first_chunk::<4>().ok_or_else(short)?;
        let len = u32::from_le_bytes(*len) as usize;
        let (frame, rest) = rest.split_at_checked(len).ok_or_else(short)?;
        self.0 = rest;
        Ok(frame)
    }

    /// A frame of exactly `N` bytes.
    pub fn take_array<const N: usize>(&mut self) -> Result<[u8; N], Refusal> {
        let frame = self.take()?;
        frame
            .try_into()
            .map_err(|_| format!("a frame has {} bytes instead of {N}", frame.len()))
    }

    pub fn take_u32(&mut self) -> Result<u32, Refusal> {
        Ok(u32::from_le_bytes(self.take_array()?))
    }

    pub fn take_xdr<T: ReadXdr>(&mut self) -> Result<T, Refusal> {
        from_xdr(self.take()?)
    }

    /// All frames that are left.
    pub fn take_rest(mut self) -> Result<Vec<&'a [u8]>, Refusal> {
        let mut rest = vec![];
        while !self.0.is_empty() {
            rest.push(self.take()?);
        }
        Ok(rest)
    }
}

/// The frames of an answer.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn put(&mut self, frame: &[u8]) -> &mut Self {
        self.0.extend_from_slice(&(frame.len() as u32).to_le_bytes());
        self.0.extend_from_slice(frame);
        self
    }

    pub fn put_list<T: AsRef<[u8]>>(&mut self, frames: impl IntoIterator<Item = T>) -> &mut Self {
        let mut list = Writer::default();
        for frame in frames {
            list.put(frame.as_ref());
        }
        self.put(&list.0)
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
