import type { ContractName } from "./errors.ts";
import type { ContractFinding } from "./interface_check.ts";

/** The contracts' names in texts for people. */
export const CONTRACT_TITLES: Record<ContractName, string> = {
  device_registry: "device registry",
  agent_registry: "agent registry",
  payment_escrow: "payment escrow",
};

/** The finding as one sentence for the operator. */
export function contractWords({ name, id, state, looksLike, differences }: ContractFinding): string {
  const title = CONTRACT_TITLES[name];
  switch (state) {
    case "as_expected":
      return `${id} has the expected interface`;
    case "missing":
      return `there is no contract ${id} on this network`;
    case "archived":
      return `${id} is archived`;
    case "asset":
      return `${id} is the contract of an asset, not the ${title}`;
    case "other_errors":
      return `${id} can be called, but its errors have other names: ${differences.join("; ")}`;
    case "another":
      return looksLike === undefined
        ? `${id} has another interface than the ${title}: ${abridged(differences)}`
        : `${id} is the ${CONTRACT_TITLES[looksLike]}, not the ${title}`;
  }
}

function abridged(differences: string[]): string {
  const more = differences.length - 2;
  return differences.slice(0, 2).join("; ") + (more > 0 ? `; and ${more} more` : "");
}
