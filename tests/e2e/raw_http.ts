import { connect } from "node:net";

/** One GET with a Host header of its own, which `fetch` does not allow: the whole answer as text. */
export async function getAs(host: string, url: string): Promise<string> {
  const { port, pathname } = new URL(url);
  return await new Promise((resolve, reject) => {
    let answer = "";
    connect(Number(port), "127.0.0.1")
      .setEncoding("utf8")
      .on("data", (text: string) => answer += text)
      .on("close", () => resolve(answer))
      .on("error", reject)
      .end(`GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  });
}
