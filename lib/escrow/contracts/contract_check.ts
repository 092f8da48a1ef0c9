import { CONTRACT_KEYS, type ContractName } from "./errors.ts";
import { CONTRACT_TITLES, contractWords } from "./words.ts";
import { checkInterfaces, type ContractFinding, type InterfaceCheckParts, registriesOf } from "./interface_check.ts";

/** Whether one of the three contracts is what the gateway needs. */
export interface ContractCheck {
  name: ContractName;
  id: string;
  /** What is there instead, as one sentence for the operator; undefined when all is as it should be. */
  problem: string | undefined;
}

/** Whether the gateway can work with it, though its refusals may be told by the wrong name. */
export function isUsable({ state }: ContractFinding): boolean {
  return state === "as_expected" || state === "other_errors";
}

/**
 * Looks at the three contracts in at most three calls: each is there and of the expected interface, and the escrow was
 * initialised with these registries.
 * @throws {GatewayError} `upstream_error` when the node fails
 */
export async function checkContracts(parts: InterfaceCheckParts): Promise<ContractCheck[]> {
  const findings = await checkInterfaces(parts);
  const checks = findings.map((finding) => ({
    name: finding.name,
    id: finding.id,
    problem: finding.state === "as_expected" ? undefined : contractWords(finding),
  }));
  if (!findings.every(isUsable)) return checks;
  const own = await registriesOf(parts);
  return checks.map((check) => ({ ...check, problem: check.problem ?? registryProblem(check, own) }));
}

/** The escrow asks the registries it was initialised with, whatever the settings say. */
function registryProblem({ name, id }: ContractCheck, own: Awaited<ReturnType<typeof registriesOf>>) {
  if (name === "payment_escrow") {
    const isInitialised = own.deviceRegistry !== undefined && own.agentRegistry !== undefined;
    return isInitialised ? undefined : `${id} is not initialised: it knows no registries`;
  }
  const asked = own[CONTRACT_KEYS[name]];
  return asked === undefined || asked === id
    ? undefined
    : `the payment escrow was initialised with another ${CONTRACT_TITLES[name]}, ${asked}`;
}
