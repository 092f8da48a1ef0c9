import process from "node:process";

type Environment = Record<string, string | undefined>;

/** How the runtimes write the addresses of this machine in `NO_PROXY`. */
const LOOPBACK = ["127.0.0.1", "localhost", "::1", "[::1]"];
const PROXY_VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/** The name of a variable as it is set, in upper or lower case; undefined when it is empty or not set. */
function nameOf(variable: string, env: Environment): string | undefined {
  return [variable.toLowerCase(), variable].find((name) => (env[name] ?? "") !== "");
}

/**
 * Lets requests to this machine bypass the proxy of the environment. `fetch` of both runtimes reads the variables when it
 * is first called.
 */
export function bypassProxyForLoopback(env: Environment = process.env): void {
  if (!PROXY_VARIABLES.some((variable) => nameOf(variable, env) !== undefined)) return;
  const excepted = [env.no_proxy, env.NO_PROXY].filter((list) => list !== undefined && list !== "");
  if (excepted.includes("*")) return;
  env.NO_PROXY = env.no_proxy = [...excepted, ...LOOPBACK].join(",");
}

/**
 * The variable of the environment whose proxy `fetch` uses for a URL, such as `HTTPS_PROXY`; undefined when it uses none.
 * An item of `NO_PROXY` is a host, which includes its subdomains, or `*`.
 */
export function proxyVariableFor(url: string, env: Environment = process.env): string | undefined {
  const { protocol, hostname } = new URL(url);
  const excepted = `${env.no_proxy ?? ""},${env.NO_PROXY ?? ""}`.split(",").map((item) => item.trim().toLowerCase());
  const isExcepted = excepted.some((item) =>
    item === "*" || item !== "" && (hostname === item || hostname.endsWith(`.${item.replace(/^\*?\./, "")}`))
  );
  return isExcepted ? undefined : nameOf(protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY", env);
}
