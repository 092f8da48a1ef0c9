import { decodedText } from "../lib/decoded_text.ts";
import { type CommandIo, httpUrl, type Row, UsageError } from "./command.ts";

/** The API key comes from this variable, because a process list shows flags. */
const KEY_VARIABLE = "SERVICE_API_KEY";

export const GATEWAY_KEY_ROW: Row = [KEY_VARIABLE, "The API key for --gateway, with the scope read"];

/**
 * The URL of `--gateway` without a slash at its end, undefined without the flag.
 * @throws {UsageError} when it is no URL
 */
export function gatewayUrl(text: string | undefined): string | undefined {
  const url = httpUrl("--gateway", text);
  if (url === undefined) return undefined;
  const { origin, pathname } = new URL(url);
  return origin + pathname.replace(/\/+$/, "");
}

/**
 * The key for `--gateway`, from the environment or standard input.
 * @throws {UsageError} when there is none
 */
export async function readGatewayKey(io: CommandIo): Promise<string> {
  const fromEnvironment = io.env[KEY_VARIABLE] ?? "";
  if (fromEnvironment === "" && io.ask !== undefined) {
    throw new UsageError(`${KEY_VARIABLE} is not set: set it to an API key, or pass the key on standard input`);
  }
  const key = (fromEnvironment || decodedText(await io.stdin())).trim();
  if (/^[\x21-\x7e]{1,200}$/.test(key)) return key;
  const where = fromEnvironment === "" ? "standard input" : KEY_VARIABLE;
  throw new UsageError(
    `${where} must be an API key of 1 to 200 characters without spaces; got ${key.length} characters`,
  );
}
