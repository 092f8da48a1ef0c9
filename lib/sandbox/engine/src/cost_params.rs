//! What each metered operation costs: the calibration of the host of this protocol, which is also what the
//! public network holds (settings `contract_cost_params_cpu_instructions` and `…_memory_bytes`).
use soroban_env_host::xdr::{
    ContractCostParamEntry, ContractCostParams,
    ContractCostType::{self, *},
    ExtensionPoint,
};

/// Cost type; constant and linear term in CPU instructions; constant and linear term in bytes of memory.
/// Linear terms are per unit of input, times 128.
#[rustfmt::skip]
const COSTS: [(ContractCostType, i64, i64, i64, i64); 86] = [
    (WasmInsnExec, 4, 0, 0, 0),
    (MemAlloc, 434, 16, 16, 128),
    (MemCpy, 42, 16, 0, 0),
    (MemCmp, 44, 16, 0, 0),
    (DispatchHostFunction, 295, 0, 0, 0),
    (VisitObject, 60, 0, 0, 0),
    (ValSer, 221, 26, 242, 384),
    (ValDeser, 331, 4_369, 0, 384),
    (ComputeSha256Hash, 3_636, 7_013, 0, 0),
    (ComputeEd25519PubKey, 40_256, 0, 0, 0),
    (VerifyEd25519Sig, 377_551, 4_059, 0, 0),
    (VmInstantiation, 417_482, 45_712, 132_773, 4_903),
    (VmCachedInstantiation, 41_142, 634, 69_472, 1_217),
    (InvokeVmFunction, 1_945, 0, 14, 0),
    (ComputeKeccak256Hash, 6_481, 5_943, 0, 0),
    (DecodeEcdsaCurve256Sig, 711, 0, 0, 0),
    (RecoverEcdsaSecp256k1Key, 2_314_804, 0, 181, 0),
    (Int256AddSub, 4_176, 0, 99, 0),
    (Int256Mul, 4_716, 0, 99, 0),
    (Int256Div, 4_680, 0, 99, 0),
    (Int256Pow, 4_256, 0, 99, 0),
    (Int256Shift, 884, 0, 99, 0),
    (ChaCha20DrawBytes, 1_059, 502, 0, 0),
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

pub fn cpu_instructions() -> ContractCostParams {
    params(|(_, constant, linear, _, _)| (*constant, *linear))
}

pub fn memory_bytes() -> ContractCostParams {
    params(|(_, _, _, constant, linear)| (*constant, *linear))
}

fn params(terms: impl Fn(&(ContractCostType, i64, i64, i64, i64)) -> (i64, i64)) -> ContractCostParams {
    let entries: Vec<_> = COSTS
        .iter()
        .map(|row| {
            let (const_term, linear_term) = terms(row);
            ContractCostParamEntry {
                ext: ExtensionPoint::V0,
                const_term,
                linear_term,
            }
        })
        .collect();
    ContractCostParams(entries.try_into().expect("fewer than 1024 cost types"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use soroban_env_host::budget::Budget;

    /// The host keeps its calibration private but prints it: name first, the four terms last.
    #[test]
    fn equals_the_calibration_of_the_host() {
        let printed = format!("{:?}", Budget::default());
        let term = |n: i64| n.to_string();
        for (kind, cpu_const, cpu_linear, memory_const, memory_linear) in COSTS {
            let name = format!("{kind:?}");
            let row: Vec<&str> = printed
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>())
                .find(|row| row.first() == Some(&name.as_str()))
                .unwrap_or_else(|| panic!("the host does not know {name}"));
            let terms = [cpu_const, cpu_linear, memory_const, memory_linear].map(term);
            assert_eq!(row[row.len() - 4..], terms, "{name}");
        }
    }

    #[test]
    fn has_every_cost_type_in_its_place() {
        let listed: Vec<_> = COSTS.iter().map(|row| row.0).collect();
        assert_eq!(listed, ContractCostType::variants());
    }
}
