import { StrKey } from "@stellar/stellar-sdk";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { freePort } from "../faults/serve_process.ts";
import type { SandboxInfo } from "./sandbox_process.ts";

/** One thing that is wrong, and what the doctor is to say of it. */
export interface Trouble {
  what: string;
  flags: Record<string, string>;
  /** The checks that fail: these and no others. */
  fails: [check: string, found: RegExp, todo: RegExp][];
}

const NOWHERE = StrKey.encodeContract(new Uint8Array(32).fill(7));

export async function nodeTroubles({ rpc, networkPassphrase }: SandboxInfo): Promise<Trouble[]> {
  const down = `http://127.0.0.1:${await freePort()}`;
  return [
    {
      what: "the node is down",
      flags: { "rpc-url": `${down}/secret-token` },
      fails: [["rpc node", new RegExp(`^the RPC node ${down} could not be reached`), /whether it runs.*firewall/]],
    },
    {
      what: "the passphrase is another network's",
      flags: { "network-passphrase": "Test SDF Network ; September 2015" },
      fails: [[
        "rpc node",
        new RegExp(`^${rpc} is of the network "${networkPassphrase}", the settings say "Test SDF`),
        /set SERVICE_API_NETWORK_PASSPHRASE \(--network-passphrase\) to that of the node/,
      ]],
    },
  ];
}

export function contractTroubles({ contracts, asset }: SandboxInfo): Trouble[] {
  const { deviceRegistry, agentRegistry } = contracts;
  const swapped = /the ids of SERVICE_API_(DEVICE|AGENT)_REGISTRY \(--\w+-registry\) and .* seem to be swapped/;
  return [
    {
      what: "there is no such contract",
      flags: { "payment-escrow": NOWHERE },
      fails: [["payment escrow", new RegExp(`no contract ${NOWHERE} on this`), /correct SERVICE_API_PAYMENT_ESCROW/]],
    },
    {
      what: "the contract is an asset's",
      flags: { "agent-registry": asset },
      fails: [["agent registry", new RegExp(`${asset} is the contract of an asset`), /has to be the id of the agent/]],
    },
    {
      what: "two ids are swapped",
      flags: { "device-registry": agentRegistry, "agent-registry": deviceRegistry },
      fails: [
        ["device registry", /is the agent registry, not the device registry/, swapped],
        ["agent registry", /is the device registry, not the agent registry/, swapped],
      ],
    },
    {
      what: "two settings hold the same id",
      flags: { "payment-escrow": agentRegistry },
      fails: [[
        "payment escrow",
        /is the agent registry, not the payment escrow/,
        /^SERVICE_API_PAYMENT_ESCROW \(--payment-escrow\) and SERVICE_API_AGENT_REGISTRY .* hold the same id/,
      ]],
    },
  ];
}

/** Troubles of this machine. `taken`: a port that another program listens on. */
export function hereTroubles(info: SandboxInfo, folder: string, taken: number): Trouble[] {
  // No mode keeps root out, but nobody makes a file in /proc.
  const closed = process.getuid?.() === 0 ? "/proc" : join(folder, "closed");
  if (closed !== "/proc") {
    mkdirSync(closed);
    chmodSync(closed, 0o500);
  }
  const free = /stop what listens there .*SERVICE_API_PORT \(--port\)/;
  return [
    {
      what: "the store cannot be written",
      flags: { store: `sqlite:${closed}/gateway.db` },
      fails: [["store", new RegExp(`no file can be created in ${closed}`), /owner and mode of the file and its dir/]],
    },
    {
      what: "the store's directory is not there",
      flags: { store: `sqlite:${folder}/none/gateway.db` },
      fails: [["store", new RegExp(`there is no directory ${folder}/none`), /make the directory, or correct SERV/]],
    },
    {
      what: "the store is of no form that is known",
      flags: { store: "mysql://gateway@db.test/gateway" },
      fails: [["store", /sqlite:PATH.*got "mysql:…"/, /^name a file in SERVICE_API_STORE \(--store\)/]],
    },
    {
      what: "the address is another machine's",
      // RFC 5737: nobody's.
      flags: { host: "192.0.2.1" },
      fails: [[
        "port",
        /192\.0\.2\.1:\d+: the address is not one of this machine's$/,
        /^set SERVICE_API_HOST \(--host\)/,
      ]],
    },
    {
      what: "the port is another program's",
      flags: { port: String(taken) },
      fails: [["port", new RegExp(`127\\.0\\.0\\.1:${taken}: the port is in use$`), free]],
    },
    {
      what: "the port is another gateway's",
      flags: { port: new URL(info.gateway).port },
      fails: [["port", /the port is in use, by another gateway$/, free]],
    },
  ];
}
