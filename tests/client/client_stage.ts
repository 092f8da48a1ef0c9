import { createHash } from "node:crypto";
import { Keypair } from "@stellar/stellar-sdk/base";
import { after, before } from "node:test";
import { createGatewayClient, type GatewayClientOptions, type Operation } from "../../lib/client/client.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork } from "../http/test_gateway.ts";

export type Ask = (url: string, init: RequestInit) => Promise<Response>;

/** A gateway on a real network in this process, and clients of it. */
export async function startStage(settings: Parameters<typeof startGateway>[1] = {}) {
  const on = await startTestNetwork();
  const api: GatewayUnderTest = await startGateway(on, settings);
  const ask: Ask = async (url, init) => {
    init.signal?.throwIfAborted();
    return await api.gateway.fetch(new Request(url, init), { remoteAddress: "198.51.100.7" });
  };
  const network = { networkPassphrase: on.network.passphrase, contracts: on.sandbox.contracts };
  return {
    ...api,
    on,
    network,
    accounts: on.sandbox.accounts,
    asset: on.sandbox.asset,
    ask,
    /** A client whose requests may be tampered with, or lost. */
    client: (options: Partial<GatewayClientOptions> = {}) =>
      createGatewayClient({ baseUrl: "http://gateway.test", apiKey: api.apiKey, fetch: ask, network, ...options }),
    async stop() {
      await api.stop();
      await on.network.stop();
    },
  };
}

/** The stage of a file's tests, and the account that owns its cards. */
export let stage: Awaited<ReturnType<typeof startStage>>;
export let owner: Keypair;

/** To be called once by a file of tests: the stage starts before the first of them and stops after the last. */
export function stageOfFile(): void {
  before(async () => {
    stage = await startStage();
    owner = Keypair.fromSecret(stage.accounts.owner.secret);
  });
  after(() => stage.stop());
}

/** The operation that registers a card of this name. */
export function newCard(uid: string): Operation {
  return { kind: "registerDevice", deviceHash: hashOfName(uid), agent: stage.accounts.agent.address };
}

/** Answers what `change` makes of the answers to one path. */
export function tampered(ask: Ask, path: string, change: (body: Record<string, unknown>) => unknown): Ask {
  return async (url, init) => {
    const response = await ask(url, init);
    if (!url.includes(path) || !response.ok) return response;
    return Response.json(change(await response.json()));
  };
}

/** A `deviceHash` for a card that has only a name. */
export function hashOfName(name: string): string {
  return createHash("sha256").update(name).digest("hex");
}
