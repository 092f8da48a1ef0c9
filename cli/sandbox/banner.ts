import { STANDARD_SANDBOX } from "./running_sandbox.ts";
import type { SandboxInfo } from "./start.ts";

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
  export OWNER=${owner.address}
  export OWNER_SECRET=${owner.secret}
  export AGENT=${agent.address}
  export AGENT_SECRET=${agent.secret}
  export MERCHANT=${merchant.address}
  export MERCHANT_SECRET=${merchant.secret}
  export ASSET=${asset}
`;
}
