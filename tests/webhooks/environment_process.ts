/*
 * Posts in an environment that would lead other clients through a proxy and past certificate checks; prints what came of
 * it. Arguments: the ports of a plain and of a TLS endpoint.
 */
import process from "node:process";
import { createPoster } from "../../lib/webhooks/post/post.ts";

const [plainPort, securePort] = process.argv.slice(2);
const poster = createPoster({
  policy: {
    check: (text) => {
      const url = new URL(text);
      return Promise.resolve({ url, host: url.hostname, addresses: ["127.0.0.1"] });
    },
  },
  now: Date.now,
});
const post = (url: string) => poster.post({ url, headers: {}, body: "{}" });
const results = [
  await post(`http://hooks.example:${plainPort}/`),
  await post(`https://hooks.example:${securePort}/`),
];
poster.close();
process.stdout.write(JSON.stringify(results));
