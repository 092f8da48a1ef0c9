import type { Client } from "./client.ts";
import { NOBODY } from "./world.ts";

/** After a refusal a gateway refuses for 100 ms without the store, so it does not know what another lets in meanwhile. */
const KNOWN_MS = 150;

const ask = (client: Client) => client.ask("GET", "/v1/events?limit=1");

/** Asks so many questions at once. */
export async function askAtOnce(client: Client, questions: number): Promise<void> {
  await Promise.all(Array.from({ length: questions }, () => ask(client)));
}

/** Who was refused for its rate is let in when it was told to come back, if it has asked for nothing else meanwhile. */
export async function comeBack(client: Client): Promise<void> {
  const { world, time, climate, faults } = client.site;
  const refused = await ask(client);
  const { asked, underWay } = client;
  if (refused?.status !== 429 || underWay > 0) return;
  const lately = [...client.letIn].filter(([, atMs]) => world.nowMs - atMs < KNOWN_MS);
  if (lately.some(([machine]) => machine !== refused.machine)) return;
  // A gateway's clock may be a little slow.
  await world.pass(refused.retryAfter * 1_004, NOBODY);
  if (client.asked > asked) return;
  const again = await ask(client);
  if (again?.status !== 429 || client.asked > asked + 1) return;
  // Where one that starts goes by what another has dated by its own clock, that may be off.
  const isAnothersWord = !climate.isShared && again.machine !== refused.machine;
  if (time.wasMoved || isAnothersWord) return;
  faults.push(`key ${client.keyId} was told to wait ${refused.retryAfter} s, and then ${again.retryAfter} s more`);
}
