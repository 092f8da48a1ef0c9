import { STANDARD_SANDBOX } from "./running_sandbox.ts";
import type { SandboxInfo } from "./sandbox_start.ts";

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

See it work, in two more terminals:

  ${program} listen${sandboxFlag(info.rpc)}     receives webhooks, checks and prints them
  ${program} trigger${sandboxFlag(info.rpc)}    a card's life: registered, funded, a payment authorised, claimed …

Or call it yourself, a key with all scopes, three funded accounts, the asset:

${sandboxExports(info)}
  curl "$GATEWAY/v1/events" -H "Authorization: Bearer $KEY"

All endpoints: ${info.gateway}/openapi.json. Ctrl-C ends the sandbox.
`;
}

/** What tells `listen` and `trigger` where this sandbox is; nothing where it is looked for anyway. */
export function sandboxFlag(rpc: string): string {
  return rpc === STANDARD_SANDBOX ? "" : ` --sandbox ${rpc}`;
}

/** The shell variables that the README's walk-through uses. */
export function sandboxExports({ gateway, apiKey, asset, accounts }: SandboxInfo): string {
  const { owner, agent, merchant } = accounts;
  return `  export GATEWAY=${gateway}
  export KEY=${apiKey}
  export OWNER=${owner.address} OWNER_SECRET=${owner.secret}
  export AGENT=${agent.address} AGENT_SECRET=${agent.secret}
  export MERCHANT=${merchant.address} MERCHANT_SECRET=${merchant.secret}
  export ASSET=${asset}
`;
}
