import { shellWord } from "../terminal/shell_word.ts";
import { type SandboxInfo, STANDARD_SANDBOX } from "./running_sandbox.ts";

/**
 * What a newcomer needs, to read and to copy.
 *
 * @param program how this program is called
 */
export function sandboxBanner(info: SandboxInfo, program: string): string {
  const { contracts } = info;
  return `
The sandbox is running: the gateway on a Stellar network of its own.

  Gateway          ${info.gateway}
  Stellar RPC      ${info.rpc}
  Friendbot        ${info.friendbot}?addr=G…
  Passphrase       ${info.networkPassphrase}
  Device registry  ${contracts.deviceRegistry}
  Agent registry   ${contracts.agentRegistry}
  Payment escrow   ${contracts.paymentEscrow}
  Store            ${info.store}

See it work, in two more terminals: the first receives webhooks, checks and
prints them, the second makes a card live its life (registered, funded, a
payment authorised, claimed …):

  ${program} listen${sandboxFlag(info.rpc)}
  ${program} trigger${sandboxFlag(info.rpc)}

Or call it yourself, a key with all scopes, three funded accounts, the asset:

${sandboxExports(info)}
  curl "$GATEWAY/v1/events" -H "Authorization: Bearer $KEY"

The same as a page: ${info.gateway}/. Ctrl-C ends the sandbox.
`;
}

/** What tells `listen` and `trigger` where this sandbox is; nothing where it is looked for anyway. */
export function sandboxFlag(rpc: string): string {
  return rpc === STANDARD_SANDBOX ? "" : ` --sandbox ${rpc}`;
}

/** The shell variables that the README's walk-through uses. */
export function sandboxExports(info: SandboxInfo): string {
  return exported(walkThrough(info), "  ");
}

/** All that the sandbox told when it was ready, as shell variables; the Stellar CLI reads its own two. */
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
