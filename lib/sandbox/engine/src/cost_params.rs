//! What each metered operation costs: the calibration of the host of this protocol, which is also what the
//! public network holds (settings `contract_cost_params_cpu_instructions` and `…_memory_bytes`).
use crate::protocol::COSTS;
use soroban_env_host::xdr::{ContractCostParamEntry, ContractCostParams, ContractCostType, ExtensionPoint};

/// Cost type; constant and linear term in CPU instructions; constant and linear term in bytes of memory.
/// Linear terms are per unit of input, times 128.
pub type Cost = (ContractCostType, i64, i64, i64, i64);

pub fn cpu_instructions() -> ContractCostParams {
    params(|(_, constant, linear, _, _)| (*constant, *linear))
}

pub fn memory_bytes() -> ContractCostParams {
    params(|(_, _, _, constant, linear)| (*constant, *linear))
}

fn params(terms: impl Fn(&Cost) -> (i64, i64)) -> ContractCostParams {
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
