import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { runOwnProcess } from "../webhooks/own_process.ts";
import type { Pinning } from "./pinning_process.ts";

const UNSHARE = [["unshare", "--net", "--mount"], ["unshare", "--map-root-user", "--net", "--mount"]] as const;
const TRIAL = "ip link set lo up && mount --bind /etc/hosts /etc/resolv.conf && openssl version";

/** The command for a private network and name server; undefined when the machine forbids it, or lacks ip or openssl. */
export const ownNetwork: readonly string[] | undefined = UNSHARE.find(([command, ...args]) => {
  try {
    execFileSync(command, [...args, "sh", "-c", TRIAL], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
});

/** Runs this program on a private network, and checks that it posts only to public addresses with a matching certificate. */
export async function assertPinned(command: string[]): Promise<void> {
  const own = { args: command, wrapper: [...ownNetwork!] };
  const pinning = await runOwnProcess<Pinning>("../faults/pinning_process.ts", own);
  const { creations, attempts } = pinning;
  const refused = Object.entries(creations).filter(([, { status }]) => status !== 201);
  assert.deepEqual(Object.fromEntries(refused), {
    "private.example": { status: 400, message: refusal("private.example", "a private address") },
    "mixed.example": { status: 400, message: refusal("mixed.example", "a private address") },
  });
  const failed = (error: string) => ({ outcome: "retry", statusCode: null, error });
  assert.deepEqual(attempts, {
    "hooks.example": { outcome: "delivered", statusCode: 200, error: null },
    "moved.example": { outcome: "rejected", statusCode: 307, error: "the endpoint answered 307" },
    "impersonated.example": failed("certificate is for another name"),
    "turns-private.example": failed(refusal("turns-private.example", "a private address")),
    "turns-loopback.example": failed(refusal("turns-loopback.example", "a loopback address")),
    "turns-mixed.example": failed(refusal("turns-mixed.example", "a private address")),
  });
  assert.deepEqual(pinning.served, ["hooks.example", "moved.example"]);
  assert.equal(pinning.impostorRequests, 0);
  assert.deepEqual(pinning.forbiddenConnections, { private: 0, loopback: 0, proxy: 0 });
}

function refusal(host: string, reason: string): string {
  return `url host must be public: ${host} resolves to ${reason}`;
}
