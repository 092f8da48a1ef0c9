import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TestCertificates {
  /** The certificate of the authority, PEM. */
  ca: string;
  /** Makes a certificate for these subject alternative names, such as `DNS:hooks.example` or `IP:127.0.0.1`. */
  issue(names: string, options?: { expired?: boolean }): { key: string; cert: string };
  remove(): void;
}

/** An authority of the test's own, by way of openssl; undefined on a machine without it. */
export function createTestCertificates(): TestCertificates | undefined {
  const folder = mkdtempSync(join(tmpdir(), "certificates-"));
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  let count = 0;
  try {
    openssl("version");
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  openssl(
    "req",
    "-x509",
    ...newKey,
    "-keyout",
    "ca.key",
    "-out",
    "ca.pem",
    "-days",
    "2",
    "-subj",
    "/CN=Test authority",
  );
  return {
    ca: read("ca.pem"),
    issue(names, { expired = false } = {}) {
      const name = `server${count++}`;
      writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${names}\nextendedKeyUsage=serverAuth\n`);
      openssl("req", ...newKey, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", "/CN=test");
      const signed = ["-req", "-in", `${name}.csr`, "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
      const days = expired ? "-1" : "2";
      openssl("x509", ...signed, "-out", `${name}.pem`, "-extfile", `${name}.ext`, "-days", days);
      return { key: read(`${name}.key`), cert: read(`${name}.pem`) };
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}
