import { readFile } from "node:fs/promises";
import { verifyWebhook, type WebhookHeaders } from "../lib/client/verify_webhook.ts";
import {
  type Command,
  CommandError,
  type CommandIo,
  type Flags,
  integerFlag,
  parseFlags,
  refuseExtra,
  UsageError,
} from "./command.ts";
import { fileErrorText } from "./failure.ts";
import { helpText } from "./help.ts";
import { decodedText } from "../lib/decoded_text.ts";

const SECRET_VARIABLE = "SERVICE_WEBHOOK_SECRET";

const FLAGS = [
  [
    "--signature TEXT",
    "The X-Service-Signature header, or the webhook-signature header with --id and --timestamp",
  ],
  ["--id ID", "The webhook-id header"],
  ["--timestamp TIME", "The webhook-timestamp header, in Unix seconds"],
  ["--body FILE", "The body, byte for byte as received (default standard input)"],
  ["--tolerance SECONDS", "Largest difference between the signature's time and now, in seconds (default 300)"],
  ["--at TIME", "Check as of this time, in Unix seconds (default now)"],
] as const;

const help = helpText({
  usage: [
    "verify --signature 't=…,v1=…' [--body FILE] [--tolerance SECONDS] [--at TIME]",
    "verify --signature 'v1,…' --id ID --timestamp TIME [--body FILE]",
    "               [--tolerance SECONDS] [--at TIME]",
  ],
  about:
    "Checks that a webhook was signed with your secret. The secret comes from the environment or standard input, " +
    "because every user of the machine can see flags.",
  flags: FLAGS,
  environment: [[
    SECRET_VARIABLE,
    "The secret (whsec_…). When it is not set, pass --body and the secret on standard input",
  ]],
  exitCodes: [
    ["0", "The signature is right"],
    ["1", "The signature is wrong or old, or the body cannot be read"],
    ["2", "Wrong command line: no valid signature, secret or number"],
  ],
  examples: [
    "SERVICE_WEBHOOK_SECRET=whsec_… gateway verify --signature 't=1767225600,v1=5f0e…' < body.json",
    "gateway verify --signature 't=1767225600,v1=5f0e…' --body body.json < secret.txt",
  ],
});

/** A tolerance, or a Unix time up to the year 5138. */
const SECONDS = { min: 0, max: 99_999_999_999 };

export const command: Command = { help, run };

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals } = parseFlags(args, FLAGS);
  refuseExtra(positionals);
  const headers = headersOf(flags);
  const toleranceSeconds = integerFlag("--tolerance", flags.tolerance ?? "300", SECONDS);
  const nowMs = flags.at === undefined ? io.now() : integerFlag("--at", flags.at, SECONDS) * 1000;
  const { secret, body } = await readInputs(flags.body, io);
  if (body.length === 0) {
    throw new CommandError(
      "the body is empty: pass it on standard input or with --body FILE, byte for byte as received",
    );
  }
  const verify = (bytes: Uint8Array) => verifyWebhook({ body: bytes, headers, secret, toleranceSeconds, nowMs });

  const verified = await verify(body);
  if (verified.ok) {
    io.stdout(`The signature is right. Signed at ${new Date(verified.timestamp * 1000).toISOString()}\n`);
    return 0;
  }
  if (verified.reason === "malformed_signature") throw new UsageError(malformed(headers));
  io.stderr(`gateway verify: ${verified.message}\n`);
  // Editors and shells add a newline to a saved body. This is the most likely mistake.
  if (verified.reason === "wrong_signature" && (await verify(withoutNewline(body))).ok) {
    io.stderr(
      "The signature is right without the newline at the end of the body. Save the body exactly as received.\n",
    );
  }
  return 1;
}

function headersOf(flags: Flags<typeof FLAGS>): WebhookHeaders {
  const { id, timestamp } = flags;
  if (flags.signature === undefined) {
    throw new UsageError("--signature is missing: pass the value of the X-Service-Signature header");
  }
  // A header copied from a log may begin with its name.
  const signature = flags.signature.replace(/^\s*(X-Service-Signature|webhook-signature)\s*:\s*/i, "").trim();
  if (!signature.startsWith("v1,")) {
    const extra = id !== undefined ? "--id" : timestamp !== undefined ? "--timestamp" : undefined;
    if (extra === undefined) return signature;
    throw new UsageError(`${extra} is only for the webhook-signature header, which starts with "v1,"`);
  }
  if (id === undefined) throw new UsageError("--id is missing: pass the webhook-id header of this webhook-signature");
  if (timestamp === undefined) {
    throw new UsageError("--timestamp is missing: pass the webhook-timestamp header of this webhook-signature");
  }
  integerFlag("--timestamp", timestamp, SECONDS);
  return { "webhook-signature": signature, "webhook-id": id, "webhook-timestamp": timestamp };
}

function malformed(headers: WebhookHeaders): string {
  const form = typeof headers === "string" ? "t=<Unix seconds>,v1=<64 hex digits>" : "v1,<44 characters of base64>";
  const was = typeof headers === "string" ? headers : (headers as Record<string, string>)["webhook-signature"]!;
  return `--signature must be ${form}; got ${JSON.stringify(was.length > 100 ? `${was.slice(0, 100)}…` : was)}`;
}

async function readInputs(file: string | undefined, io: CommandIo): Promise<{ secret: string; body: Uint8Array }> {
  const fromEnvironment = io.env[SECRET_VARIABLE];
  if (fromEnvironment !== undefined && fromEnvironment !== "") {
    return {
      secret: checkedSecret(fromEnvironment, SECRET_VARIABLE),
      body: file === undefined ? await io.stdin() : await readBody(file),
    };
  }
  if (file === undefined) {
    throw new UsageError(
      `${SECRET_VARIABLE} is not set: set it to the secret, or pass --body FILE and the secret on standard input`,
    );
  }
  const body = await readBody(file);
  const line = io.ask === undefined ? firstLine(await io.stdin()) : await io.ask("Secret: ", true);
  return { secret: checkedSecret(line, "the first line of standard input"), body };
}

async function readBody(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new CommandError(`--body ${path} cannot be read: ${fileErrorText(error)}`);
  }
}

function firstLine(bytes: Uint8Array): string {
  return decodedText(bytes).split("\n", 1)[0]!;
}

/** Length of a secret in bytes, by Standard Webhooks. */
const SECRET_BYTES = { min: 24, max: 64 };

/** @throws {UsageError} for a text that is no secret; the message never quotes it */
function checkedSecret(text: string, where: string): string {
  const secret = text.trim();
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  if (base64 === undefined) throw new UsageError(`${where} must be a webhook secret: whsec_ and base64`);
  const bytes = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
  if (base64.length % 4 === 0 && bytes >= SECRET_BYTES.min && bytes <= SECRET_BYTES.max) return secret;
  throw new UsageError(
    `${where} must be a whole webhook secret; got ${secret.length} characters. Is it cut off?`,
  );
}

function withoutNewline(bytes: Uint8Array): Uint8Array {
  const end = bytes.at(-1) === 10 ? (bytes.at(-2) === 13 ? -2 : -1) : undefined;
  return bytes.subarray(0, end);
}
