import { CONTRACT_KEYS, type ContractName } from "./errors.ts";
import { checkInterfaces, type ContractFinding, type InterfaceCheckParts, registriesOf } from "./interface_check.ts";

/** The check of one of the three contracts. */
export interface ContractCheck {
  name: ContractName;
  id: string;
  /** The problem as one sentence for the operator; undefined when the contract is as expected. */
  problem: string | undefined;
  /** SHA-256 of its code, hex; undefined without one. */
  codeHash?: string;
}

/** Whether the gateway can use the contract, even if refusals may carry a wrong name. */
export function isUsable({ state }: ContractFinding): boolean {
  return state === "as_expected" || state === "other_errors";
}

/**
 * Checks that each contract exists with the expected interface, and that the escrow was initialised with these registries.
 * Makes at most four calls.
 * @throws {GatewayError} `upstream_error` when the node fails
 */
export async function checkContracts(parts: InterfaceCheckParts): Promise<ContractCheck[]> {
  const findings = await checkInterfaces(parts);
  const checks = findings.map((finding) => ({
    name: finding.name,
    id: finding.id,
    problem: finding.state === "as_expected" ? undefined : contractWords(finding),
    codeHash: finding.codeHash,
  }));
  if (!findings.every(isUsable)) return checks;
  const own = await registriesOf(parts);
  return checks.map((check) => ({ ...check, problem: check.problem ?? registryProblem(check, own) }));
}

/** The escrow uses the registries of its initialisation, whatever the settings name. */
function registryProblem({ name, id }: ContractCheck, own: Awaited<ReturnType<typeof registriesOf>>) {
  if (name === "payment_escrow") {
    const isInitialised = own.deviceRegistry !== undefined && own.agentRegistry !== undefined;
    return isInitialised ? undefined : `${id} is not initialised with registries`;
  }
  const asked = own[CONTRACT_KEYS[name]];
  return asked === undefined || asked === id
    ? undefined
    : `the payment escrow was initialised with another ${CONTRACT_TITLES[name]}, ${asked}`;
}

/** The contracts' names in texts for people. */
export const CONTRACT_TITLES: Record<ContractName, string> = {
  device_registry: "device registry",
  agent_registry: "agent registry",
  payment_escrow: "payment escrow",
};

/** The finding as one sentence for the operator. */
export function contractWords(finding: ContractFinding): string {
  const { name, id, state, looksLike, differences, external } = finding;
  const title = CONTRACT_TITLES[name];
  switch (state) {
    case "as_expected":
      return `${id} has the expected interface`;
    case "missing":
      return `there is no contract ${id} on this network`;
    case "archived":
      return `${id} is archived`;
    case "no_code":
      return `${id} has no code: contract ${external!.owner} keeps no hash of one under the tag "${external!.tag}"`;
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
