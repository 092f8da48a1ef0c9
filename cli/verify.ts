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
import { inWords } from "./failure.ts";
import { helpText } from "./help.ts";

const SECRET_VARIABLE = "SERVICE_WEBHOOK_SECRET";

const FLAGS = [
  [
    "--signature TEXT",
    "The X-Service-Signature header; or webhook-signature, which needs --id and --timestamp",
  ],
  ["--id ID", "The webhook-id header"],
  ["--timestamp TIME", "The webhook-timestamp header: Unix seconds"],
  ["--body FILE", "The body, byte for byte as it came (standard input)"],
  ["--tolerance SECONDS", "How far the signature's time may be from now, to either side (300)"],
  ["--at TIME", "Check as of this time: Unix seconds (now)"],
] as const;

const help = helpText({
  usage: [
    "verify --signature 't=…,v1=…' [--body FILE] [--tolerance SECONDS] [--at TIME]",
    "verify --signature 'v1,…' --id ID --timestamp TIME [--body FILE]",
    "               [--tolerance SECONDS] [--at TIME]",
  ],
  about:
    "Tells whether a webhook was signed with your subscription's secret. No flag takes the secret: arguments are " +
    "shown to every user of the machine.",
  flags: FLAGS,
  environment: [[
    SECRET_VARIABLE,
    "The secret (whsec_…); when it is not set and --body is given, it is the first line of standard input",
  ]],
  exitCodes: [
    ["0", "The signature is right"],
    ["1", "It is not, and why; or the body could not be read"],
    ["2", "Called wrongly: what was given is no signature, no secret or no number"],
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
      "the body is empty: give it on standard input or with --body FILE, byte for byte as it came",
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
  // Editors and shells add a newline that was never sent: the likeliest mistake with a saved body.
  if (verified.reason === "wrong_signature" && (await verify(withoutNewline(body))).ok) {
    io.stderr("It is right without the newline at the end of the body: save the body exactly as it came.\n");
  }
  return 1;
}

function headersOf(flags: Flags<typeof FLAGS>): WebhookHeaders {
  const { id, timestamp } = flags;
  if (flags.signature === undefined) {
    throw new UsageError("--signature is missing: give it the X-Service-Signature header");
  }
  // As a header is copied from a log.
  const signature = flags.signature.replace(/^\s*(X-Service-Signature|webhook-signature)\s*:\s*/i, "").trim();
  if (!signature.startsWith("v1,")) {
    const extra = id !== undefined ? "--id" : timestamp !== undefined ? "--timestamp" : undefined;
    if (extra === undefined) return signature;
    throw new UsageError(`${extra} belongs to a --signature that starts with v1, (the webhook-signature header)`);
  }
  if (id === undefined) throw new UsageError("--id is missing: a webhook-signature is checked with its webhook-id");
  if (timestamp === undefined) {
    throw new UsageError("--timestamp is missing: a webhook-signature is checked with its webhook-timestamp");
  }
  integerFlag("--timestamp", timestamp, SECONDS);
  return { "webhook-signature": signature, "webhook-id": id, "webhook-timestamp": timestamp };
}

function malformed(headers: WebhookHeaders): string {
  const form = typeof headers === "string" ? "t=<Unix seconds>,v1=<64 hex digits>" : "v1,<44 characters of base64>";
  const was = typeof headers === "string" ? headers : (headers as Record<string, string>)["webhook-signature"]!;
  return `--signature must be ${form}, got ${JSON.stringify(was.length > 100 ? `${was.slice(0, 100)}…` : was)}`;
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
      `no secret: set ${SECRET_VARIABLE}, or give the body as --body FILE and the secret on standard input`,
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
    throw new CommandError(`--body ${path} cannot be read: ${inWords(error)}`);
  }
}

function firstLine(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).split("\n", 1)[0]!;
}

/** What Standard Webhooks asks of a secret, in bytes. */
const SECRET_BYTES = { min: 24, max: 64 };

/** The message never holds what was there. */
function checkedSecret(text: string, where: string): string {
  const secret = text.trim();
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  if (base64 === undefined) throw new UsageError(`${where} must be a webhook's secret: whsec_ and base64`);
  const bytes = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
  if (base64.length % 4 === 0 && bytes >= SECRET_BYTES.min && bytes <= SECRET_BYTES.max) return secret;
  throw new UsageError(
    `${where} must be a whole webhook's secret: is the one given, of ${secret.length} characters, cut?`,
  );
}

function withoutNewline(bytes: Uint8Array): Uint8Array {
  const end = bytes.at(-1) === 10 ? (bytes.at(-2) === 13 ? -2 : -1) : undefined;
  return bytes.subarray(0, end);
}
