// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { UsageError } from "../../cli/command.ts";
import { COMMANDS, runCommandLine } from "../../cli/command_line.ts";
import { MAX_WIDTH } from "../../cli/help.ts";
import { fakeIo } from "./fake_io.ts";

async function gateway(...args: string[]) {
  const io = fakeIo();
  const code = await runCommandLine(args, io);
  return { code, out: io.out, err: io.err };
}

/** The flags that a command takes, as it lists them itself. */
async function flagsOf(name: string): Promise<string[]> {
  const command = await COMMANDS[name]!.load();
  const refused = async () => await command.run(["--zzzzzzzzzzzz"], fakeIo());
  const error = await refused().then(() => assert.fail("it was taken"), (error) => error);
  assert.ok(error instanceof UsageError, String(error));
  return error.message.match(/--[a-z-]+/g)!.slice(1);
}

function section(help: string, title: string): string[] {
  const found = new RegExp(`^${title}:\\n((?: .*\\n?)+)`, "m").exec(help)?.[1];
  return found === undefined ? [] : found.trimEnd().split("\n");
}

/** Each `gateway COMMAND` of an example, with the flags that follow it. */
function callsIn(example: string): { name: string; flags: string[] }[] {
  return example.split(/&&|\||;/).flatMap((part) => {
    const [, called] = /(?:^|\s|"\$\()gateway(?: (.*))?$/.exec(part.trim()) ?? [];
    if (called === undefined) return [];
    return [{ name: called.split(" ")[0]!, flags: called.match(/--[a-z-]+/g) ?? [] }];
  });
}

const pages = [["the overview", []], ...Object.keys(COMMANDS).map((name) => [`help ${name}`, [name]])] as const;

describe("help", () => {
  for (const [what, args] of pages) {
    test(`${what} has the common shape`, async () => {
      const { code, out, err } = await gateway("help", ...args);
      assert.deepEqual([code, err], [0, ""]);
      assert.match(out, args[0] === undefined ? /^Usage: gateway / : new RegExp(`^Usage: gateway ${args[0]}\\b`));
      assert.match(out, /[^\n]\n$/, "one newline at the end");
      assert.doesNotMatch(out, /\n\n\n| \n/);
      for (const line of out.split("\n")) assert.ok([...line].length <= MAX_WIDTH, line);
      const titles = out.match(/^[A-Z][a-z ]+(?=:$)/gm) ?? [];
      assert.equal(titles.at(-1), "Examples", "examples come last");
      assert.ok(section(out, "Examples").length >= 1);
    });
  }

  test("fits a terminal of 80 columns, but for lines to copy", async () => {
    for (const [what, args] of pages) {
      const io = fakeIo({ isTerminal: true, columns: 80 });
      assert.equal(await runCommandLine(["help", ...args], io), 0);
      const prose = io.out.slice(0, io.out.indexOf("\nExamples:"));
      assert.doesNotMatch(prose, /\[[^\]\n]*\n/, "what is in brackets is in one line");
      for (const line of prose.split("\n")) assert.ok([...line].length <= 80, `${what}: ${line}`);
    }
  });

  test("of an action is the help of its command", async () => {
    for (const [name, action] of [["keys", "list"], ["webhooks", "deliveries"], ["secrets", "rekey"]] as const) {
      const { out } = await gateway("help", name);
      assert.deepEqual(await gateway("help", name, action), { code: 0, out, err: "" });
    }
  });

  for (const name of Object.keys(COMMANDS)) {
    test(`help ${name} explains exactly the flags of the command`, async () => {
      const { out } = await gateway("help", name);
      const explained = section(out, "Flags").flatMap((line) => /^ {2}(--[a-z-]+)/.exec(line)?.[1] ?? []);
      const taken = await flagsOf(name);
      // The doctor takes those of serve, and says so.
      const elsewhere = name === "doctor" ? await flagsOf("serve") : [];
      assert.deepEqual([...explained, ...elsewhere].sort(), taken.sort());
    });
  }

  test("every example calls an existing command with existing flags", async () => {
    for (const [, args] of pages) {
      for (const example of section((await gateway("help", ...args)).out, "Examples")) {
        const calls = callsIn(example);
        assert.ok(calls.length >= 1, example);
        for (const { name, flags } of calls) {
          assert.ok(name === "help" || name in COMMANDS, example);
          const taken = name === "help" ? [] : await flagsOf(name);
          assert.deepEqual(flags.filter((flag) => !taken.includes(flag)), [], example);
        }
      }
    }
  });

  test("is printed for each of its names, before or after the command", async () => {
    const { out } = await gateway("help", "keys");
    for (const args of [["keys", "--help"], ["keys", "-h"], ["--help", "keys"], ["keys", "list", "--help"]]) {
      assert.deepEqual(await gateway(...args), { code: 0, out, err: "" });
    }
    const overview = (await gateway("help")).out;
    for (const args of [["--help"], ["-h"], ["help", "help"]]) assert.equal((await gateway(...args)).out, overview);
  });
});

describe("the command line", () => {
  test("prints the version for each of its flags", async () => {
    const { out } = await gateway("version");
    for (const flag of ["-v", "-V", "--version"]) assert.deepEqual(await gateway(flag), { code: 0, out, err: "" });
  });

  const wrong: [args: string[], says: RegExp][] = [
    [["sevre"], /^gateway: there is no command "sevre"; did you mean serve\?\nSee: gateway help\n$/],
    [["SERVE"], /did you mean serve\?/],
    [["hlep"], /did you mean help\?/],
    [["keygens"], /did you mean keygen\?/],
    [["frobnicate"], /^gateway: there is no command "frobnicate"\nSee/],
    [["toString"], /there is no command "toString"/],
    [["help", "sevre"], /did you mean serve\?/],
    [["help", "serve", "extra"], /^gateway serve: unexpected "extra"\nSee: gateway help serve\n$/],
    [["help", "help", "extra"], /^gateway: unexpected "extra"\nSee: gateway help\n$/],
    [
      ["help", "keys", "nonsense"],
      /^gateway keys: expected one of list, .*; got "nonsense"\nSee: gateway help keys\n$/,
    ],
    [["help", "keys", "lst"], /^gateway keys: .*; got "lst"; did you mean list\?\nSee: gateway help keys\n$/],
    [["help", "keys", "list", "extra"], /^gateway keys: unexpected "extra"\nSee: gateway help keys\n$/],
    [["keys", "lst"], /^gateway keys: expected one of .*; got "lst"; did you mean list\?\nSee: gateway help keys\n$/],
    [["webhooks", "delivery"], /^gateway webhooks: .*; did you mean deliveries\?\nSee: gateway help webhooks\n$/],
    [["webhooks"], /^gateway webhooks: expected one of .*; got nothing\nSee: gateway help webhooks\n$/],
    [
      ["trigger", "payment.authorised"],
      /^gateway trigger: EVENT .*; did you mean payment\.authorized\?\nSee: .* trigger/,
    ],
    [
      ["listen", "--types", "escrow.fund"],
      /^gateway listen: --types .*; did you mean escrow\.funded\?\nSee: .* listen/,
    ],
    [["doctor", "--target", "foo"], /^gateway doctor: --target must be an http.* URL; got "foo"\nSee: .* doctor\n$/],
    [
      ["doctor", "--target", "shop.example.com/hook"],
      /^gateway doctor: --target must be an http:\/\/ or https:\/\/ URL/,
    ],
    [["doctor", "--target", "localhost:8080/hook"], /^gateway doctor: --target must be an http:\/\/ or https:\/\/ URL/],
    [
      ["-p", "9000"],
      /^gateway serve: unknown flag -p; did you mean --port, .* or --pages\?\nSee: gateway help serve\n$/,
    ],
    [["listen", "-p", "9000"], /unknown flag -p; did you mean --port\?\n/],
    [["listen", "-port", "9000"], /unknown flag -port; did you mean --port\?\n/],
    [["listen", "-port=9000"], /unknown flag -port; did you mean --port\?\n/],
    [["version", "-J"], /unknown flag -J; did you mean --json\?\n/],
    [["keys", "list", "-v"], /unknown flag -v; did you mean gateway -v\?\nSee: gateway help keys\n$/],
    [["keys", "-H"], /unknown flag -H; did you mean -h\?\n/],
    [["keys", "-help"], /unknown flag -help; did you mean --help\?\n/],
    [["keys", "--hlep"], /unknown flag --hlep; did you mean --help\?\n/],
    [["keys", "-x"], /unknown flag -x; allowed: --store, --keys-file, --yes, --json\n/],
    [["openapi", "extra"], /^gateway openapi: unexpected "extra"\nSee: gateway help openapi\n$/],
    [["openapi", "--json"], /^gateway openapi: unknown flag --json; there are none\n/],
    [["--prot", "1"], /^gateway serve: unknown flag --prot; did you mean --port\?\nSee: gateway help serve\n$/],
    [["version", "--JSON"], /unknown flag --JSON; did you mean --json\?/],
    [["version", "--short"], /unknown flag --short; allowed: --json, --licenses\n/],
    [["serve", "--port", "abc"], /^gateway serve: --port must be an integer from 0 to 65535; got "abc"\nSee: /],
    [["serve", "--store", "foo"], /^gateway serve: --store must be sqlite:PATH.* or memory:; got "foo"\nSee: /],
    [["sandbox", "--store", "foo"], /^gateway sandbox: --store must be .*; got "foo"\nSee: /],
    [["webhooks", "list", "--store", "mysql://u:hush@h/db"], /^gateway webhooks: --store .*; got "mysql:…"\n/],
    [["webhooks", "list", "--store", "postgres://u:hush@h/db"], /--store must not hold a password.* PGPASSWORD/],
    [["secrets", "rekey"], /^gateway secrets: SERVICE_API_NEW_SECRETS_KEY is not set.*\nSee: gateway help secrets\n$/],
    [
      ["serve", "--rpc-url", "foo"],
      /--rpc-url must be an http:\/\/ or https:\/\/ URL with a host, .*; got 3 characters\n/,
    ],
    [
      ["serve", "--rpc-url", "http://u:50%hush@h"],
      /--rpc-url must be a URL that says %25 for a %.*; got 18 characters\n/,
    ],
    [["serve", "--rpc-url", "http://a,hush"], /https:\/\/ URL with a host, .*, which number 2 of the 2 given is not\n/],
  ];
  for (const [args, says] of wrong) {
    test(`refuses \`gateway ${args.join(" ")}\` with exit code 2, and names the help`, async () => {
      const { code, out, err } = await gateway(...args);
      assert.deepEqual([code, out], [2, ""]);
      assert.match(err, says);
      assert.doesNotMatch(err, /hush/);
    });
  }

  test("prints an error in one line, which a narrow terminal breaks between words", async () => {
    const narrow = fakeIo({ isTerminal: true, columns: 60 });
    assert.equal(await runCommandLine(["keys", "lst"], narrow), 2);
    assert.equal(
      narrow.err,
      'gateway keys: expected one of list, show, enable, disable,\n              delete; got "lst"; did you mean list?\n' +
        "See: gateway help keys\n",
    );
  });

  test("names a wrong setting of the environment, and the help", async () => {
    const io = fakeIo({ env: { SERVICE_API_METRICS_TOKEN: "hush" } });
    assert.equal(await runCommandLine(["serve"], io), 2);
    assert.equal(
      io.err,
      "gateway serve: SERVICE_API_METRICS_TOKEN must be 16 to 256 characters without spaces; got 4 characters\n" +
        "See: gateway help serve\n",
    );
  });
});
