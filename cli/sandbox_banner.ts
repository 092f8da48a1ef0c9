import type { SandboxInfo } from "./sandbox_start.ts";

/** What a newcomer needs, to read and to copy. */
export function sandboxBanner(info: SandboxInfo): string {
  const { accounts } = info;
  const rows = Object.entries(accounts).map(([name, { address, secret }]) =>
    `  ${name.padEnd(8)} ${address}\n           ${secret}`
  );
  return `
The sandbox is running: a gateway on a Stellar network of its own.

  Gateway   ${info.gateway}
  RPC       ${info.rpc}   ${JSON.stringify(info.networkPassphrase)}
  Friendbot ${info.friendbot}?addr=G…
  Store     ${info.store}

Contracts
  device registry  ${info.contracts.deviceRegistry}
  agent registry   ${info.contracts.agentRegistry}
  payment escrow   ${info.contracts.paymentEscrow}
  native asset     ${info.asset}

Accounts, funded (address, secret)
${rows.join("\n")}

API key (all scopes, 6000 requests a minute)
  ${info.apiKey}

Try it in another terminal:

  export KEY=${info.apiKey}
  curl ${info.gateway}/v1/network -H "Authorization: Bearer $KEY"
  curl ${info.gateway}/v1/transactions/prepare -H "Authorization: Bearer $KEY" \\
    -H 'Content-Type: application/json' -d '{
      "source": "${accounts.owner.address}",
      "operation": { "kind": "registerDevice",
        "deviceHash": "${"a1".repeat(32)}",
        "agent": "${accounts.agent.address}" } }'

The README's walk-through goes on from here: sign, submit, fund, authorize, claim.
Ctrl-C ends it.
`;
}
