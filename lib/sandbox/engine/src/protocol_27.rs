//! The host of protocol 27: how it takes a call, and what its operations cost.
use crate::cost_params::Cost;
use crate::footprint::Ttl;
use crate::invoke::Call;
use soroban_env_host::{
    e2e_invoke::{invoke_host_function, InvokeHostFunctionResult},
    xdr::{ContractCostType::*, DiagnosticEvent},
    HostError,
};

pub fn invoke(call: Call, diagnostic_events: &mut Vec<DiagnosticEvent>) -> Result<InvokeHostFunctionResult, HostError> {
    let existing = || {
        call.inputs
            .iter()
            .filter_map(|input| Some((input.entry.as_deref()?, input.ttl)))
    };
    let ttls: Vec<Vec<u8>> = existing().map(|(_, ttl)| ttl.map_or(vec![], ttl_entry)).collect();
    let entries: Vec<&[u8]> = existing().map(|(entry, _)| entry).collect();
    let ttls: Vec<&[u8]> = ttls.iter().map(Vec::as_slice).collect();
    invoke_host_function(
        call.budget,
        true,
        call.host_function,
        call.resources,
        call.restored,
        call.source,
        call.auth.to_vec().into_iter(),
        call.info,
        entries.into_iter(),
        ttls.into_iter(),
        call.seed.as_slice(),
        diagnostic_events,
        None,
        Some(call.modules),
    )
}

/// XDR of the `TtlEntry`. The host only repeats the hash of the key in its answer, where nobody reads it.
fn ttl_entry(ttl: Ttl) -> Vec<u8> {
    [[0; 32].as_slice(), &ttl.live_until_ledger.to_be_bytes()].concat()
}

