// @ts-check
import { baseUrl, forgetKey, get, isOutOfScope, useKey } from "./api.js";

/** The session: the key, and the network of its gateway. */

/** @typedef {{ address: string, secret: string }} Account */
/**
 * The description that a sandbox returns to clients on its own machine.
 * @typedef {object} SandboxInfo
 * @property {string} apiKey
 * @property {string} asset contract id
 * @property {string} networkPassphrase
 * @property {Record<"owner" | "agent" | "merchant", Account>} accounts
 */
/** @typedef {{ networkPassphrase: string, rpcUrl: string, contracts: Record<string, string>, assets: string[] | null }} Network */

/** `network` is undefined when the key lacks the scope read. */
/** @typedef {{ network: Network | undefined, sandbox: SandboxInfo | undefined, signal: AbortSignal, end: () => void }} Session */

/** The sandbox that serves this page; undefined for another gateway. A sandbox answers only clients on its own machine. */
export async function findSandbox() {
  if (!["127.0.0.1", "localhost", "[::1]"].includes(location.hostname)) return undefined;
  const response = await fetch(new URL("sandbox", baseUrl()), { cache: "no-store", credentials: "omit" }).catch(() =>
    undefined
  );
  /** @type {SandboxInfo | undefined} */
  const info = response?.ok ? await response.json().catch(() => undefined) : undefined;
  return typeof info?.apiKey === "string" ? info : undefined;
}

/**
 * Signs in with a key.
 * @param {string} key
 * @param {SandboxInfo | undefined} sandbox
 * @returns {Promise<Session>}
 * @throws {import("./api.js").ApiError} when the key is invalid
 */
export async function signIn(key, sandbox) {
  // A browser refuses to send such a character in a header, as if the gateway did not answer.
  if (/[^\x21-\x7e]/.test(key)) {
    throw new Error("the API key is malformed: it has a character that no key has. Copy the key again");
  }
  useKey(key);
  try {
    /** @type {Network | undefined} */
    const network = await get("v1/network").catch((error) => {
      if (isOutOfScope(error)) return undefined;
      throw error;
    });
    const ending = new AbortController();
    return {
      network,
      sandbox: network?.networkPassphrase === sandbox?.networkPassphrase ? sandbox : undefined,
      signal: ending.signal,
      end() {
        forgetKey();
        ending.abort();
      },
    };
  } catch (error) {
    forgetKey();
    throw error;
  }
}

/** The common name of a network. @param {Session} session */
export function networkName({ network, sandbox }) {
  const passphrase = network?.networkPassphrase;
  if (sandbox !== undefined) return "sandbox";
  if (passphrase === "Public Global Stellar Network ; September 2015") return "mainnet";
  if (passphrase === "Test SDF Network ; September 2015") return "testnet";
  return passphrase ?? "";
}
