import { setTimeout as passed } from "node:timers/promises";
import { newAccount, type SandboxInfo } from "../e2e/sandbox_process.ts";
import { signed } from "../e2e/client.ts";
import { ConnectionError, plainClient } from "../faults/plain_client.ts";

const READERS = 6;
const WRITERS = 2;
const BETWEEN_READS_MS = 5;
const BEGIN_AGAIN_MS = 50;

/** Clients that send requests to a balancer without a pause. */
export interface RestartLoad {
  /** How many reads were answered 200. */
  reads: number;
  /** Reads that got another status or no answer. */
  lostReads: string[];
  /** The number of POSTs, and those without an answer 200. */
  posts: number;
  lostPosts: string[];
  /** The registered cards; each has its own `Idempotency-Key`, which all its retries use. */
  registered: string[];
  /** Stops the clients after their current request or registration. */
  stop(): Promise<void>;
}

export function startRestartLoad(info: SandboxInfo, port: number, key: string): RestartLoad {
  let isOver = false;
  const { agent, merchant } = info.accounts;
  const reads = ["/v1/network", `/v1/merchants/${merchant.address}/pending`, "/v1/events?limit=5"];
  const client = () => plainClient(port, { authorization: `Bearer ${key}` });
  const shown = (outcome: ConnectionError | { status: number; body: string }) =>
    outcome instanceof ConnectionError ? outcome.code : `${outcome.status} ${outcome.body}`;

  async function read(): Promise<void> {
    const { request, close } = client();
    for (let asked = 0; !isOver; asked++) {
      const path = reads[asked % reads.length]!;
      const outcome = await request("GET", path).catch((error: ConnectionError) => error);
      if (!(outcome instanceof ConnectionError) && outcome.status === 200) load.reads++;
      else load.lostReads.push(`${path} ${shown(outcome)}`);
      await passed(BETWEEN_READS_MS);
    }
    close();
  }

  /** As the README advises: after any failure, prepare, sign and submit again with the same key and the same body. */
  async function write(): Promise<void> {
    const owner = await newAccount(info);
    const { request, close } = client();
    const post = async (path: string, body: unknown, intent: string) => {
      load.posts++;
      const options = { body: JSON.stringify(body), headers: { "idempotency-key": intent } };
      const outcome = await request("POST", path, options).catch((error: ConnectionError) => error);
      if (!(outcome instanceof ConnectionError) && outcome.status === 200) return JSON.parse(outcome.body);
      load.lostPosts.push(`${path} ${shown(outcome)}`);
      await passed(BEGIN_AGAIN_MS);
    };
    while (!isOver) {
      const deviceHash = crypto.randomUUID().replaceAll("-", "").repeat(2);
      const operation = { kind: "registerDevice", deviceHash, agent: agent.address };
      for (let isDone = false; !isDone;) {
        const prepared = await post("/v1/transactions/prepare", { source: owner.address, operation }, deviceHash);
        if (prepared === undefined) continue;
        const xdr = signed(prepared.xdr, prepared.networkPassphrase, owner.secret);
        isDone = prepared.status === "success" ||
          await post("/v1/transactions/submit", { xdr }, deviceHash) !== undefined;
      }
      load.registered.push(deviceHash);
    }
    close();
  }

  const load: RestartLoad = {
    reads: 0,
    lostReads: [],
    posts: 0,
    lostPosts: [],
    registered: [],
    async stop() {
      isOver = true;
      await Promise.all(clients);
    },
  };
  const clients = [...Array.from({ length: READERS }, read), ...Array.from({ length: WRITERS }, write)];
  return load;
}