#[rustfmt::skip]
pub const COSTS: [Cost; 86] = [
    (WasmInsnExec, 4, 0, 0, 0),
    (MemAlloc, 434, 16, 16, 128),
    (MemCpy, 42, 16, 0, 0),
    (MemCmp, 44, 16, 0, 0),
    (DispatchHostFunction, 310, 0, 0, 0),
    (VisitObject, 61, 0, 0, 0),
    (ValSer, 230, 29, 242, 384),
    (ValDeser, 59_052, 4_001, 0, 384),
    (ComputeSha256Hash, 3_738, 7_012, 0, 0),
    (ComputeEd25519PubKey, 40_253, 0, 0, 0),
    (VerifyEd25519Sig, 377_524, 4_068, 0, 0),
    (VmInstantiation, 451_626, 45_405, 130_065, 5_064),
    (VmCachedInstantiation, 41_142, 634, 69_472, 1_217),
    (InvokeVmFunction, 1_948, 0, 14, 0),
    (ComputeKeccak256Hash, 3_766, 5_969, 0, 0),
    (DecodeEcdsaCurve256Sig, 710, 0, 0, 0),
    (RecoverEcdsaSecp256k1Key, 2_315_295, 0, 181, 0),
    (Int256AddSub, 4_404, 0, 99, 0),
    (Int256Mul, 4_947, 0, 99, 0),
    (Int256Div, 4_911, 0, 99, 0),
    (Int256Pow, 4_286, 0, 99, 0),
    (Int256Shift, 913, 0, 99, 0),
    (ChaCha20DrawBytes, 1_058, 501, 0, 0),
    (ParseWasmInstructions, 73_077, 25_410, 17_564, 6_457),
    (ParseWasmFunctions, 0, 540_752, 0, 47_464),
    (ParseWasmGlobals, 0, 176_363, 0, 13_420),
    (ParseWasmTableEntries, 0, 29_989, 0, 6_285),
    (ParseWasmTypes, 0, 1_061_449, 0, 64_670),
    (ParseWasmDataSegments, 0, 237_336, 0, 29_074),
    (ParseWasmElemSegments, 0, 328_476, 0, 48_095),
    (ParseWasmImports, 0, 701_845, 0, 103_229),
    (ParseWasmExports, 0, 429_383, 0, 36_394),
    (ParseWasmDataSegmentBytes, 0, 28, 0, 257),
    (InstantiateWasmInstructions, 43_030, 0, 70_704, 0),
    (InstantiateWasmFunctions, 0, 7_556, 0, 14_613),
    (InstantiateWasmGlobals, 0, 10_711, 0, 6_833),
    (InstantiateWasmTableEntries, 0, 3_300, 0, 1_025),
    (InstantiateWasmTypes, 0, 0, 0, 0),
    (InstantiateWasmDataSegments, 0, 23_038, 0, 129_632),
    (InstantiateWasmElemSegments, 0, 42_488, 0, 13_665),
    (InstantiateWasmImports, 0, 828_974, 0, 97_637),
    (InstantiateWasmExports, 0, 297_100, 0, 9_176),
    (InstantiateWasmDataSegmentBytes, 0, 14, 0, 126),
    (Sec1DecodePointUncompressed, 1_882, 0, 0, 0),
    (VerifyEcdsaSecp256r1Sig, 3_000_906, 0, 0, 0),
    (Bls12381EncodeFp, 661, 0, 0, 0),
    (Bls12381DecodeFp, 985, 0, 0, 0),
    (Bls12381G1CheckPointOnCurve, 1_934, 0, 0, 0),
    (Bls12381G1CheckPointInSubgroup, 730_510, 0, 0, 0),
    (Bls12381G2CheckPointOnCurve, 5_921, 0, 0, 0),
    (Bls12381G2CheckPointInSubgroup, 1_057_822, 0, 0, 0),
    (Bls12381G1ProjectiveToAffine, 92_642, 0, 0, 0),
    (Bls12381G2ProjectiveToAffine, 100_742, 0, 0, 0),
    (Bls12381G1Add, 7_689, 0, 0, 0),
    (Bls12381G1Mul, 2_458_985, 0, 0, 0),
    (Bls12381G1Msm, 2_347_584, 94_135_478, 109_494, 266_603),
    (Bls12381MapFpToG1, 1_020_885, 0, 2_776, 0),
    (Bls12381HashToG1, 2_638_451, 6_803, 5_896, 0),
    (Bls12381G2Add, 25_207, 0, 0, 0),
    (Bls12381G2Mul, 7_873_219, 0, 0, 0),
    (Bls12381G2Msm, 7_663_880, 298_580_871, 219_654, 266_603),
    (Bls12381MapFp2ToG2, 1_856_539, 0, 1_672, 0),
    (Bls12381HashToG2, 6_315_452, 7_232, 3_960, 0),
    (Bls12381Pairing, 10_558_948, 632_860_943, 2_204, 9_340_474),
    (Bls12381FrFromU256, 1_994, 0, 0, 0),
    (Bls12381FrToU256, 1_155, 0, 248, 0),
    (Bls12381FrAddSub, 74, 0, 0, 0),
    (Bls12381FrMul, 332, 0, 0, 0),
    (Bls12381FrPow, 691, 74_558, 0, 128),
    (Bls12381FrInv, 35_421, 0, 0, 0),
    (Bn254EncodeFp, 344, 0, 0, 0),
    (Bn254DecodeFp, 476, 0, 0, 0),
    (Bn254G1CheckPointOnCurve, 904, 0, 0, 0),
    (Bn254G2CheckPointOnCurve, 2_811, 0, 0, 0),
    (Bn254G2CheckPointInSubgroup, 1_706_052, 0, 0, 0),
    (Bn254G1ProjectiveToAffine, 61, 0, 0, 0),
    (Bn254G1Add, 3_623, 0, 0, 0),
    (Bn254G1Mul, 1_150_435, 0, 0, 0),
    (Bn254Pairing, 5_263_916, 392_472_814, 1_821, 6_232_546),
    (Bn254FrFromU256, 2_052, 0, 0, 0),
    (Bn254FrToU256, 1_133, 0, 312, 0),
    (Bn254FrAddSub, 74, 0, 0, 0),
    (Bn254FrMul, 332, 0, 0, 0),
    (Bn254FrPow, 755, 68_930, 0, 0),
    (Bn254FrInv, 33_151, 0, 0, 0),
    (Bn254G1Msm, 1_185_193, 41_568_084, 73_061, 229_779),
];
