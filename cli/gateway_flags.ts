import { type CommandIo, type Row, UsageError } from "./command.ts";

/** Holds the API key: a process list shows flags. */
const KEY_VARIABLE = "SERVICE_API_KEY";

export const GATEWAY_KEY_ROW: Row = [KEY_VARIABLE, "API key for --gateway, with the scope read"];

/**
 * What `--gateway` names, without a slash at its end; undefined when it is not there.
 * @throws {UsageError} for what is no URL
 */
export function gatewayUrl(text: string | undefined): string | undefined {
  const url = httpUrl("--gateway", text);
  if (url === undefined) return undefined;
  const { origin, pathname } = new URL(url);
  return origin + pathname.replace(/\/+$/, "");
}

/** @throws {UsageError} for what is no `http://` or `https://` URL */
export function httpUrl(flag: string, text: string | undefined): string | undefined {
  if (text === undefined || (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol))) return text;
  throw new UsageError(`${flag} must be an http:// or https:// URL, got ${JSON.stringify(text)}`);
}

/**
 * The key for `--gateway`, of the environment or standard input.
 * @throws {UsageError} when there is none
 */
export async function readGatewayKey(io: CommandIo): Promise<string> {
  const fromEnvironment = io.env[KEY_VARIABLE] ?? "";
  if (fromEnvironment === "" && io.ask !== undefined) {
    throw new UsageError(`no API key: set ${KEY_VARIABLE}, or give it on standard input`);
  }
  const key = (fromEnvironment || new TextDecoder().decode(await io.stdin())).trim();
  if (/^[\x21-\x7e]{1,200}$/.test(key)) return key;
  const where = fromEnvironment === "" ? "standard input" : KEY_VARIABLE;
  throw new UsageError(`${where} must be an API key, got ${key.length} characters that are none`);
}
