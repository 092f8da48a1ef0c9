import type { Store } from "../../store/store.ts";
import type { FormerSecret, Subscription } from "../../store/webhook.ts";
import { type SecretCipher, SecretsKeyError } from "./secrets.ts";

type SecretStore = Pick<Store, "subscriptions">;

/** The most secrets of one commit (`Store.setSecrets`). */
const STEP = 100;
/** Stored instead of the check text during a change of the key, so that no gateway starts meanwhile. */
const UNDER_WAY = "rekey-under-way";

/**
 * Prepares a store for this cipher at the start of a gateway: with a key, it seals plain secrets. Returns how many.
 * @throws {SecretsKeyError} when the store's secrets were sealed with another key, or there is none
 */
export async function sealSecrets(
  store: SecretStore & Pick<Store, "sharedState">,
  cipher: SecretCipher,
): Promise<number> {
  const isPlain = await comparedWith(store, cipher) === "plain";
  if (!cipher.seals) return 0;
  // Written first: from here on no gateway starts without the key, and plain secrets can be read with it too.
  if (isPlain) await store.subscriptions.setSecrets({ secrets: [], check: await agreedCheck(store, cipher) });
  return await reseal(store, cipher, cipher);
}

/** How long the first gateway has to write its check. */
const FIRST_MS = 60_000;

/** Agrees on one check text. When gateways start together with different keys, all but the first are refused. */
async function agreedCheck({ sharedState }: Pick<Store, "sharedState">, cipher: SecretCipher): Promise<string> {
  const own = cipher.checkText()!;
  const check = await sharedState.change("secrets check", (first: string | undefined) => {
    return { value: first ?? own, keepMs: FIRST_MS, answer: first ?? own };
  });
  cipher.compare(check);
  return check;
}

/**
 * Compares the cipher with the store's secrets. `same`: it opens them. `plain`: the cipher has a key, and the store has
 * none yet.
 * @throws {SecretsKeyError} when they are sealed with another key, there is none, or a change of the key is under way
 */
export async function comparedWith(store: SecretStore, cipher: SecretCipher): Promise<"same" | "plain"> {
  const check = await store.subscriptions.secretsCheck();
  if (check === UNDER_WAY) {
    throw new SecretsKeyError(
      "a change of SERVICE_API_SECRETS_KEY was interrupted; run `gateway secrets rekey` again with the same two keys",
    );
  }
  return cipher.compare(check);
}

/**
 * Changes the key of a store that no gateway serves: opens each secret with `from` and seals it with `to`. Call it
 * again with the same ciphers after an interruption. Returns how many subscriptions it changed; undefined when `to` is
 * already the store's key.
 * @throws {SecretsKeyError} when `from` is not the key of the store
 */
export async function rekeySecrets(
  store: SecretStore,
  { from, to, onProgress }: { from: SecretCipher; to: SecretCipher; onProgress?(count: number): void },
): Promise<number | undefined> {
  const check = await store.subscriptions.secretsCheck();
  if (check !== UNDER_WAY) {
    if (check === undefined ? !to.seals : to.isCurrent(check)) return undefined;
    from.compare(check);
  }
  await store.subscriptions.setSecrets({ secrets: [], check: UNDER_WAY });
  const count = await reseal(store, from, to, onProgress);
  await store.subscriptions.setSecrets({ secrets: [], check: to.checkText() ?? null });
  return count;
}

/** Seals each secret with `to`. Returns how many subscriptions it changed. */
async function reseal(
  store: SecretStore,
  from: SecretCipher,
  to: SecretCipher,
  onProgress?: (count: number) => void,
): Promise<number> {
  let changed = 0;
  let after: string | undefined;
  while (true) {
    const page = await store.subscriptions.list({ after, limit: STEP });
    const secrets = page.filter((subscription) => !storedSecrets(subscription).every(to.isCurrent))
      .map((subscription) => resealed(subscription, from, to));
    const rewritten = secrets.length === 0 ? 0 : await store.subscriptions.setSecrets({ secrets });
    changed += rewritten;
    onProgress?.(changed);
    // Reads the page again if a secret was rotated or a subscription deleted meanwhile.
    if (rewritten < secrets.length) continue;
    if (page.length < STEP) return changed;
    after = page.at(-1)!.id;
  }
}

function storedSecrets({ secret, previousSecret, olderSecret }: Subscription): string[] {
  return [secret, ...[previousSecret, olderSecret].flatMap((former) => former?.secret ?? [])];
}

function resealed({ id, secret, previousSecret, olderSecret }: Subscription, from: SecretCipher, to: SecretCipher) {
  const again = (stored: string) => to.isCurrent(stored) ? stored : to.seal(id, from.open(id, stored));
  const formerAgain = (former: FormerSecret) => ({ ...former, secret: again(former.secret) });
  return {
    id,
    expectedSecret: secret,
    secret: again(secret),
    previousSecret: previousSecret && formerAgain(previousSecret),
    olderSecret: olderSecret && formerAgain(olderSecret),
  };
}
