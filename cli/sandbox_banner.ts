import type { SandboxInfo } from "./sandbox_start.ts";

/** What a newcomer needs, to read and to copy. */
export function sandboxBanner(info: SandboxInfo): string {
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

Copy this into another terminal: a key with all scopes, three funded accounts, the asset.

${sandboxExports(info)}
  curl "$GATEWAY/v1/network" -H "Authorization: Bearer $KEY"

What to do next: the walk-through in the README. Ctrl-C ends the sandbox.
`;
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
