// @ts-check
import { baseUrl, forgetKey, get, isOutOfScope, useKey } from "./api.js";

/** Who is signed in, and to what. */

/** @typedef {{ address: string, secret: string }} Account */
/**
 * What a sandbox tells of itself, to its own machine only.
 * @typedef {object} SandboxInfo
 * @property {string} apiKey
 * @property {string} asset its contract
 * @property {string} networkPassphrase
 * @property {Record<"owner" | "agent" | "merchant", Account>} accounts
 */
/** @typedef {{ networkPassphrase: string, rpcUrl: string, contracts: Record<string, string>, assets: string[] | null }} Network */

/** @typedef {{ network: Network | undefined, sandbox: SandboxInfo | undefined, signal: AbortSignal, end: () => void }} Session `network` undefined: the key may not read */

/** The sandbox that serves this page, undefined elsewhere. Only a page of this very machine asks: a sandbox answers nobody else. */
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
 * @throws {import("./api.js").ApiError} when it is no valid key
 */
export async function signIn(key, sandbox) {
  // Such a character a browser puts into no header: asked with it, it would say that nobody answers.
  if (/[^\x21-\x7e]/.test(key)) throw new Error("the API key is malformed: it has a character that no key has");
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

/** A network by the name people give it. @param {Session} session */
export function networkName({ network, sandbox }) {
  const passphrase = network?.networkPassphrase;
  if (sandbox !== undefined) return "sandbox";
  if (passphrase === "Public Global Stellar Network ; September 2015") return "mainnet";
  if (passphrase === "Test SDF Network ; September 2015") return "testnet";
  return passphrase ?? "";
}
