// needs: runtime
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../../lib/errors.ts";
import { type Resolve, ResolveError } from "../../../lib/webhooks/targets/dns.ts";
import { createTargetPolicy, MAX_URL_LENGTH } from "../../../lib/webhooks/targets/policy.ts";

const PUBLIC = "93.184.216.34";

/** A policy whose names all have these addresses, and the names it has looked up. */
function policy(addresses: string[] = [PUBLIC], allowLoopbackHttp = false) {
  const lookedUp: string[] = [];
  const resolve: Resolve = (hostname) => {
    lookedUp.push(hostname);
    return Promise.resolve(addresses);
  };
  return { lookedUp, ...createTargetPolicy({ resolve, allowLoopbackHttp }) };
}

async function refusal(url: string, given = policy()): Promise<string> {
  const error = await given.check(url).then(() => assert.fail(`${url} was allowed`), (error) => error);
  assert.ok(error instanceof GatewayError, String(error));
  assert.equal(error.code, "invalid_request");
  return error.message;
}

describe("a webhook target", () => {
  test("is an https URL with the public addresses of its host", async () => {
    const given = policy([PUBLIC, "2606:4700::1111"]);
    const { url, host, addresses } = await given.check("https://Hooks.Example.com:8443/in?a=1");
    assert.equal(url.href, "https://hooks.example.com:8443/in?a=1");
    assert.equal(host, "hooks.example.com");
    assert.deepEqual(addresses, [PUBLIC, "2606:4700::1111"]);
    assert.deepEqual(given.lookedUp, ["hooks.example.com"]);
  });

  const allowed: [url: string, host: string][] = [
    ["https://hooks.example.com", "hooks.example.com"],
    ["https://hooks.example.com.", "hooks.example.com"],
    ["HTTPS://HOOKS.EXAMPLE.COM/", "hooks.example.com"],
    ["https://bücher.example/", "xn--bcher-kva.example"],
    ["https://hooks.example.com/a@b?c=d@e", "hooks.example.com"],
    ["https://hooks.example.com/%23", "hooks.example.com"],
    ["https://localhost.example.com/", "localhost.example.com"],
    ["https://local.example.com/", "local.example.com"],
    ["https://hooks.notlocal/", "hooks.notlocal"],
    ["https://internal.example.com/", "internal.example.com"],
    ["https://hooks.myinternal/", "hooks.myinternal"],
    ["https://hooks.arpa/", "hooks.arpa"],
    ["https://myhome.arpa/", "myhome.arpa"],
    ["https://onion.example.com/", "onion.example.com"],
    ["https://7.example.com/", "7.example.com"],
    ["https://10.0.0.1.example.com/", "10.0.0.1.example.com"],
    ["https://hooks.example.com:1/", "hooks.example.com"],
    ["https://hooks.example.com:65535/", "hooks.example.com"],
  ];
  for (const [url, host] of allowed) {
    test(`may be ${url}`, async () => {
      const given = policy();
      assert.equal((await given.check(url)).host, host);
      assert.deepEqual(given.lookedUp, [host]);
    });
  }

  test("may be a public IP address, which needs no lookup", async () => {
    for (
      const [url, host] of [
        ["https://93.184.216.34/", PUBLIC],
        ["https://0x5db8d822/", PUBLIC],
        ["https://1572395042/", PUBLIC],
        ["https://93.184.55330/", PUBLIC],
        ["https://[2606:4700::1111]:8443/", "2606:4700::1111"],
        ["https://[2606:4700:0:0:0:0:0:1111]/", "2606:4700::1111"],
      ] as const
    ) {
      const given = policy();
      assert.deepEqual((await given.check(url)).addresses, [host]);
      assert.deepEqual(given.lookedUp, []);
    }
  });

  const malformed: [url: string, why: RegExp][] = [
    ["http://hooks.example.com/", /^url must start with https:\/\/, got http:\/\//],
    ["ftp://hooks.example.com/", /must start with https/],
    ["wss://hooks.example.com/", /must start with https/],
    ["file:///etc/passwd", /must start with https/],
    ["javascript:alert(1)", /must start with https/],
    ["data:text/plain,x", /must start with https/],
    ["https:hooks.example.com/in", /^url must start with https:\/\/, got https:$/],
    ["https:93.184.216.34", /^url must start with https:\/\/, got https:$/],
    ["https:/93.184.216.34/", /^url must start with https:\/\/, got https:\/$/],
    ["https:///93.184.216.34/", /^url must start with https:\/\/, got https:\/\/\/$/],
    ["https:\\\\93.184.216.34\\", /^url must start with https:\/\/, got https:\\\\$/],
    ["https://hooks.example.com:0/", /^url port must be 1 to 65535, got 0$/],
    ["https://hooks.example.com:00/", /^url port must be 1 to 65535, got 0$/],
    ["hooks.example.com/in", /must be an absolute URL/],
    ["//hooks.example.com/in", /must be an absolute URL/],
    ["", /must be an absolute URL/],
    ["https://", /must be an absolute URL/],
    ["https://user@hooks.example.com/", /must not contain a user name or a password/],
    ["https://user:secret@hooks.example.com/", /must not contain a user name or a password/],
    ["https://:secret@hooks.example.com/", /must not contain a user name or a password/],
    ["https://@hooks.example.com/", /must not contain a user name or a password/],
    ["https:\\\\@hooks.example.com/", /must not contain a user name or a password/],
    ["https://93.184.216.34@10.0.0.1/", /must not contain a user name or a password/],
    ["https://hooks.example.com/#top", /must not have a fragment/],
    ["https://hooks.example.com/#", /must not have a fragment/],
    ["https://hooks.example.com#@10.0.0.1/", /must not/],
    [" https://hooks.example.com/", /white space/],
    ["https://hooks.example.com/a b", /white space/],
    ["https://hooks.exa\tmple.com/", /white space/],
    ["https://hooks.example.com/\r\nHost: x", /white space/],
    ["https://hooks.example.com/\0", /control characters/],
    ["https://hooks.example.com:65536/", /must be an absolute URL/],
    ["https://hooks.exa%00mple.com/", /must be an absolute URL/],
    ["https://hooks..example.com/", /not a valid name/],
    ["https://.example.com/", /not a valid name/],
    ["https://hooks.example.com../", /not a valid name/],
    [`https://${"a".repeat(64)}.example.com/`, /not a valid name|absolute URL/],
    [`https://${"a.".repeat(140)}example.com/`, /not a valid name|absolute URL/],
    [`https://hooks.example.com/${"a".repeat(MAX_URL_LENGTH)}`, /must be at most 2048 characters long/],
  ];
  for (const [url, why] of malformed) {
    test(`may not be ${JSON.stringify(url.slice(0, 60))}`, async () => {
      const given = policy();
      assert.match(await refusal(url, given), why);
      assert.deepEqual(given.lookedUp, []);
    });
  }

  const privateNames = [
    ...["localhost", "LOCALHOST", "localhost.", "hooks.localhost", "hooks.localhost.", "hooks.notlocalhost"],
    ...["printer.local", "printer.local.", "Printer.LOCAL", "metadata.google.internal", "hooks.internal"],
    ...["hooks.localdomain", "localhost.localdomain", "nas.home.arpa", "home.arpa", "abcdefghijklmnop.onion"],
    ...["intranet", "intranet.", "com", "local", "internal", "xn--bcher-kva", "ｌｏｃａｌｈｏｓｔ", "%6cocalhost"],
  ];
  for (const name of privateNames) {
    test(`may not be at ${name}, which is refused before any lookup`, async () => {
      const given = policy();
      assert.match(await refusal(`https://${name}/`, given), /^url host must be public: /);
      assert.deepEqual(given.lookedUp, []);
    });
  }

  const privateLiterals = [
    ...["127.0.0.1", "127.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1", "127.0.0.1."],
    ...["１２７.０.０.１", "127。0。0。1", "%31%32%37.0.0.1", "0", "0.0.0.0", "10.1", "192.168.257", "169.254.169.254"],
    ...["0xa9fea9fe", "168.63.129.16", "255.255.255.255", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"],
    ...["[::ffff:7f00:1]", "[::ffff:93.184.216.34]", "[::127.0.0.1]", "[64:ff9b::10.0.0.1]", "[fe80::1]", "[fd00::1]"],
    ...["[2002:7f00:1::]", "[2001:db8::1]", "[ff02::1]", "[4000::1]"],
  ];
  for (const host of privateLiterals) {
    test(`may not be at ${host}`, async () => {
      assert.match(await refusal(`https://${host}/`), /^url host must be public: \S+ is an? /);
    });
  }

  test("may not have a zone id or an invalid number as its host", async () => {
    const zones = ["[fe80::1%25eth0]", "[fe80::1%eth0]"];
    for (const host of [...zones, "1.2.3.4.5", "256.256.256.256", "0x1g", "99999999999", "08.8.8.8"]) {
      assert.match(await refusal(`https://${host}/`), /must be an absolute URL|must be public/, host);
    }
  });

  test("is refused when one of its addresses is not public", async () => {
    for (const bad of ["10.0.0.1", "127.0.0.1", "::1", "::ffff:93.184.216.34", "fe80::1%eth0", "169.254.169.254"]) {
      for (const addresses of [[bad], [PUBLIC, bad], [bad, PUBLIC], [PUBLIC, "2606:4700::1111", bad]]) {
        const message = await refusal("https://hooks.example.com/", policy(addresses));
        assert.match(message, /^url host must be public: hooks\.example\.com resolves to an? /);
        assert.ok(!message.includes(bad), "the message does not tell internal addresses");
      }
    }
  });

  test('gives retry "same" after a failed lookup, and "never" for an absent name', async () => {
    for (const [isAbsent, retry] of [[true, "never"], [false, "same"]] as const) {
      const resolve = () => Promise.reject(new ResolveError("has no address", isAbsent));
      await assert.rejects(createTargetPolicy({ resolve }).check("https://hooks.example.com/"), { status: 400, retry });
    }
  });

  test("is refused when its name has no address, or cannot be resolved", async () => {
    const failing = (error: Error) => ({
      ...policy(),
      ...createTargetPolicy({ resolve: () => Promise.reject(error) }),
    });
    const cases: [ReturnType<typeof policy>, why: string][] = [
      [policy([]), "has no address in the DNS"],
      [failing(new ResolveError("could not be looked up in time", false)), "could not be looked up in time"],
      [failing(new Error("secret detail")), "could not be looked up"],
    ];
    for (const [given, why] of cases) {
      assert.equal(await refusal("https://hooks.example.com/", given), `url host hooks.example.com ${why}`);
    }
  });

  test("is resolved at every check", async () => {
    const answers = [[PUBLIC], ["10.0.0.1"]];
    const { check } = createTargetPolicy({ resolve: () => Promise.resolve(answers.shift()!) });
    await check("https://hooks.example.com/");
    await assert.rejects(check("https://hooks.example.com/"), /resolves to a private address/);
  });
});

describe("a webhook target of the sandbox", () => {
  const sandbox = (addresses?: string[]) => policy(addresses, true);

  test("may also be this machine, over http or https, without a lookup", async () => {
    for (
      const [url, addresses] of [
        ["http://127.0.0.1:9000/in", ["127.0.0.1"]],
        ["https://127.0.0.1/", ["127.0.0.1"]],
        ["http://127.0.0.2/", ["127.0.0.2"]],
        ["http://[::1]:9000/", ["::1"]],
        ["http://localhost:9000/", ["127.0.0.1", "::1"]],
        ["http://localhost./", ["127.0.0.1", "::1"]],
        ["http://0x7f.1/", ["127.0.0.1"]],
      ] as const
    ) {
      const given = sandbox(["10.0.0.1"]);
      assert.deepEqual((await given.check(url)).addresses, addresses, url);
      assert.deepEqual(given.lookedUp, []);
    }
  });

  test("may be public over https only", async () => {
    assert.deepEqual((await sandbox().check("https://hooks.example.com/")).addresses, [PUBLIC]);
    assert.match(
      await refusal("http://hooks.example.com/", sandbox()),
      /^url must start with https:\/\/, or http:\/\/ to this machine \(127\.0\.0\.1, localhost\), got http:\/\/$/,
    );
    assert.match(await refusal("http://93.184.216.34/", sandbox()), /must start with https/);
  });

  test("may not be at any other private address", async () => {
    for (
      const host of ["10.0.0.1", "192.168.0.1", "169.254.169.254", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "[fd00::1]"]
    ) {
      assert.match(await refusal(`https://${host}/`, sandbox()), /must be public/);
      assert.match(await refusal(`http://${host}/`, sandbox()), /must start with https/);
    }
    for (const name of ["printer.local", "hooks.localhost", "intranet"]) {
      assert.match(await refusal(`https://${name}/`, sandbox()), /must be public/);
    }
    assert.match(await refusal("https://hooks.example.com/", sandbox(["127.0.0.1"])), /resolves to a loopback address/);
    assert.match(
      await refusal("ftp://127.0.0.1/", sandbox()),
      /must start with https:\/\/, or http:\/\/ to .*, got ftp:\/\/$/,
    );
    assert.match(await refusal("http://user@127.0.0.1/", sandbox()), /user name/);
    assert.match(await refusal("http:127.0.0.1/", sandbox()), /must start with https.*, got http:$/);
    assert.match(await refusal("http://127.0.0.1:0/", sandbox()), /port must be 1 to 65535/);
  });
});
