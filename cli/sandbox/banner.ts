import { shellWord } from "../terminal/shell_word.ts";
import { type SandboxInfo, STANDARD_SANDBOX } from "./running_sandbox.ts";

/**
 * The welcome of a sandbox: addresses, and command lines to copy.
 *
 * @param program the command that starts this program
 */
export function sandboxBanner(info: SandboxInfo, program: string): string {
  const { contracts } = info;
  return `
The sandbox is running: a gateway with its own Stellar network.

  Gateway          ${info.gateway}
  Stellar RPC      ${info.rpc}
  Friendbot        ${info.friendbot}?addr=G…
  Passphrase       ${info.networkPassphrase}
  Device registry  ${contracts.deviceRegistry}
  Agent registry   ${contracts.agentRegistry}
  Payment escrow   ${contracts.paymentEscrow}
  Store            ${info.store}

Try it in two more terminals. The first one receives, checks and prints
webhooks. The second one registers a card, funds it, pays and claims.

  ${program} listen${sandboxFlag(info.rpc)}
  ${program} trigger${sandboxFlag(info.rpc)}

Call the API with an API key, three funded accounts and an asset:

${sandboxExports(info)}
  curl "$GATEWAY/v1/events" -H "Authorization: Bearer $KEY"

Open ${info.gateway}/ in a browser to see all this as a page.
Press Ctrl-C to end the sandbox.
`;
}

/** The flag by which `listen` and `trigger` find this sandbox, empty at the default address. */
export function sandboxFlag(rpc: string): string {
  return rpc === STANDARD_SANDBOX ? "" : ` --sandbox ${rpc}`;
}

/** The shell variables of the README's walk-through. */
export function sandboxExports(info: SandboxInfo): string {
  return exported(walkThrough(info), "  ");
}

/** The addresses, keys and accounts of a sandbox as shell variables. The Stellar CLI reads the last two. */
export function sandboxEnvironment(info: SandboxInfo): string {
  const { contracts } = info;
  return exported({
    ...walkThrough(info),
    FRIENDBOT: info.friendbot,
    DEVICE_REGISTRY: contracts.deviceRegistry,
    AGENT_REGISTRY: contracts.agentRegistry,
    PAYMENT_ESCROW: contracts.paymentEscrow,
    STELLAR_RPC_URL: info.rpc,
    STELLAR_NETWORK_PASSPHRASE: info.networkPassphrase,
  }, "");
}

function walkThrough({ gateway, apiKey, asset, accounts }: SandboxInfo): Record<string, string> {
  const { owner, agent, merchant } = accounts;
  return {
    GATEWAY: gateway,
    KEY: apiKey,
    OWNER: owner.address,
    OWNER_SECRET: owner.secret,
    AGENT: agent.address,
    AGENT_SECRET: agent.secret,
    MERCHANT: merchant.address,
    MERCHANT_SECRET: merchant.secret,
    ASSET: asset,
  };
}

function exported(variables: Record<string, string>, indent: string): string {
  return Object.entries(variables).map(([name, value]) => `${indent}export ${name}=${shellWord(value)}\n`).join("");
}
