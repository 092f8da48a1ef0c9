use soroban_sdk::{contractevent, Address, BytesN};

#[contractevent(topics = ["fund"], data_format = "single-value")]
pub struct Fund {
    #[topic]
    pub device_hash: BytesN<32>,
    pub amount: i128,
}

#[contractevent(topics = ["defund"], data_format = "single-value")]
pub struct Defund {
    #[topic]
    pub device_hash: BytesN<32>,
    pub amount: i128,
}

#[contractevent(topics = ["sweep"], data_format = "single-value")]
pub struct Sweep {
    #[topic]
    pub device_hash: BytesN<32>,
    pub balance: i128,
}

#[contractevent(topics = ["authorize"], data_format = "single-value")]
pub struct Authorize {
    #[topic]
    pub device_hash: BytesN<32>,
    #[topic]
    pub merchant: Address,
    pub amount: i128,
}

#[contractevent(topics = ["claim"], data_format = "single-value")]
pub struct Claim {
    #[topic]
    pub merchant: Address,
    pub total: i128,
}
